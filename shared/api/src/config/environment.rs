//! What the environment says of the routes.

use vestibule_domain::poll_pacing::HELD_BUDGET;
use vestibule_engine::sync::SettingsPolicy;

use vestibule_telemetry::{
    read_all,
    variables::{ConfigError, ConfigErrors, VariableLookup, invalid_variable, read_process_variable},
};

use super::{
    ApiConfig, FrameAncestors, InvalidFrameAncestors, InvalidOrigins, Origins, ServiceCallers, ServiceRoutes,
    VisitorRoutes, VisitorsBy,
};

const VISITOR_ROUTES: &str = "VESTIBULE_VISITOR_ROUTES";
const SERVICE_CALLERS: &str = "VESTIBULE_SERVICE_CALLERS";

impl ApiConfig {
    /// Reads these variables, which are all optional:
    ///
    /// - `VESTIBULE_CORS_ORIGINS`: origins, comma-separated, or `*`
    /// - `VESTIBULE_HELD_BUDGET`: a number of polls, 500 by default
    /// - `VESTIBULE_DEPLOYMENT`: a name, `local` by default
    /// - `VESTIBULE_VISITOR_CLAIM`: a claim, `sub` by default
    /// - `VESTIBULE_LANE_CLAIM`: a claim that names the lane of a new place, none by default
    /// - `VESTIBULE_VISITOR_ROUTES`: `open` (the default), `authorizer`, `iam` or `api-key`
    /// - `VESTIBULE_VISITORS_BY`: `any` (the default), or `distribution` if visitors enter with the origin key only
    /// - `VESTIBULE_SERVICE_ROUTES`: `iam` (the default), `api-key`, or `none` on a developer's machine
    /// - `VESTIBULE_SERVICE_CALLERS`: ARNs or ids of API keys, comma-separated. It is required if the
    ///   visitors' routes and the service routes are guarded in the same way.
    /// - `VESTIBULE_FRAME_ANCESTORS`: the sites that may embed the pages in a frame, none by default
    ///
    /// # Errors
    /// [`ConfigErrors`] for the variables that are invalid or missing.
    pub fn from_env() -> Result<Self, ConfigErrors> {
        read_api_config(&read_process_variable)
    }
}

/// Reads `VESTIBULE_VISITOR_ROUTES`, which decides what the settings of queues may contain. A function that serves no
/// route needs nothing else of [`ApiConfig::from_env`], and starts although another variable is invalid.
///
/// # Errors
/// [`ConfigError`] if the variable is invalid.
pub fn settings_policy_from_env() -> Result<SettingsPolicy, ConfigError> {
    let config = ApiConfig {
        visitor_routes: read_visitor_routes(VISITOR_ROUTES, &read_process_variable)?,
        ..ApiConfig::default()
    };
    Ok(SettingsPolicy::from(&config))
}

pub(super) fn read_api_config(vars: VariableLookup<'_>) -> Result<ApiConfig, ConfigErrors> {
    read_all! {
        origins = read_origins("VESTIBULE_CORS_ORIGINS", vars);
        held_polls_max = read_held_polls_max("VESTIBULE_HELD_BUDGET", vars);
        visitor_routes = read_visitor_routes(VISITOR_ROUTES, vars);
        visitors_by = read_visitors_by("VESTIBULE_VISITORS_BY", vars);
        service_routes = read_service_routes("VESTIBULE_SERVICE_ROUTES", vars);
        frame_ancestors = read_frame_ancestors("VESTIBULE_FRAME_ANCESTORS", vars);
    }
    let default = ApiConfig::default();
    let config = ApiConfig {
        origins,
        held_polls_max,
        deployment: vars("VESTIBULE_DEPLOYMENT").unwrap_or(default.deployment),
        visitor_claim: vars("VESTIBULE_VISITOR_CLAIM").unwrap_or(default.visitor_claim),
        lane_claim: vars("VESTIBULE_LANE_CLAIM").filter(|name| !name.is_empty()),
        visitor_routes,
        visitors_by,
        service_routes,
        service_callers: ServiceCallers::from_list(&vars(SERVICE_CALLERS).unwrap_or_default()),
        visitor_requests: default.visitor_requests,
        frame_ancestors,
        // The value is constant, because a missing variable must not turn safety off.
        local: false,
    };
    if config.service_callers.is_empty() && config.has_shared_credential_kind() {
        return Err(invalid_variable(
            SERVICE_CALLERS,
            "is not set, but visitors and the protected service use the same kind of credential; list the \
             callers that are the protected service",
        )
        .into());
    }
    Ok(config)
}

