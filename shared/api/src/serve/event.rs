//! The events that API Gateway sends to the functions with routes: of a REST API (payload 1.0), and of an HTTP API or
//! a function URL (payload 2.0).
//!
//! One struct reads both, and only the fields that the functions use. Any other field of an event cannot make a request
//! fail. An event may hold anything, since a gateway passes on what clients send, and an operator may send an event by
//! hand. So an event that cannot be read is a value of [`GatewayEvent`], and each failure after that is a [`Problem`].

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, value::RawValue};

use crate::problem::Problem;

/// Names with one value, and with several. The order of the names does not matter.
type SingleValues = BTreeMap<String, String>;
type MultiValues = BTreeMap<String, Vec<String>>;

/// An event as it arrives. Reading it never fails.
#[derive(Debug)]
pub struct GatewayEvent(Option<RawEvent>);

/// The form in which the gateway expects the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PayloadFormat {
    /// Payload 1.0, of a REST API.
    Rest,
    /// Payload 2.0, of an HTTP API or a function URL.
    Http,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RawEvent {
    pub(super) request_context: RawContext,
    /// Payload 1.0 only.
    pub(super) http_method: Option<String>,
    pub(super) path: Option<String>,
    pub(super) multi_value_headers: Option<MultiValues>,
    pub(super) query_string_parameters: Option<SingleValues>,
    pub(super) multi_value_query_string_parameters: Option<MultiValues>,
    /// Payload 2.0 only.
    pub(super) raw_path: Option<String>,
    pub(super) raw_query_string: Option<String>,
    pub(super) cookies: Option<Vec<String>>,
    /// Both payloads.
    pub(super) headers: Option<SingleValues>,
    pub(super) path_parameters: Option<SingleValues>,
    pub(super) body: Option<String>,
    pub(super) is_base64_encoded: Option<bool>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RawContext {
    pub(super) request_id: Option<String>,
    pub(super) authorizer: Option<Map<String, Value>>,
    /// Payload 1.0 only.
    pub(super) resource_path: Option<String>,
    pub(super) identity: Option<RawIdentity>,
    /// Payload 2.0 only.
    pub(super) stage: Option<String>,
    pub(super) route_key: Option<String>,
    pub(super) http: Option<RawHttp>,
}

/// What payload 1.0 says about the caller.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RawIdentity {
    pub(super) user_arn: Option<String>,
    pub(super) caller: Option<String>,
    pub(super) api_key_id: Option<String>,
    pub(super) source_ip: Option<String>,
}

/// What payload 2.0 says about the request.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RawHttp {
    pub(super) method: Option<String>,
    pub(super) source_ip: Option<String>,
}

impl<'de> Deserialize<'de> for GatewayEvent {
    /// Never fails. Lambda's runtime would report a failure as an error of the function, and the client would read
    /// nothing about it.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // The text is read to its end first, so that the parser of the runtime is where it expects to be.
        let text = Box::<RawValue>::deserialize(deserializer).ok();
        Ok(Self(text.and_then(|text| serde_json::from_str(text.get()).ok())))
    }
}

impl GatewayEvent {
    /// The form of the answer. An answer to payload 2.0 is also valid for payload 1.0, so an event that cannot be read
    /// gets that.
    pub(super) fn payload_format(&self) -> PayloadFormat {
        match &self.0 {
            Some(event) => event.payload_format(),
            None => PayloadFormat::Http,
        }
    }

    /// The gateway's id of the request.
    pub(super) fn request_id(&self) -> Option<&str> {
        let request_id = self.0.as_ref()?.request_context.request_id.as_deref();
        request_id.filter(|request_id| !request_id.is_empty())
    }

    /// The event, if it is one of API Gateway.
    ///
    /// # Errors
    /// A [`Problem`]. The error of the parser may quote the client, so neither the log nor the answer shows it.
    pub(super) fn into_raw(self) -> Result<RawEvent, Problem> {
        self.0.ok_or_else(|| {
            tracing::warn!(
                event = "event.unreadable",
                "refused an event that API Gateway does not send to this function; invoke the function through an API, \
                 or with an event of payload 1.0 or 2.0"
            );
            Problem::invalid_field("event", "the event is not one that API Gateway sends (payload 1.0 or 2.0)")
        })
    }
}

impl RawEvent {
    pub(super) fn payload_format(&self) -> PayloadFormat {
        match self.request_context.http {
            Some(_) => PayloadFormat::Http,
            None => PayloadFormat::Rest,
        }
    }
}
