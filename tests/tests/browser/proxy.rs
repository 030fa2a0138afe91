//! A proxy in front of the runner. It records the requests of the browser and can change the answers.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::{Request, State},
    http::{
        HeaderMap, Method, Response, StatusCode,
        header::{CONNECTION, CONTENT_LENGTH, HOST, RETRY_AFTER, TRANSFER_ENCODING},
    },
    response::Html,
    routing::get,
};
use serde_json::Value;
use tokio::{net::TcpListener, time::sleep};

use crate::tab::{BOUND, LOOK_PAUSE};

/// The longest time to the next poll while the proxy shortens the polls.
const SHORT_RETRY_MAX_MS: u64 = 500;
/// The path of the protected shop.
const SHOP: &str = "/shop";

/// A request to the API and its answer.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) method: Method,
    /// The path with the query.
    pub(crate) path: String,
    pub(crate) received: Instant,
    pub(crate) answered: Instant,
    pub(crate) status: StatusCode,
    pub(crate) retry_after_seconds: Option<u64>,
    pub(crate) body: Value,
}

impl Call {
    /// Whether the call reads the status of an entry.
    pub(crate) fn is_poll(&self) -> bool {
        self.method == Method::GET && self.path.contains("/entries/")
    }

    /// Whether the call enters the queue.
    pub(crate) fn is_enter(&self) -> bool {
        self.method == Method::POST && self.path.ends_with("/entries")
    }

    /// Whether the call claims a turn.
    pub(crate) fn is_claim(&self) -> bool {
        self.method == Method::POST && self.path.ends_with("/claim")
    }
}

type ChangeAnswer = dyn Fn(&mut Call) + Send + Sync;

/// A proxy that listens in front of a runner.
pub(crate) struct Proxy {
    port: u16,
    state: Arc<ProxyState>,
}

struct ProxyState {
    runner: String,
    http: reqwest::Client,
    calls: Mutex<Vec<Call>>,
    change_answer: Mutex<Option<Box<ChangeAnswer>>>,
    shortens_polls: AtomicBool,
}

impl Proxy {
    /// Starts a proxy on a free port for the runner at this address.
    pub(crate) async fn start(runner: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let state = Arc::new(ProxyState {
            runner,
            http: reqwest::Client::new(),
            calls: Mutex::default(),
            change_answer: Mutex::default(),
            shortens_polls: AtomicBool::new(false),
        });
        let router = Router::new()
            .route(SHOP, get(async || Html("<!doctype html><title>Shop</title>")))
            .fallback(forward_request)
            .with_state(state.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { port, state }
    }

    /// The URL of a path on the proxy.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// The URL of the shop, which has another origin than the waiting page, as in production.
    pub(crate) fn shop_url(&self) -> String {
        format!("http://localhost:{}{SHOP}", self.port)
    }

    /// Changes every answer of the API from now on.
    pub(crate) fn change_answers(&self, change_answer: impl Fn(&mut Call) + Send + Sync + 'static) {
        *self
            .state
            .change_answer
            .lock()
            .expect("the mutex is not poisoned") = Some(Box::new(change_answer));
    }

    /// Shortens the time to the next poll, for tests that do not test the timing.
    pub(crate) fn shorten_polls(&self) {
        self.state.shortens_polls.store(true, Ordering::Relaxed);
    }

    /// All answered calls, in the order of the answers.
    pub(crate) fn calls(&self) -> Vec<Call> {
        self.state
            .calls
            .lock()
            .expect("the mutex is not poisoned")
            .clone()
    }

    /// Waits until the calls meet a condition, and returns them.
    pub(crate) async fn until(&self, what: &str, is_met: impl Fn(&[Call]) -> bool) -> Vec<Call> {
        let end = Instant::now() + BOUND;
        loop {
            let calls = self.calls();
            if is_met(&calls) {
                return calls;
            }
            assert!(
                Instant::now() < end,
                "not within {BOUND:?}: {what}; the calls are {calls:?}"
            );
            sleep(LOOK_PAUSE).await;
        }
    }
}

async fn forward_request(State(state): State<Arc<ProxyState>>, request: Request) -> Response<Body> {
    let received = Instant::now();
    let (mut parts, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await.expect("a body");
    let path = parts.uri.path_and_query().expect("a path").to_string();
    parts.headers.remove(HOST);
    let answer = state
        .http
        .request(parts.method.clone(), format!("{}{path}", state.runner))
        .headers(parts.headers)
        .body(body)
        .send()
        .await
        .expect("the runner answers");
    let (mut status, mut headers) = (answer.status(), answer.headers().clone());
    let mut body = answer.bytes().await.expect("a body");
    if path.starts_with("/queues/") {
        let mut call = Call {
            method: parts.method,
            path,
            received,
            answered: received,
            status,
            retry_after_seconds: None,
            body: serde_json::from_slice(&body).unwrap_or_default(),
        };
        if let Some(retry_after_ms) = call.body["retry_after_ms"].as_u64()
            && state.shortens_polls.load(Ordering::Relaxed)
        {
            call.body["retry_after_ms"] = retry_after_ms.min(SHORT_RETRY_MAX_MS).into();
        }
        if let Some(change_answer) = &*state.change_answer.lock().expect("the mutex is not poisoned") {
            change_answer(&mut call);
        }
        status = call.status;
        if !call.body.is_null() {
            body = call.body.to_string().into();
        }
        if let Some(seconds) = call.retry_after_seconds {
            headers.insert(RETRY_AFTER, seconds.into());
        }
        call.answered = Instant::now();
        state.calls.lock().expect("the mutex is not poisoned").push(call);
    }
    build_response(status, headers, body.into())
}

fn build_response(status: StatusCode, mut headers: HeaderMap, body: Body) -> Response<Body> {
    for hop_by_hop in [CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING] {
        headers.remove(hop_by_hop);
    }
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}
