//! The routes for the user of this machine: the admin function and the health of the line and of the backup.

use std::{sync::Arc, time::Duration};

use axum::{
    Json, Router,
    body::Bytes,
    extract::{DefaultBodyLimit, State, rejection::BytesRejection},
    http::{HeaderMap, StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde_json::{Value, json};
use tokio::time::timeout;
use vestibule_api::{Code, Problem};
use vestibule_console::is_json;
use vestibule_operate::admin::Admin;

/// The most bytes of a command.
const COMMAND_BYTES_MAX: usize = 64 * 1024;
/// A line or backup that does not answer within this time counts as unavailable.
const PING_TIMEOUT: Duration = Duration::from_secs(2);

/// The routes `POST /_admin` and `GET /_health`.
pub(crate) fn routes(admin: Arc<Admin>) -> Router {
    Router::new()
        .route(
            "/_admin",
            post(run_command).layer(DefaultBodyLimit::max(COMMAND_BYTES_MAX)),
        )
        .route("/_health", get(read_health))
        .with_state(admin)
}

/// Runs a command of the admin function. Only this machine may send one. A page of another site may know the
/// address, but its requests either name [another host](crate::host), or need a CORS preflight to send JSON.
async fn run_command(
    State(admin): State<Arc<Admin>>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Problem> {
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if !is_json(content_type.unwrap_or_default()) {
        let detail = "send the command with the content type application/json";
        return Err(Problem::new(Code::UnsupportedMediaType, detail));
    }
    let event = serde_json::from_slice::<Value>(&body.map_err(|rejection| unreadable_body(&rejection))?)
        .map_err(|error| Problem::invalid_field("body", format!("is not valid JSON: {error}")))?;
    Ok(Json(admin.handle(event).await).into_response())
}

fn unreadable_body(rejection: &BytesRejection) -> Problem {
    match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => Problem::new(
            Code::BodyTooLarge,
            format!("a command may have {COMMAND_BYTES_MAX} bytes at most"),
        ),
        _ => Problem::invalid_field("body", "cannot be read to its end"),
    }
}

async fn read_health(State(admin): State<Arc<Admin>>) -> Response {
    let (line, backup) = tokio::join!(
        timeout(PING_TIMEOUT, admin.line.ping()),
        timeout(PING_TIMEOUT, admin.backup.ping()),
    );
    let (line, backup) = (matches!(line, Ok(Ok(()))), matches!(backup, Ok(Ok(()))));
    let status = if line && backup {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    let availability = |is_available| if is_available { "ok" } else { "unavailable" };
    (
        status,
        Json(json!({ "line": availability(line), "backup": availability(backup) })),
    )
        .into_response()
}
