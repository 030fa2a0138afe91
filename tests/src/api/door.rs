//! The door of a test: the requests of crowd's visitors as [`ApiRequest`]s, over any way to the API.

use std::{future::Future, sync::Arc, time::Duration};

use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::time::sleep;
use vestibule_crowd::{
    act::Act,
    door::{Caller, Door, ProtectedService},
    rules::Refusal,
};
use vestibule_wire::{Entry, PublicDocument};

use super::{ApiRequest, ApiResponse};

/// The pause before a request that ends a visit is repeated.
const END_PAUSE: Duration = Duration::from_millis(150);

/// A way to the API.
pub trait Transport: Send + Sync {
    /// Sends the request of an act. `None` if no complete answer comes.
    fn exchange(&self, act: Act, request: ApiRequest) -> impl Future<Output = Option<ApiResponse>> + Send;
}

impl<T: Transport> Transport for Arc<T> {
    fn exchange(&self, act: Act, request: ApiRequest) -> impl Future<Output = Option<ApiResponse>> + Send {
        T::exchange(self, act, request)
    }
}

/// The API of one queue.
#[derive(Debug, Clone)]
pub struct ApiDoor<T> {
    /// The way to it.
    pub transport: T,
    /// The path of the queue.
    queue_path: String,
}

impl<T: Transport> ApiDoor<T> {
    /// The API of the queue with this id.
    pub fn new(transport: T, queue: &str) -> Self {
        Self {
            transport,
            queue_path: format!("/queues/{queue}"),
        }
    }

    fn entry_path(&self, token: &str) -> String {
        format!("{}/entries/{token}", self.queue_path)
    }

    async fn exchange(&self, act: Act, request: ApiRequest) -> Result<ApiResponse, Refusal> {
        let answer = self.transport.exchange(act, request).await;
        let answer = answer.ok_or(Refusal::NO_ANSWER)?;
        if answer.status.is_success() {
            return Ok(answer);
        }
        let seconds = answer.headers.get("retry-after");
        let seconds: Option<f64> = seconds.and_then(|value| value.to_str().ok()?.parse().ok());
        let retry_after_ms = seconds.unwrap_or_default() * 1_000.0;
        Err(Refusal::from_answer(
            answer.status.as_u16(),
            retry_after_ms,
            &answer.bytes,
        ))
    }

    /// Sends a request that ends a visit until it is acknowledged or refused. A client would give up after a while.
    async fn end(&self, act: Act, request: ApiRequest) -> Result<(), Refusal> {
        loop {
            match self.exchange(act, request.clone()).await {
                Err(refusal) if refusal.is_retryable() => sleep(END_PAUSE).await,
                ended => return ended.map(drop),
            }
        }
    }

    async fn ask<A: DeserializeOwned>(&self, act: Act, request: ApiRequest) -> Result<A, Refusal> {
        let answer = self.exchange(act, request).await?;
        let read = serde_json::from_slice(&answer.bytes);
        Ok(read.unwrap_or_else(|error| panic!("{error}: {answer:?}")))
    }
}

fn as_caller(request: ApiRequest, caller: &Caller) -> ApiRequest {
    match &caller.visitor {
        Some(id) => request.visitor(id),
        None => request,
    }
}

impl<T: Transport> Door for ApiDoor<T> {
    async fn enter(&self, caller: &Caller) -> Result<Entry, Refusal> {
        let request = ApiRequest::post(format!("{}/entries", self.queue_path));
        let request = match &caller.ticket {
            Some(ticket) => request.json(&json!({ "ticket": ticket })),
            None => request,
        };
        self.ask(Act::Enter, as_caller(request, caller)).await
    }

    async fn status(&self, caller: &Caller, token: &str, hold_seconds: u32) -> Result<Entry, Refusal> {
        let path = self.entry_path(token);
        let (act, path) = match hold_seconds {
            0 => (Act::Poll, path),
            seconds => (Act::HeldPoll { seconds }, format!("{path}?wait={seconds}")),
        };
        self.ask(act, as_caller(ApiRequest::get(path), caller)).await
    }

    async fn document(&self) -> Result<Arc<PublicDocument>, Refusal> {
        let request = ApiRequest::get(self.queue_path.as_str());
        self.ask(Act::Document, request).await.map(Arc::new)
    }

    async fn claim(&self, caller: &Caller, token: &str) -> Result<Entry, Refusal> {
        let request = ApiRequest::post(format!("{}/claim", self.entry_path(token)));
        self.ask(Act::Claim, as_caller(request, caller)).await
    }

    async fn leave(&self, caller: &Caller, token: &str, visit: u64) -> Result<(), Refusal> {
        let request = ApiRequest::delete(format!("{}?visit={visit}", self.entry_path(token)));
        self.end(Act::Leave, as_caller(request, caller)).await
    }
}

impl<T: Transport> ProtectedService for ApiDoor<T> {
    async fn validate(&self, caller: &Caller, token: &str, visit: u64) -> Result<(), Refusal> {
        let request = ApiRequest::post(format!("{}/validate", self.entry_path(token)));
        let request = request.json(&json!({ "visitor": caller.visitor, "visit": visit }));
        self.exchange(Act::Validate, request).await.map(drop)
    }

    async fn complete(&self, token: &str, visit: u64) -> Result<(), Refusal> {
        let request = ApiRequest::post(format!("{}/complete", self.entry_path(token)));
        let request = request.json(&json!({ "visit": visit }));
        self.end(Act::Complete, request).await
    }

    async fn extend(&self, caller: &Caller, token: &str, visit: u64) -> Result<Entry, Refusal> {
        let request = ApiRequest::post(format!("{}/extend", self.entry_path(token)));
        let request = request.json(&json!({ "visit": visit }));
        self.ask(Act::Extend, as_caller(request, caller)).await
    }
}
