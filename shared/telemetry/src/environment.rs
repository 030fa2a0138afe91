//! Variables of the environment that do nothing, although their author meant something by them.

use tracing::warn;
use tracing_subscriber::EnvFilter;

/// What the names of all variables of Vestibule begin with.
const PREFIX: &str = "VESTIBULE_";

/// Every variable that a program of Vestibule reads, and those by which its scripts and tests find these programs.
pub const VARIABLES: &[&str] = &[
    "VESTIBULE_ADMIN_FUNCTION",
    "VESTIBULE_API",
    "VESTIBULE_AUTHORIZER_CALLS",
    "VESTIBULE_AUTHORIZER_QUEUES",
    "VESTIBULE_AUTHORIZER_SECONDS",
    "VESTIBULE_AWS_CALLS",
    "VESTIBULE_CARGO_TARGET",
    "VESTIBULE_CARGO_TRIPLE",
    "VESTIBULE_CHROMIUM",
    "VESTIBULE_COMMIT",
    "VESTIBULE_CORS_ORIGINS",
    "VESTIBULE_DEPLOYMENT",
    "VESTIBULE_DYNAMODB_ENDPOINT",
    "VESTIBULE_ENTRIES_TABLE",
    "VESTIBULE_EVENTS_ENDPOINT",
    "VESTIBULE_EVENT_BUS",
    "VESTIBULE_FRAME_ANCESTORS",
    "VESTIBULE_FUNCTIONS_DIR",
    "VESTIBULE_HELD_BUDGET",
    "VESTIBULE_ISSUER",
    "VESTIBULE_KEY_CACHE_SECONDS",
    "VESTIBULE_LAMBDA_EMULATOR",
    "VESTIBULE_LANE_CLAIM",
    "VESTIBULE_LEADER_PID",
    "VESTIBULE_LISTEN",
    "VESTIBULE_LOCAL_BIN",
    "VESTIBULE_NGINX",
    "VESTIBULE_ORIGIN_KEY",
    "VESTIBULE_ORIGIN_KEY_SECRET",
    "VESTIBULE_PREFLIGHT_BIN",
    "VESTIBULE_QUEUES_TABLE",
    "VESTIBULE_REDIS_IAM_CACHE",
    "VESTIBULE_REDIS_IAM_USER",
    "VESTIBULE_REDIS_URL",
    "VESTIBULE_REHEARSE_BIN",
    "VESTIBULE_RELEASE",
    "VESTIBULE_REPORT",
    "VESTIBULE_ROOT_KEY",
    "VESTIBULE_ROOT_KEY_SECRET",
    "VESTIBULE_SECRETS_ENDPOINT",
    "VESTIBULE_SERVERS_STARTED",
    "VESTIBULE_SERVICE_CALLERS",
    "VESTIBULE_SERVICE_KEY",
    "VESTIBULE_SERVICE_ROUTES",
    "VESTIBULE_SHOP_PYTHON",
    "VESTIBULE_SIGNING_KEY",
    "VESTIBULE_SIGNING_KEY_SECRET",
    "VESTIBULE_STACK_CONSOLE_BIN",
    "VESTIBULE_VISITORS_BY",
    "VESTIBULE_VISITOR_CLAIM",
    "VESTIBULE_VISITOR_ROUTES",
    "VESTIBULE_WEB",
    "VESTIBULE_WIDGET_BIN",
    "VESTIBULE_WIDGET_ORDERS",
];

/// The filter of `RUST_LOG`, or the default one with what is wrong with the variable.
pub(crate) fn read_filter(default: &str) -> (EnvFilter, Option<String>) {
    match std::env::var(EnvFilter::DEFAULT_ENV) {
        Ok(text) if !text.is_empty() => match EnvFilter::try_new(&text) {
            Ok(filter) => (filter, None),
            Err(error) => (EnvFilter::new(default), Some(error.to_string())),
        },
        _ => (EnvFilter::new(default), None),
    }
}

/// Warns of a `RUST_LOG` that cannot be read, and of each variable with the prefix of Vestibule that no program reads, such as
/// one with a slip in its name. It does not say the value.
pub(crate) fn warn_of_mistakes(filter_mistake: Option<String>) {
    if let Some(error) = filter_mistake {
        warn!(
            event = "process.invalid_log_filter",
            error, "RUST_LOG is not valid, so the default is logged"
        );
    }
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    for variable in names.filter(|name| name.starts_with(PREFIX) && !VARIABLES.contains(&name.as_str())) {
        warn!(
            event = "process.unknown_variable",
            variable, "no program of Vestibule reads this variable; correct its name, or remove it"
        );
    }
}
