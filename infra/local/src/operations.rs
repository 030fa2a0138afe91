//! What only the one who runs this process may reach: the admin function and the health of the parts.

use std::{sync::Arc, time::Duration};

use axum::{
    Json, Router,
    body::Bytes,
    extract::{DefaultBodyLimit, State, rejection::BytesRejection},
    http::{
        HeaderMap, StatusCode,
        header::{CONTENT_TYPE, HOST},
    },
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde_json::{Value, json};
use tokio::time::timeout;
use vestibule_api::{Code, Problem};
use vestibule_operate::admin::Admin;

/// The most bytes of an order.
const ORDER_BYTES: usize = 64 * 1024;
/// A part that has not answered by then counts as away.
const PING_TIMEOUT: Duration = Duration::from_secs(2);

/// The routes `POST /_admin` and `GET /_health`.
pub(crate) fn routes(admin: Admin) -> Router {
    Router::new()
        .route("/_admin", post(order).layer(DefaultBodyLimit::max(ORDER_BYTES)))
        .route("/_health", get(health))
        .with_state(Arc::new(admin))
}

/// Takes what the admin function takes. Only from this machine: a page of another site may know the address, but its
/// requests name another host (DNS rebinding), or cannot carry JSON without being asked first.
async fn order(
    State(admin): State<Arc<Admin>>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Problem> {
    let header = |name| {
        headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    };
    if !is_loopback(header(HOST)) {
        let detail = "orders are taken under the names localhost, 127.0.0.1 and [::1] alone";
        return Err(Problem::new(Code::ForeignHost, detail));
    }
    if !is_json(header(CONTENT_TYPE)) {
        let detail = "send an order as application/json";
        return Err(Problem::new(Code::UnsupportedMediaType, detail));
    }
    let event = serde_json::from_slice::<Value>(&body.map_err(|rejection| unread(&rejection))?)
        .map_err(|error| Problem::invalid_field("body", format!("is broken JSON: {error}")))?;
    Ok(Json(admin.handle(event).await).into_response())
}

fn unread(rejection: &BytesRejection) -> Problem {
    match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => {
            Problem::new(Code::BodyTooLarge, format!("{ORDER_BYTES} bytes are the most"))
        }
        _ => Problem::invalid_field("body", "could not be read to its end"),
    }
}

async fn health(State(admin): State<Arc<Admin>>) -> Response {
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
    let word = |answers| if answers { "ok" } else { "away" };
    (
        status,
        Json(json!({ "line": word(line), "backup": word(backup) })),
    )
        .into_response()
}

fn is_loopback(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    name.eq_ignore_ascii_case("localhost") || name == "127.0.0.1" || name == "[::1]"
}

fn is_json(content_type: &str) -> bool {
    let kind = content_type.split(';').next().unwrap_or_default();
    kind.trim().eq_ignore_ascii_case("application/json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_are_loopback() {
        for own in [
            "localhost",
            "LOCALHOST:8080",
            "127.0.0.1",
            "127.0.0.1:1",
            "[::1]",
            "[::1]:8080",
        ] {
            assert!(is_loopback(own), "{own}");
        }
        for foreign in [
            "",
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example:80",
            "::1",
            "localhost:x",
        ] {
            assert!(!is_loopback(foreign), "{foreign}");
        }
    }

    #[test]
    fn json_is_json_whatever_its_parameters() {
        assert!(is_json("application/json") && is_json("Application/JSON; charset=utf-8"));
        assert!(!is_json("text/plain") && !is_json("") && !is_json("application/jsonp"));
    }
}
