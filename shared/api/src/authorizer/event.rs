//! The events that API Gateway sends to an authorizer: `TOKEN` and `REQUEST` of a REST API, and `REQUEST`
//! of an HTTP API with payload 2.0 or 1.0.
//!
//! One struct reads all of them, and only the fields that the authorizer uses. Any other field of an
//! event cannot make a request fail.

use std::collections::HashMap;

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;
use serde_json::Value;

/// The stage variable in which an API names its queues. Events of the type `TOKEN` have none.
const STAGE_QUEUES: &str = "vestibule_queues";

/// An event that is not of an authorizer. Its text belongs to the sender, so the error does not show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the event is not one that API Gateway sends to an authorizer; configure the function as a TOKEN or REQUEST \
     authorizer, with payload format 2.0 and simple responses for an HTTP API"
)]
pub struct InvalidEvent;

/// An event, as far as the authorizer needs it.
pub(super) struct AuthorizerEvent {
    pub(super) format: AnswerFormat,
    /// The value of the token source; `None` for an event with all headers.
    pub(super) token: Option<String>,
    pub(super) headers: HeaderMap,
    /// The queues that the stage of the API names.
    pub(super) stage_queues: Option<String>,
    pub(super) request_id: Option<String>,
}

/// The form of the answer.
pub(super) enum AnswerFormat {
    /// A policy about this method of the API.
    Policy {
        /// The ARN of the method, with the stage and the path that the client used.
        method_arn: String,
    },
    /// A simple response: allowed or not.
    Simple,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawEvent {
    r#type: String,
    version: Option<String>,
    method_arn: Option<String>,
    authorization_token: Option<String>,
    #[serde(default)]
    headers: Option<HashMap<String, String>>,
    #[serde(default)]
    multi_value_headers: Option<HashMap<String, Vec<String>>>,
    #[serde(default)]
    stage_variables: Option<HashMap<String, String>>,
    request_context: Option<RawContext>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawContext {
    request_id: Option<String>,
}

impl AuthorizerEvent {
    pub(super) fn parse(event: Value) -> Result<Self, InvalidEvent> {
        let raw: RawEvent = serde_json::from_value(event).map_err(|_| InvalidEvent)?;
        let is_simple = raw.version.as_deref() == Some("2.0");
        let (format, token) = match (raw.r#type.as_str(), raw.method_arn, is_simple) {
            ("TOKEN", Some(method_arn), _) => {
                let token = raw.authorization_token.ok_or(InvalidEvent)?;
                (AnswerFormat::Policy { method_arn }, Some(token))
            }
            ("REQUEST", _, true) => (AnswerFormat::Simple, None),
            ("REQUEST", Some(method_arn), false) => (AnswerFormat::Policy { method_arn }, None),
            _ => return Err(InvalidEvent),
        };
        Ok(Self {
            format,
            token,
            headers: read_headers(raw.headers, raw.multi_value_headers),
            stage_queues: raw
                .stage_variables
                .and_then(|mut variables| variables.remove(STAGE_QUEUES)),
            request_id: raw.request_context.and_then(|context| context.request_id),
        })
    }
}

/// All values of all headers. A REST API lists them in `multiValueHeaders`, and only the last value of each in
/// `headers`; an HTTP API with payload 2.0 has `headers` only, with the values of each joined.
fn read_headers(
    single: Option<HashMap<String, String>>,
    multiple: Option<HashMap<String, Vec<String>>>,
) -> HeaderMap {
    let pairs: Vec<(String, String)> = match multiple {
        Some(multiple) => multiple
            .into_iter()
            .flat_map(|(name, values)| values.into_iter().map(move |value| (name.clone(), value)))
            .collect(),
        None => single.unwrap_or_default().into_iter().collect(),
    };
    pairs
        .into_iter()
        .filter_map(|(name, value)| {
            let name = HeaderName::try_from(name).ok()?;
            Some((name, HeaderValue::try_from(value).ok()?))
        })
        .collect()
}
