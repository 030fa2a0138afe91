//! The door of the demo visitors: the real routes within this process.

use std::sync::Arc;

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{
        Method, Request,
        header::{CONTENT_TYPE, RETRY_AFTER},
    },
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tower::ServiceExt;
use tracing::debug;
use vestibule_crowd::{
    door::{Caller, Door, ProtectedService},
    rules::Refusal,
};
use vestibule_wire::{Entry, PublicDocument};

/// The most bytes of an answer of the API.
const ANSWER_BYTES_MAX: usize = 1 << 20;

/// The routes, and a queue there.
#[derive(Debug)]
pub(super) struct RoutesDoor {
    pub(super) router: Router,
    pub(super) queue: &'static str,
}

impl RoutesDoor {
    /// Sends a request to a path below the queue.
    async fn send(
        &self,
        method: Method,
        path: &str,
        caller: Option<&Caller>,
        body: Value,
    ) -> Result<Value, Refusal> {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("/queues/{}{path}", self.queue))
            .header(CONTENT_TYPE, "application/json");
        if let Some(id) = caller.and_then(|caller| caller.visitor.as_deref()) {
            request = request.header("x-visitor-id", id);
        }
        let request = request
            .body(Body::from(body.to_string()))
            .expect("the method, path and headers are valid");
        let Ok(response) = self.router.clone().oneshot(request).await;
        let (parts, body) = response.into_parts();
        let bytes = to_bytes(body, ANSWER_BYTES_MAX).await.unwrap_or_default();
        let answer: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        debug!(
            event = "demo_visitor.answered",
            token = answer["token"].as_str().unwrap_or_default(),
            state = answer["state"].as_str().unwrap_or_default(),
            status = %parts.status,
            "a demo visitor received an answer"
        );
        if parts.status.is_success() {
            return Ok(answer);
        }
        let seconds = parts.headers.get(RETRY_AFTER);
        let seconds: Option<f64> = seconds.and_then(|value| value.to_str().ok()?.parse().ok());
        let retry_after_ms = seconds.unwrap_or_default() * 1_000.0;
        Err(Refusal::from_answer(
            parts.status.as_u16(),
            retry_after_ms,
            &bytes,
        ))
    }

    async fn post(&self, path: &str, caller: &Caller, body: Value) -> Result<Entry, Refusal> {
        read(self.send(Method::POST, path, Some(caller), body).await?)
    }
}

fn read<T: DeserializeOwned>(answer: Value) -> Result<T, Refusal> {
    serde_json::from_value(answer).map_err(|_| Refusal::NO_ANSWER)
}

impl Door for RoutesDoor {
    async fn enter(&self, caller: &Caller) -> Result<Entry, Refusal> {
        self.post("/entries", caller, json!({})).await
    }

    async fn status(&self, caller: &Caller, token: &str, hold_seconds: u32) -> Result<Entry, Refusal> {
        let path = format!("/entries/{token}?wait={hold_seconds}");
        read(self.send(Method::GET, &path, Some(caller), json!({})).await?)
    }

    async fn document(&self) -> Result<Arc<PublicDocument>, Refusal> {
        let answer = self.send(Method::GET, "", None, json!({})).await?;
        read(answer).map(Arc::new)
    }

    async fn claim(&self, caller: &Caller, token: &str) -> Result<Entry, Refusal> {
        let path = format!("/entries/{token}/claim");
        self.post(&path, caller, json!({})).await
    }

    async fn leave(&self, caller: &Caller, token: &str, visit: u64) -> Result<(), Refusal> {
        let path = format!("/entries/{token}?visit={visit}");
        let sent = self.send(Method::DELETE, &path, Some(caller), json!({})).await;
        sent.map(drop)
    }
}

impl ProtectedService for RoutesDoor {
    async fn validate(&self, caller: &Caller, token: &str, visit: u64) -> Result<(), Refusal> {
        let path = format!("/entries/{token}/validate");
        let body = json!({ "visitor": caller.visitor, "visit": visit });
        self.send(Method::POST, &path, None, body).await.map(drop)
    }

    async fn complete(&self, token: &str, visit: u64) -> Result<(), Refusal> {
        let path = format!("/entries/{token}/complete");
        let body = json!({ "visit": visit });
        self.send(Method::POST, &path, None, body).await.map(drop)
    }

    async fn extend(&self, caller: &Caller, token: &str, visit: u64) -> Result<Entry, Refusal> {
        let path = format!("/entries/{token}/extend");
        self.post(&path, caller, json!({ "visit": visit })).await
    }
}
