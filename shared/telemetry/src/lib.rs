//! The output of a process for operators: logs and [metrics](mod@metrics). A log event is one JSON
//! object per line on standard output, where Lambda and a terminal both read it. Metrics are
//! separate lines between them, which CloudWatch extracts. A process also tells of [variables](environment) that it does not
//! know, and stops in order when its operator [asks](stop_signals).

pub mod clock;
pub mod emf;
pub mod environment;
pub mod line_limit;
pub mod metrics;
pub mod samples;
pub mod stop_signals;
pub mod variables;
pub mod version;

/// What is logged by default. The runtime of Lambda would add a span to each request, which no event of a request shows.
const LOGGED: &str = "info,lambda_runtime=warn";

/// Sets up logging for this process. Only the first call has an effect. `RUST_LOG` selects what is
/// logged; the default is `info`.
pub fn init_logging() {
    let (filter, mistake) = environment::read_filter(LOGGED);
    // An error means that a subscriber already exists, for example because a test installed one.
    // Keep that one.
    let _ = tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_current_span(true)
        .with_span_list(false)
        .with_env_filter(filter)
        .with_writer(std::io::stdout)
        .try_init();
    environment::warn_of_mistakes(mistake);
}

/// Sets up logging for a program on a person's terminal: readable text on standard error, because standard output has what the
/// program is for. `RUST_LOG` selects what is logged; without it that is `default_level` and above.
pub fn init_terminal_logging(default_level: &str) {
    let (filter, mistake) = environment::read_filter(default_level);
    // As in `init_logging`.
    let _ = tracing_subscriber::fmt()
        .compact()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .try_init();
    environment::warn_of_mistakes(mistake);
}
