//! The bodies of requests. A field without a value is left out: the API refuses null. They have no `Debug`, because a visitor id,
//! a pass and a ticket must not be logged. Fields that two requests share are written twice: serde lets unknown fields pass
//! beside a `flatten`.

use serde::Deserialize;
use vestibule_domain::{
    consumption::UseId,
    load::{LATENCY_MAX_MS, TPS_MAX},
    score::Visit,
};

use super::fields::{number, text, truth, use_id, visit};

/// The longest time in seconds that an extended session may last from now: a week, as for `session_max_seconds`.
pub const EXTEND_SECONDS_MAX: u32 = 7 * 86_400;

/// An object without fields. The body may be absent.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct EmptyBody {}

/// Who enters.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct EnterRequest {
    /// A JWT by which the shop says who may enter: `sub`, `aud` (the queue), `exp`, and optionally `nbf`, `iat`, `jti`,
    /// `lane` (0 to 7) and `bypass`; 4 KiB at most. The queue's setting `ticket_keys` has the keys.
    #[serde(default, deserialize_with = "text")]
    pub ticket: Option<String>,
}

/// The visitor, the pass, or both. With the visitor's id, a ready entry becomes active, as with claim. A pass proves who the
/// visitor is for as long as its visit is active, also after the end of the pass. Leave out a field that has no value. The API
/// refuses null.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ValidateRequest {
    /// The id or the secret of the visitor, of 256 bytes in UTF-8 at most.
    #[cfg_attr(feature = "schemas", schemars(schema_with = "super::schemas::visitor"))]
    #[serde(default, deserialize_with = "text")]
    pub visitor: Option<String>,
    /// The pass that the visitor showed.
    #[serde(default, deserialize_with = "text")]
    pub pass: Option<String>,
    /// Whether this request ends the visit, so that the pass is valid once.
    #[serde(default, deserialize_with = "truth")]
    pub consume: bool,
    /// With `consume`: an id that the service chooses for this use. The same request with the same id gets the same answer
    /// while the record of the visit is kept (`retain_hours`), also after the pass has ended or the visitor has entered again.
    /// So a request whose answer was lost can be repeated. The record keeps the last use alone: name the visit or present the
    /// pass, so that the repeat of an earlier one consumes no further visit.
    #[cfg_attr(feature = "schemas", schemars(schema_with = "super::schemas::uuid"))]
    #[serde(default, deserialize_with = "use_id")]
    pub r#use: Option<UseId>,
    /// Whether this request extends the session. The answer then has a new pass. Not with `consume`.
    #[serde(default, deserialize_with = "truth")]
    pub extend: bool,
    /// With `extend`: the new session time, counted from now; `session_seconds` by default.
    #[cfg_attr(feature = "schemas", schemars(range(min = 1, max = EXTEND_SECONDS_MAX)))]
    #[serde(default, deserialize_with = "number::<_, 1, EXTEND_SECONDS_MAX>")]
    pub seconds: Option<u32>,
    /// The visit that the request refers to.
    #[cfg_attr(feature = "schemas", schemars(schema_with = "super::schemas::visit"))]
    #[serde(default, deserialize_with = "visit")]
    pub visit: Option<Visit>,
}

/// A visitor or a pass is checked if it is given. A pass names its visit, so it never completes a later one. The slot of a
/// visitor who has left becomes free, too.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CompleteRequest {
    /// The id or the secret of the visitor, of 256 bytes in UTF-8 at most.
    #[cfg_attr(feature = "schemas", schemars(schema_with = "super::schemas::visitor"))]
    #[serde(default, deserialize_with = "text")]
    pub visitor: Option<String>,
    /// The pass that the visitor showed.
    #[serde(default, deserialize_with = "text")]
    pub pass: Option<String>,
    /// The visit that the request refers to. If it has ended, nothing changes.
    #[cfg_attr(feature = "schemas", schemars(schema_with = "super::schemas::visit"))]
    #[serde(default, deserialize_with = "visit")]
    pub visit: Option<Visit>,
}

/// How much more time the visitor wants.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ExtendRequest {
    /// The new session time, counted from now; `session_seconds` by default.
    #[cfg_attr(feature = "schemas", schemars(range(min = 1, max = EXTEND_SECONDS_MAX)))]
    #[serde(default, deserialize_with = "number::<_, 1, EXTEND_SECONDS_MAX>")]
    pub seconds: Option<u32>,
    /// The visit that the request refers to. If it has ended, nothing changes.
    #[cfg_attr(feature = "schemas", schemars(schema_with = "super::schemas::visit"))]
    #[serde(default, deserialize_with = "visit")]
    pub visit: Option<Visit>,
}

/// The load of the protected service. Leave out a field that has no value. The API refuses null.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LoadReport {
    /// Requests per second that the service receives now. It must be given, unless `healthy` is false.
    #[cfg_attr(feature = "schemas", schemars(range(max = TPS_MAX)))]
    #[serde(default, deserialize_with = "number::<_, 0, TPS_MAX>")]
    pub tps: Option<u32>,
    /// How long the service takes to answer a request. It must be given if the pace of the queue follows it (`load_measure`),
    /// unless `healthy` is false.
    #[cfg_attr(feature = "schemas", schemars(range(max = LATENCY_MAX_MS)))]
    #[serde(default, deserialize_with = "number::<_, 0, LATENCY_MAX_MS>")]
    pub latency_ms: Option<u32>,
    /// Whether the service can serve requests; true by default.
    #[serde(default = "healthy", deserialize_with = "truth")]
    pub healthy: bool,
}

fn healthy() -> bool {
    true
}
