//! The configuration of the HTTP API: origins, held polls, and how API Gateway guards the routes.

use axum::http::HeaderValue;

use super::{ConfigError, Lookup, ServiceCallers, environment, wrong};

/// The default of the most polls that one deployment holds at the same time.
pub const HELD_BUDGET: u32 = 500;
/// The default name of a deployment. All processes that share a line are one deployment and use the same name.
const DEPLOYMENT: &str = "local";

/// The origins whose pages may call the API from a browser (CORS).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origins {
    /// The pages of every origin, without cookies.
    Any,
    /// The pages of these origins, with cookies. An empty list allows no page.
    Named(Vec<HeaderValue>),
}

/// How API Gateway guards the routes that visitors call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VisitorRoutes {
    /// It does not guard them, or an authorizer names the visitor.
    Open,
    /// By AWS signatures (Signature Version 4).
    Iam,
    /// By API keys.
    ApiKey,
}

/// How API Gateway guards the routes that the protected service calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServiceRoutes {
    /// By AWS signatures (Signature Version 4).
    Iam,
    /// By API keys.
    ApiKey,
    /// It does not guard them. Only a process on a developer's machine may run like this.
    Unguarded,
}

/// The configuration of the HTTP API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EdgeConfig {
    /// The origins whose pages may call the API from a browser (CORS).
    pub origins: Origins,
    /// The most polls that the whole deployment holds at the same time.
    pub held_budget: u32,
    /// The name of the deployment. The held polls of all its processes are counted together.
    pub deployment: String,
    /// The claim of the authorizer that names the visitor.
    pub visitor_claim: String,
    /// How API Gateway guards the visitors' routes.
    pub visitor_routes: VisitorRoutes,
    /// How API Gateway guards the protected service's routes.
    pub service_routes: ServiceRoutes,
    /// Which callers that API Gateway accepts on the service routes are the protected service. If the list is
    /// empty, all of them are, unless visitors use the same kind of credential; then none is.
    pub service_callers: ServiceCallers,
    /// Whether this is one process on a developer's machine, without TLS. If so, cookies are plain, and a queue
    /// may trust `X-Visitor-Id` although the visitor routes are open. Only the local runner sets it; no
    /// environment variable does.
    pub local: bool,
}

impl Default for EdgeConfig {
    /// The configuration of a deployment that sets no variable.
    fn default() -> Self {
        Self {
            origins: Origins::Named(Vec::new()),
            held_budget: HELD_BUDGET,
            deployment: DEPLOYMENT.to_owned(),
            visitor_claim: "sub".to_owned(),
            visitor_routes: VisitorRoutes::Open,
            service_routes: ServiceRoutes::Iam,
            service_callers: ServiceCallers::default(),
            local: false,
        }
    }
}

const SERVICE_CALLERS: &str = "VESTIBULE_SERVICE_CALLERS";

impl EdgeConfig {
    /// Reads these variables, which are all optional:
    ///
    /// - `VESTIBULE_CORS_ORIGINS`: origins, comma-separated, or `*`
    /// - `VESTIBULE_HELD_BUDGET`: a number of polls, 500 by default
    /// - `VESTIBULE_DEPLOYMENT`: a name, `local` by default
    /// - `VESTIBULE_VISITOR_CLAIM`: a claim, `sub` by default
    /// - `VESTIBULE_VISITOR_ROUTES`: `open` (the default), `iam` or `api-key`
    /// - `VESTIBULE_SERVICE_ROUTES`: `iam` (the default), `api-key`, or `none` on a developer's machine
    /// - `VESTIBULE_SERVICE_CALLERS`: ARNs or ids of API keys, comma-separated. It is required if the visitors'
    ///   routes and the service routes are guarded in the same way.
    ///
    /// # Errors
    /// [`ConfigError`] for the first variable that is invalid or missing.
    pub fn from_env() -> Result<Self, ConfigError> {
        Self::read(&environment)
    }

    pub(super) fn read(vars: Lookup<'_>) -> Result<Self, ConfigError> {
        let default = Self::default();
        let config = Self {
            origins: origins("VESTIBULE_CORS_ORIGINS", vars)?,
            held_budget: held_budget("VESTIBULE_HELD_BUDGET", vars)?,
            deployment: vars("VESTIBULE_DEPLOYMENT").unwrap_or(default.deployment),
            visitor_claim: vars("VESTIBULE_VISITOR_CLAIM").unwrap_or(default.visitor_claim),
            visitor_routes: visitor_routes("VESTIBULE_VISITOR_ROUTES", vars)?,
            service_routes: service_routes("VESTIBULE_SERVICE_ROUTES", vars)?,
            service_callers: ServiceCallers::new(&vars(SERVICE_CALLERS).unwrap_or_default()),
            // The value is constant, because a missing variable must not turn safety off.
            local: false,
        };
        if config.service_callers.is_empty() && config.is_guarded_alike() {
            return Err(wrong(
                SERVICE_CALLERS,
                "is not set, but visitors and the protected service use the same kind of credential; list the \
                 callers that are the protected service",
            ));
        }
        Ok(config)
    }

    /// Whether visitors and the protected service use the same kind of credential.
    pub fn is_guarded_alike(&self) -> bool {
        matches!(
            (self.visitor_routes, self.service_routes),
            (VisitorRoutes::Iam, ServiceRoutes::Iam) | (VisitorRoutes::ApiKey, ServiceRoutes::ApiKey)
        )
    }
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
            // A browser sends an origin as scheme, host and port, with nothing after them (RFC 6454, section
            // 6.2).
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
        "must be * or a comma-separated list of origins such as https://shop.example",
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
            "must not be none on Lambda, because every caller could then validate and complete entries",
        )),
        Some("none") => Ok(ServiceRoutes::Unguarded),
        Some(_) => Err(wrong(name, "must be one of: iam, api-key, none")),
    }
}

/// The folder of a function's code on Lambda, as `LAMBDA_TASK_ROOT` names it. The configuration of a function
/// cannot set that variable.
const TASK_ROOT: &str = "/var/task";

/// Whether this process is a function on AWS. A developer's machine may run a function in a similar way:
///
/// - `cargo lambda watch` sets no task root.
/// - Emulators of AWS run the function in a folder of their own.
/// - The container of `sam local` looks like the original, but sets `AWS_SAM_LOCAL`.
fn is_on_lambda(vars: Lookup<'_>) -> bool {
    vars("AWS_LAMBDA_RUNTIME_API").is_some()
        && vars("LAMBDA_TASK_ROOT").as_deref() == Some(TASK_ROOT)
        && vars("AWS_SAM_LOCAL").as_deref() != Some("true")
}
