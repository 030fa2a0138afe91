//! What the gateway verified about the caller of an event. A value of an odd type proves nothing.

use std::{
    net::IpAddr,
    time::{Instant, SystemTime},
};

use lambda_runtime::Context;
use serde_json::{Map, Value};

use super::event::{RawContext, RawHttp};
use crate::{deadline::invocation_deadline, who::gateway::Gateway};

/// Reads the context of an event.
pub(super) fn read_gateway(mut event: RawContext, lambda: &Context) -> Gateway {
    let gateway = Gateway {
        request_id: non_empty(event.request_id.take()).or_else(|| non_empty(Some(lambda.request_id.clone()))),
        deadline: function_deadline(lambda),
        ..Gateway::default()
    };
    match event.http.take() {
        Some(http) => add_http_api_context(gateway, event, http),
        None => add_rest_api_context(gateway, event),
    }
}

fn add_rest_api_context(gateway: Gateway, context: RawContext) -> Gateway {
    let identity = context.identity.unwrap_or_default();
    Gateway {
        authorizer: context.authorizer.unwrap_or_default(),
        signer: non_empty(identity.user_arn).or_else(|| non_empty(identity.caller)),
        api_key_id: non_empty(identity.api_key_id),
        client_address: parse_address(identity.source_ip),
        ..gateway
    }
}

/// Adds the context of an HTTP API or a function URL. Neither has API keys.
fn add_http_api_context(gateway: Gateway, context: RawContext, http: RawHttp) -> Gateway {
    let mut verified = context.authorizer.unwrap_or_default();
    let mut authorizer = take_object(&mut verified, "lambda");
    if let Some(claims) = take_object(&mut verified, "jwt").remove("claims") {
        authorizer.insert("claims".to_owned(), claims);
    }
    let mut iam = take_object(&mut verified, "iam");
    Gateway {
        authorizer,
        signer: take_text(&mut iam, "userArn").or_else(|| take_text(&mut iam, "callerId")),
        client_address: parse_address(http.source_ip),
        ..gateway
    }
}

fn take_object(map: &mut Map<String, Value>, name: &str) -> Map<String, Value> {
    match map.remove(name) {
        Some(Value::Object(object)) => object,
        _ => Map::new(),
    }
}

fn take_text(map: &mut Map<String, Value>, name: &str) -> Option<String> {
    match map.remove(name) {
        Some(Value::String(text)) => non_empty(Some(text)),
        _ => None,
    }
}

fn parse_address(text: Option<String>) -> Option<IpAddr> {
    text.and_then(|text| text.parse().ok())
}

fn non_empty(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.is_empty())
}

/// When Lambda stops the function; `None` if the context has no deadline.
fn function_deadline(lambda: &Context) -> Option<Instant> {
    if lambda.deadline == 0 {
        return None;
    }
    let time_left = invocation_deadline(lambda)
        .duration_since(SystemTime::now())
        .unwrap_or_default();
    Instant::now().checked_add(time_left)
}
