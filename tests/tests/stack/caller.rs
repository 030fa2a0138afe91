//! Sends requests to the deployed stack, as a visitor or as the protected service.

use std::time::Duration;

use reqwest::{Client, Method, Request, RequestBuilder};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use uuid::Uuid;
use vestibule_tests::{
    servers::client_for_url,
    stack::{Stack, sign_request},
};

/// The schedule fires each minute, or somewhat later on an emulator, and the log of a run may come at its end.
const BOUND: Duration = Duration::from_mins(4);

/// Sends requests as a visitor or as the protected service.
pub(super) struct Caller<'a> {
    stack: &'a Stack,
    pub(super) http: Client,
}

/// A visitor who entered.
pub(super) struct Visitor {
    pub(super) id: String,
    pub(super) token: String,
    pub(super) state: String,
    pub(super) pass: Option<String>,
}

impl<'a> Caller<'a> {
    pub(super) fn for_stack(stack: &'a Stack) -> Self {
        Self::for_url(stack, stack.api.as_str())
    }

    /// A caller of this host, whose name the machine need not resolve.
    pub(super) fn for_url(stack: &'a Stack, url: &str) -> Self {
        let http = client_for_url(url)
            .timeout(Duration::from_mins(1))
            .build()
            .expect("a client");
        Self { stack, http }
    }

    /// Sends a request as a visitor.
    pub(super) async fn call(
        &self,
        method: Method,
        path: &str,
        visitor: &str,
        body: Option<Value>,
    ) -> (u16, Value) {
        let request = self.request(method, path, body).header("x-visitor-id", visitor);
        self.send(request.build().expect("a request")).await
    }

    /// Sends a signed request as the protected service.
    pub(super) async fn call_signed(&self, path: &str, body: Value) -> (u16, Value) {
        let request = self.request(Method::POST, path, Some(body));
        self.send(sign_request("execute-api", request.build().expect("a request")))
            .await
    }

    pub(super) fn request(&self, method: Method, path: &str, body: Option<Value>) -> RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.stack.api));
        match body {
            Some(body) => request.json(&body),
            None => request,
        }
    }

    pub(super) async fn send(&self, request: Request) -> (u16, Value) {
        let what = format!("{} {}", request.method(), request.url());
        let answer = self.http.execute(request).await.expect("the gateway answers");
        let status = answer.status().as_u16();
        let body = answer.text().await.expect("a body");
        if body.is_empty() {
            return (status, Value::Null);
        }
        let body = serde_json::from_str(&body).unwrap_or_else(|error| panic!("{what}: {error} in {body}"));
        (status, body)
    }

    pub(super) async fn enter(&self, queue: &str) -> Visitor {
        let id = Uuid::new_v4().to_string();
        let path = format!("/queues/{queue}/entries");
        let (status, entry) = self.call(Method::POST, &path, &id, Some(json!({}))).await;
        assert_eq!(status, 201, "{entry}");
        assert_eq!(entry["durable"], true, "{entry}");
        Visitor {
            id,
            token: entry["token"].as_str().expect("a token").to_owned(),
            state: entry["state"].as_str().expect("a state").to_owned(),
            pass: entry["pass"].as_str().map(str::to_owned),
        }
    }

    /// Sends held polls until the entry has this state.
    pub(super) async fn poll_until(&self, queue: &str, visitor: &Visitor, state: &str) -> Value {
        let path = format!("/queues/{queue}/entries/{}?wait=10", visitor.token);
        let end = Instant::now() + BOUND;
        loop {
            let (status, entry) = self.call(Method::GET, &path, &visitor.id, None).await;
            if entry["state"] == state {
                return entry;
            }
            assert_eq!(status, 200, "{entry}");
            assert!(Instant::now() < end, "the entry never became {state}: {entry}");
            let pause = entry["retry_after_ms"].as_u64().unwrap_or(1_000);
            sleep(Duration::from_millis(pause.min(2_000))).await;
        }
    }
}

/// Calls `look` every second until it returns a value.
pub(super) async fn wait_for<T>(what: &str, mut observe: impl AsyncFnMut() -> Option<T>) -> T {
    let end = Instant::now() + BOUND;
    loop {
        if let Some(found) = observe().await {
            return found;
        }
        assert!(Instant::now() < end, "not within {BOUND:?}: {what}");
        sleep(Duration::from_secs(1)).await;
    }
}
