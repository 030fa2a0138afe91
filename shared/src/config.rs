//! What the environment says: one struct a concern, each read by its own `from_env`, with errors that name the variable
//! and never show its value.

mod callers;

use std::fmt;

use axum::http::HeaderValue;
use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};

use crate::{
    backup::dynamodb::{Connection, Tables},
    domain::id::RootKey,
    pass::{PassError, Signer},
};

pub use self::callers::ServiceCallers;

/// How many polls one deployment holds at once, unless told.
pub const HELD_BUDGET: usize = 500;

/// A variable that is missing or wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name} {reason}")]
pub struct ConfigError {
    /// The name of the variable.
    pub name: &'static str,
    /// What is wrong with it.
    pub reason: String,
}

fn wrong(name: &'static str, reason: impl Into<String>) -> ConfigError {
    ConfigError {
        name,
        reason: reason.into(),
    }
}

/// Looks a variable up: the environment's own, or a test's.
type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The process's own environment; an empty variable counts as none.
fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn required(vars: Lookup<'_>, name: &'static str) -> Result<String, ConfigError> {
    vars(name).ok_or_else(|| wrong(name, "is not set"))
}

/// Whether this process runs as a Lambda function.
pub fn on_lambda() -> bool {
    environment("AWS_LAMBDA_RUNTIME_API").is_some()
}

/// Where the line is.
#[derive(Clone, PartialEq, Eq)]
pub struct RedisConfig {
    /// `redis://` or `rediss://`; may hold a password, so `Debug` prints `***`.
    pub url: String,
}

impl fmt::Debug for RedisConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RedisConfig(***)")
    }
}

impl RedisConfig {
    /// Reads `VESTIBULE_REDIS_URL`.
    ///
    /// # Errors
    /// Where it is missing.
    pub fn from_env() -> Result<Self, ConfigError> {
        Ok(Self {
            url: required(&environment, "VESTIBULE_REDIS_URL")?,
        })
    }
}

/// Where the backup is: reads `VESTIBULE_QUEUES_TABLE`, `VESTIBULE_ENTRIES_TABLE` and, for an emulator,
/// `VESTIBULE_DYNAMODB_ENDPOINT`.
///
/// # Errors
/// Where a table is missing: a default would hide it until the first write fails.
pub fn dynamodb_from_env() -> Result<Connection, ConfigError> {
    Ok(Connection {
        endpoint_url: environment("VESTIBULE_DYNAMODB_ENDPOINT"),
        tables: Tables {
            queues: required(&environment, "VESTIBULE_QUEUES_TABLE")?,
            entries: required(&environment, "VESTIBULE_ENTRIES_TABLE")?,
        },
    })
}

/// The secrets of a deployment.
#[derive(Debug, Clone)]
pub struct Keys {
    /// From which entry ids are derived.
    pub root: RootKey,
    /// With which passes are signed.
    pub signer: Signer,
}

impl Keys {
    /// Reads `VESTIBULE_ROOT_KEY` (base64 or hex, 32 bytes or more) and `VESTIBULE_SIGNING_KEY` (an Ed25519 key in
    /// PKCS#8 as PEM, where `\n` may stand for a line's end). `issuer` is what passes name as theirs.
    ///
    /// # Errors
    /// The first one that is missing or wrong.
    pub fn from_env(issuer: &str) -> Result<Self, ConfigError> {
        Self::read(&environment, issuer)
    }

    fn read(vars: Lookup<'_>, issuer: &str) -> Result<Self, ConfigError> {
        Ok(Self {
            root: read_root_key(vars)?,
            signer: signer(
                "VESTIBULE_SIGNING_KEY",
                &required(vars, "VESTIBULE_SIGNING_KEY")?,
                issuer,
            )?,
        })
    }
}

/// Reads `VESTIBULE_ROOT_KEY` alone: for a function that finds entries and signs nothing.
///
/// # Errors
/// Where it is missing or wrong.
pub fn root_key_from_env() -> Result<RootKey, ConfigError> {
    read_root_key(&environment)
}

fn read_root_key(vars: Lookup<'_>) -> Result<RootKey, ConfigError> {
    root_key("VESTIBULE_ROOT_KEY", &required(vars, "VESTIBULE_ROOT_KEY")?)
}

fn root_key(name: &'static str, text: &str) -> Result<RootKey, ConfigError> {
    let text = text.trim();
    let bytes = from_hex(text)
        .or_else(|| STANDARD.decode(text).ok())
        .or_else(|| URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).ok())
        .ok_or_else(|| wrong(name, "is neither base64 nor hex"))?;
    RootKey::new(bytes).map_err(|found| wrong(name, format!("holds {found} bytes, and 32 are the least")))
}

/// `None` where it is anything but whole bytes in hex. Hex is tried first: 64 digits of it are base64 as well.
fn from_hex(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok())
        .collect()
}

