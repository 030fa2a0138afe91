//! What the environment says of the routes.

use axum::http::HeaderValue;
use vestibule_api::config::{EdgeConfig, Origins, ServiceCallers, ServiceRoutes, VisitorRoutes};
use vestibule_domain::pacing::HELD_BUDGET;

use super::{ConfigError, Lookup, environment, wrong};

const SERVICE_CALLERS: &str = "VESTIBULE_SERVICE_CALLERS";

/// Reads, all optional: `VESTIBULE_CORS_ORIGINS` (origins with commas between, or `*`), `VESTIBULE_HELD_BUDGET`,
/// `VESTIBULE_DEPLOYMENT`, `VESTIBULE_VISITOR_CLAIM` (`sub`), `VESTIBULE_VISITOR_ROUTES` (`open`, `iam` or `api-key`),
/// `VESTIBULE_SERVICE_ROUTES` (`iam`, `api-key`, or on a laptop `none`) and `VESTIBULE_SERVICE_CALLERS` (ARNs or ids
/// of API keys with commas between), without which the two must not be guarded the same way.
///
/// # Errors
/// The first one that is wrong.
pub fn api_config_from_env() -> Result<EdgeConfig, ConfigError> {
    read_api_config(&environment)
}

pub(super) fn read_api_config(vars: Lookup<'_>) -> Result<EdgeConfig, ConfigError> {
    let default = EdgeConfig::default();
    let config = EdgeConfig {
        origins: origins("VESTIBULE_CORS_ORIGINS", vars)?,
        held_budget: held_budget("VESTIBULE_HELD_BUDGET", vars)?,
        deployment: vars("VESTIBULE_DEPLOYMENT").unwrap_or(default.deployment),
        visitor_claim: vars("VESTIBULE_VISITOR_CLAIM").unwrap_or(default.visitor_claim),
        visitor_routes: visitor_routes("VESTIBULE_VISITOR_ROUTES", vars)?,
        service_routes: service_routes("VESTIBULE_SERVICE_ROUTES", vars)?,
        service_callers: ServiceCallers::new(&vars(SERVICE_CALLERS).unwrap_or_default()),
        // Never by the lack of a variable: it turns safety off.
        local: false,
    };
    if config.service_callers.is_empty() && config.is_guarded_alike() {
        return Err(wrong(
            SERVICE_CALLERS,
            "is not set, and the visitors' routes are guarded as the protected service's are: nothing else tells \
             the two apart",
        ));
    }
    Ok(config)
}

fn origins(name: &'static str, vars: Lookup<'_>) -> Result<Origins, ConfigError> {
    let listed = vars(name).unwrap_or_default();
    let listed: Vec<_> = listed
        .split(',')
        .map(str::trim)
        .filter(|o| !o.is_empty())
        .collect();
    if listed == ["*"] {
        return Ok(Origins::Any);
    }
    listed
        .into_iter()
        .map(|origin| {
            // As a browser writes it: scheme, host and port, nothing after them (RFC 6454, section 6.2).
            let host = origin
                .strip_prefix("https://")
                .or_else(|| origin.strip_prefix("http://"));
            match host {
                Some(host) if !host.is_empty() && !host.contains(['/', '*', '?', '#', '@']) => {
                    HeaderValue::from_str(origin).map_err(|_| not_an_origin(name))
                }
                _ => Err(not_an_origin(name)),
            }
        })
        .collect::<Result<_, _>>()
        .map(Origins::Named)
}

fn not_an_origin(name: &'static str) -> ConfigError {
    wrong(
        name,
        "must be * or origins such as https://shop.example, with commas between",
    )
}

fn held_budget(name: &'static str, vars: Lookup<'_>) -> Result<u32, ConfigError> {
    match vars(name) {
        None => Ok(HELD_BUDGET),
        Some(text) => text
            .parse()
            .map_err(|_| wrong(name, "must be a whole number of polls")),
    }
}

fn visitor_routes(name: &'static str, vars: Lookup<'_>) -> Result<VisitorRoutes, ConfigError> {
    match vars(name).as_deref() {
        None | Some("open") => Ok(VisitorRoutes::Open),
        Some("iam") => Ok(VisitorRoutes::Iam),
        Some("api-key") => Ok(VisitorRoutes::ApiKey),
        Some(_) => Err(wrong(name, "must be one of: open, iam, api-key")),
    }
}

fn service_routes(name: &'static str, vars: Lookup<'_>) -> Result<ServiceRoutes, ConfigError> {
    match vars(name).as_deref() {
        None | Some("iam") => Ok(ServiceRoutes::Iam),
        Some("api-key") => Ok(ServiceRoutes::ApiKey),
        Some("none") if is_on_lambda(vars) => Err(wrong(
            name,
            "must not be none on Lambda: anybody could validate and complete",
        )),
        Some("none") => Ok(ServiceRoutes::Unguarded),
        Some(_) => Err(wrong(name, "must be one of: iam, api-key, none")),
    }
}

/// Where Lambda puts a function's code. `LAMBDA_TASK_ROOT` says so, which nobody who configures a function can set.
const TASK_ROOT: &str = "/var/task";

/// Whether this is a function on AWS, and not one that a laptop runs in the same way: `cargo lambda watch` names no task
/// root, emulators of the whole of AWS run a process in a folder of their own, and `sam local`, whose container looks
/// like the original, says what it is.
fn is_on_lambda(vars: Lookup<'_>) -> bool {
    vars("AWS_LAMBDA_RUNTIME_API").is_some()
        && vars("LAMBDA_TASK_ROOT").as_deref() == Some(TASK_ROOT)
        && vars("AWS_SAM_LOCAL").as_deref() != Some("true")
}
