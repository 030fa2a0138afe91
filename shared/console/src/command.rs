//! The route by which the page sends a command of the operator.

use std::sync::Arc;

use axum::{
    Json,
    body::Bytes,
    extract::{State, rejection::BytesRejection},
    http::{HeaderMap, StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};
use vestibule_domain::right::Right;
use vestibule_wire::{Code, commands::Operation};

use crate::{Console, answers::NoResult, problem::Problem};

/// The most bytes of a command.
pub const COMMAND_BYTES_MAX: usize = 64 * 1024;

/// Sends a command to the admin function and returns its answer. Names the operator in it, whatever name the request has.
///
/// A page of another port of this machine has the cookie of the console, too. As with `POST /_admin` of the runner, JSON needs
/// a CORS preflight, which no route of the console answers.
pub(crate) async fn send_command(
    State(console): State<Arc<Console>>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Problem> {
    let mut command = read_command(&headers, body)?;
    let is_change = |op| Operation::find(op).is_none_or(|operation| operation.right > Right::Look);
    let changes_queues = command["op"].as_str().is_some_and(is_change);
    if let Some(fields) = command.as_object_mut() {
        fields.insert("caller".to_owned(), json!(console.operator()));
    }
    let answer = console.admin().call(command).await;
    if changes_queues {
        console.list_soon();
    }
    Ok(to_response(answer.map_err(NoResult::Unreachable)?))
}

/// The answer of the admin function as that of a request: a refused command has the status of its problem.
pub fn to_response(answer: Value) -> Response {
    let status = answer["problem"]["status"].as_u64();
    let status = status.and_then(|status| StatusCode::from_u16(status.try_into().ok()?).ok());
    (status.unwrap_or_default(), Json(answer)).into_response()
}

/// Why a request has no command that can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableCommand {
    /// The code of the problem.
    pub code: Code,
    /// What is wrong, and what to do.
    pub detail: String,
}

impl UnreadableCommand {
    fn new(code: Code, detail: impl Into<String>) -> Self {
        Self {
            code,
            detail: detail.into(),
        }
    }
}

impl From<UnreadableCommand> for Problem {
    fn from(unreadable: UnreadableCommand) -> Self {
        Self::new(unreadable.code, unreadable.detail)
    }
}

/// Reads the command of a request to a route that limits bodies to [`COMMAND_BYTES_MAX`].
///
/// # Errors
/// [`UnreadableCommand`] if the content type is not JSON, or if the body is too large, cut off or no JSON.
pub fn read_command(
    headers: &HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Value, UnreadableCommand> {
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if !is_json(content_type.unwrap_or_default()) {
        let detail = "send the command with the content type application/json";
        return Err(UnreadableCommand::new(Code::UnsupportedMediaType, detail));
    }
    let body = body.map_err(|rejection| match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => {
            let detail = format!("a command may have {COMMAND_BYTES_MAX} bytes at most");
            UnreadableCommand::new(Code::BodyTooLarge, detail)
        }
        _ => UnreadableCommand::new(Code::InvalidField, "the body cannot be read to its end"),
    })?;
    serde_json::from_slice(&body).map_err(|error| {
        let detail = format!("the body is not valid JSON: {error}");
        UnreadableCommand::new(Code::InvalidField, detail)
    })
}

/// Whether a content type is JSON, with or without parameters.
fn is_json(content_type: &str) -> bool {
    let kind = content_type.split(';').next().unwrap_or_default();
    kind.trim().eq_ignore_ascii_case("application/json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_json_content_type_may_have_parameters() {
        assert!(is_json("application/json") && is_json("Application/JSON; charset=utf-8"));
        assert!(!is_json("text/plain") && !is_json("") && !is_json("application/jsonp"));
    }
}
