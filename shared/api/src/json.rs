//! JSON in the bodies of requests and answers.

use axum::{
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;

use crate::problem::Problem;

/// Whether a request declares its body as JSON; `None` if it declares no content type.
pub(crate) fn is_json(headers: &HeaderMap) -> Option<bool> {
    let value = headers.get(header::CONTENT_TYPE)?;
    let essence = value
        .to_str()
        .unwrap_or_default()
        .split(';')
        .next()
        .unwrap_or_default();
    Some(essence.trim().eq_ignore_ascii_case("application/json"))
}

/// Builds an answer with a JSON body.
pub(crate) fn json(status: StatusCode, body: &impl Serialize) -> Response {
    let content_type = HeaderValue::from_static("application/json");
    match serde_json::to_string(body) {
        Ok(body) => (status, [(header::CONTENT_TYPE, content_type)], body).into_response(),
        Err(error) => Problem::internal(error.to_string()).into_response(),
    }
}