fn signer(name: &'static str, pem: &str, issuer: &str) -> Result<Signer, ConfigError> {
    Signer::from_pem(issuer, &pem.replace("\\n", "\n"))
        .map_err(|error: PassError| wrong(name, format!("does not serve: {error}")))
}

/// Which pages may call from a browser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origins {
    /// Any page, without cookies.
    Any,
    /// The pages of these origins, with cookies; none, where the list is empty.
    Named(Vec<HeaderValue>),
}

/// How the gateway guards the routes that visitors call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VisitorRoutes {
    /// Not at all, or by an authorizer that names the visitor.
    Open,
    /// By AWS signatures.
    Iam,
    /// By API keys.
    ApiKey,
}

/// How the gateway guards the routes that the protected service calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServiceRoutes {
    /// By AWS signatures.
    Iam,
    /// By API keys.
    ApiKey,
    /// Not at all: for one process on a laptop.
    Unguarded,
}

/// What the routes are told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EdgeConfig {
    /// Which pages may call from a browser.
    pub origins: Origins,
    /// The most polls that one process holds at once.
    pub held_budget: usize,
    /// The authorizer's claim that names the visitor.
    pub visitor_claim: String,
    /// How the gateway guards the visitors' routes.
    pub visitor_routes: VisitorRoutes,
    /// How the gateway guards the protected service's routes.
    pub service_routes: ServiceRoutes,
    /// Which of the callers that pass there are the protected service; where none is listed, all of them, but none where
    /// visitors are guarded alike.
    pub service_callers: ServiceCallers,
    /// One process on a laptop, without TLS: cookies are plain, and a queue may believe `X-Visitor-Id` although the
    /// routes are open. The environment cannot say so; the local runner does.
    pub local: bool,
}

impl Default for EdgeConfig {
    /// What a deployment has that sets nothing.
    fn default() -> Self {
        Self {
            origins: Origins::Named(Vec::new()),
            held_budget: HELD_BUDGET,
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
    /// Reads, all optional: `VESTIBULE_CORS_ORIGINS` (origins with commas between, or `*`), `VESTIBULE_HELD_BUDGET`,
    /// `VESTIBULE_VISITOR_CLAIM` (`sub`), `VESTIBULE_VISITOR_ROUTES` (`open`, `iam` or `api-key`),
    /// `VESTIBULE_SERVICE_ROUTES` (`iam`, `api-key`, or off Lambda `none`) and `VESTIBULE_SERVICE_CALLERS` (ARNs or ids
    /// of API keys with commas between), without which the two must not be guarded the same way.
    ///
    /// # Errors
    /// The first one that is wrong.
    pub fn from_env() -> Result<Self, ConfigError> {
        Self::read(&environment, on_lambda())
    }

    fn read(vars: Lookup<'_>, on_lambda: bool) -> Result<Self, ConfigError> {
        let default = Self::default();
        let config = Self {
            origins: origins("VESTIBULE_CORS_ORIGINS", vars)?,
            held_budget: held_budget("VESTIBULE_HELD_BUDGET", vars)?,
            visitor_claim: vars("VESTIBULE_VISITOR_CLAIM").unwrap_or(default.visitor_claim),
            visitor_routes: visitor_routes("VESTIBULE_VISITOR_ROUTES", vars)?,
            service_routes: service_routes("VESTIBULE_SERVICE_ROUTES", vars, on_lambda)?,
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

    /// Whether visitors come with credentials of the same sort as the protected service's.
    pub fn is_guarded_alike(&self) -> bool {
        matches!(
            (self.visitor_routes, self.service_routes),
            (VisitorRoutes::Iam, ServiceRoutes::Iam) | (VisitorRoutes::ApiKey, ServiceRoutes::ApiKey)
        )
    }
}

/// The issuer that passes name, from `VESTIBULE_ISSUER`: an address of the deployment.
///
/// # Errors
/// Where it is missing.
pub fn issuer_from_env() -> Result<String, ConfigError> {
    required(&environment, "VESTIBULE_ISSUER")
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

fn held_budget(name: &'static str, vars: Lookup<'_>) -> Result<usize, ConfigError> {
    match vars(name) {
        None => Ok(HELD_BUDGET),
        Some(text) => text
            .parse()
            .ok()
            .filter(|budget| *budget <= tokio::sync::Semaphore::MAX_PERMITS)
            .ok_or_else(|| wrong(name, "must be a whole number of polls")),
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

fn service_routes(
    name: &'static str,
    vars: Lookup<'_>,
    on_lambda: bool,
) -> Result<ServiceRoutes, ConfigError> {
    match vars(name).as_deref() {
        None | Some("iam") => Ok(ServiceRoutes::Iam),
        Some("api-key") => Ok(ServiceRoutes::ApiKey),
        Some("none") if on_lambda => Err(wrong(
            name,
            "must not be none on Lambda: anybody could validate and complete",
        )),
        Some("none") => Ok(ServiceRoutes::Unguarded),
        Some(_) => Err(wrong(name, "must be one of: iam, api-key, none")),
    }
}

#[cfg(test)]
mod tests;