fn read_origins(name: &'static str, vars: VariableLookup<'_>) -> Result<Origins, ConfigError> {
    let listed = vars(name).unwrap_or_default();
    listed
        .parse()
        .map_err(|error: InvalidOrigins| invalid_variable(name, error.to_string()))
}

fn read_frame_ancestors(name: &'static str, vars: VariableLookup<'_>) -> Result<FrameAncestors, ConfigError> {
    let sources = vars(name).unwrap_or_default();
    sources
        .parse()
        .map_err(|error: InvalidFrameAncestors| invalid_variable(name, error.to_string()))
}

fn read_held_polls_max(name: &'static str, vars: VariableLookup<'_>) -> Result<u32, ConfigError> {
    match vars(name) {
        None => Ok(HELD_BUDGET),
        Some(text) => text
            .parse()
            .map_err(|_| invalid_variable(name, "must be a whole number of polls")),
    }
}

fn read_visitor_routes(name: &'static str, vars: VariableLookup<'_>) -> Result<VisitorRoutes, ConfigError> {
    match vars(name).as_deref() {
        None | Some("open") => Ok(VisitorRoutes::Open),
        Some("authorizer") => Ok(VisitorRoutes::Authorizer),
        Some("iam") => Ok(VisitorRoutes::Iam),
        Some("api-key") => Ok(VisitorRoutes::ApiKey),
        Some(_) => Err(invalid_variable(
            name,
            "must be one of: open, authorizer, iam, api-key",
        )),
    }
}

fn read_visitors_by(name: &'static str, vars: VariableLookup<'_>) -> Result<VisitorsBy, ConfigError> {
    match vars(name).as_deref() {
        None | Some("any") => Ok(VisitorsBy::Any),
        Some("distribution") => Ok(VisitorsBy::Distribution),
        Some(_) => Err(invalid_variable(name, "must be one of: any, distribution")),
    }
}

fn read_service_routes(name: &'static str, vars: VariableLookup<'_>) -> Result<ServiceRoutes, ConfigError> {
    match vars(name).as_deref() {
        None | Some("iam") => Ok(ServiceRoutes::Iam),
        Some("api-key") => Ok(ServiceRoutes::ApiKey),
        Some("none") if is_on_lambda(vars) => Err(invalid_variable(
            name,
            "must not be none on Lambda, because every caller could then validate and complete entries",
        )),
        Some("none") => Ok(ServiceRoutes::Unguarded),
        Some(_) => Err(invalid_variable(name, "must be one of: iam, api-key, none")),
    }
}

/// The folder of a function's code on Lambda, as `LAMBDA_TASK_ROOT` names it. The configuration of
/// a function cannot set that variable.
const TASK_ROOT: &str = "/var/task";

/// Whether this process is a function on AWS. A developer's machine may run a function in a similar way:
///
/// - `cargo lambda watch` sets no task root.
/// - Emulators of AWS run the function in a folder of their own.
/// - The container of `sam local` looks like the original, but sets `AWS_SAM_LOCAL`.
fn is_on_lambda(vars: VariableLookup<'_>) -> bool {
    vars("AWS_LAMBDA_RUNTIME_API").is_some()
        && vars("LAMBDA_TASK_ROOT").as_deref() == Some(TASK_ROOT)
        && vars("AWS_SAM_LOCAL").as_deref() != Some("true")
}
