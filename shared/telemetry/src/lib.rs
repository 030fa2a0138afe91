//! What a process says of itself: logs, one JSON object a line on standard output, where Lambda and a terminal both look
//! for them; and [metrics](mod@metrics), in lines of their own among them, which CloudWatch reads out of the logs.

pub mod emf;
pub mod metrics;
pub mod samples;

use tracing_subscriber::EnvFilter;

/// Sets up the logs of this process, once: later calls change nothing. `RUST_LOG` says what is logged, `info` unless
/// told.
pub fn init() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    // An error means that somebody, a test for example, has set up logs already: theirs stay.
    let _ = tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_current_span(true)
        .with_span_list(false)
        .with_env_filter(filter)
        .with_writer(std::io::stdout)
        .try_init();
}
