//! The problems of the console's own routes, as problem details (RFC 9457).

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::Value;
use vestibule_wire::Code;

use crate::answers::NoResult;

/// A request that the console did not answer as asked.
#[derive(Debug)]
pub(crate) struct Problem {
    status: StatusCode,
    body: Value,
}

impl Problem {
    /// Creates a problem from its code and a sentence for the operator.
    pub(crate) fn new(code: Code, detail: impl Into<String>) -> Self {
        Self::from_body(vestibule_wire::Problem::new(code, detail.into()).to_value())
    }

    /// Passes on a problem of the admin function.
    fn from_body(body: Value) -> Self {
        let status = body["status"]
            .as_u64()
            .and_then(|status| u16::try_from(status).ok());
        let status = status.and_then(|status| StatusCode::from_u16(status).ok());
        Self {
            status: status.unwrap_or(StatusCode::BAD_GATEWAY),
            body,
        }
    }
}

impl From<NoResult> for Problem {
    fn from(none: NoResult) -> Self {
        match none {
            NoResult::Refused(problem) => Self::from_body(problem),
            NoResult::Unreachable(_) => Self::new(Code::AdminUnreachable, none.reason()),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let headers = [
            (
                header::CONTENT_TYPE,
                HeaderValue::from_static("application/problem+json"),
            ),
            (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        ];
        (self.status, headers, self.body.to_string()).into_response()
    }
}
