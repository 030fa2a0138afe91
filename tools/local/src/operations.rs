//! The routes for the user of this machine: the admin function and the health of the line and of the backup.

use std::sync::Arc;

use axum::{
    Json, Router,
    body::Bytes,
    extract::{DefaultBodyLimit, State, rejection::BytesRejection},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde_json::json;
use vestibule_admin::{Admin, describe_build};
use vestibule_api::Problem;
use vestibule_console::{COMMAND_BYTES_MAX, read_command, to_response};

use crate::ping::measure_ping;

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
    let command = read_command(&headers, body)
        .map_err(|unreadable| Problem::new(unreadable.code, unreadable.detail))?;
    Ok(to_response(admin.handle(command).await))
}

async fn read_health(State(admin): State<Arc<Admin>>) -> Response {
    let (line, backup) = tokio::join!(measure_ping(admin.line.ping()), measure_ping(admin.backup.ping()));
    let (line, backup) = (line.is_some(), backup.is_some());
    let status = if line && backup {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    let availability = |is_available| if is_available { "ok" } else { "unavailable" };
    (
        status,
        Json(json!({
            "line": availability(line),
            "backup": availability(backup),
            "build": describe_build(),
        })),
    )
        .into_response()
}
