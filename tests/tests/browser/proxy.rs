//! What stands before the runner: it notes what browsers ask, and may alter what they are told.

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

use crate::tab::{BOUND, LOOK};

/// When whoever is hurried comes back at the latest.
const HURRIED_MS: u64 = 500;
/// The path of what is behind the waiting room.
const SHOP: &str = "/shop";

/// A call of the API and its answer.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) method: Method,
    /// With the query.
    pub(crate) path: String,
    pub(crate) came: Instant,
    pub(crate) answered: Instant,
    pub(crate) status: StatusCode,
    pub(crate) retry_after_seconds: Option<u64>,
    pub(crate) body: Value,
}

impl Call {
    /// Whether it looks where an entry stands.
    pub(crate) fn is_poll(&self) -> bool {
        self.method == Method::GET && self.path.contains("/entries/")
    }

    /// Whether somebody enters.
    pub(crate) fn is_enter(&self) -> bool {
        self.method == Method::POST && self.path.ends_with("/entries")
    }

    /// Whether somebody claims.
    pub(crate) fn is_claim(&self) -> bool {
        self.method == Method::POST && self.path.ends_with("/claim")
    }
}

type Alter = dyn Fn(&mut Call) + Send + Sync;

/// A listener before a runner.
pub(crate) struct Front {
    port: u16,
    behind: Arc<Behind>,
}

struct Behind {
    runner: String,
    http: reqwest::Client,
    calls: Mutex<Vec<Call>>,
    alter: Mutex<Option<Box<Alter>>>,
    hurries: AtomicBool,
}

impl Front {
    /// Listens on a free port for the runner at this address.
    pub(crate) async fn before(runner: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let behind = Arc::new(Behind {
            runner,
            http: reqwest::Client::new(),
            calls: Mutex::default(),
            alter: Mutex::default(),
            hurries: AtomicBool::new(false),
        });
        let router = Router::new()
            .route(SHOP, get(async || Html("<!doctype html><title>Shop</title>")))
            .fallback(forward)
            .with_state(behind.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { port, behind }
    }

    /// An address on it.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Where those who are let in go: another origin, as it is in life.
    pub(crate) fn shop(&self) -> String {
        format!("http://localhost:{}{SHOP}", self.port)
    }

    /// Alters every answer of the API from now on.
    pub(crate) fn alter(&self, alter: impl Fn(&mut Call) + Send + Sync + 'static) {
        *self.behind.alter.lock().expect("no panic") = Some(Box::new(alter));
    }

    /// Calls everybody back sooner than the server would: for tests of something else than the pace.
    pub(crate) fn hurry(&self) {
        self.behind.hurries.store(true, Ordering::Relaxed);
    }

    /// Every call of the API that was answered, in the order of the answers.
    pub(crate) fn calls(&self) -> Vec<Call> {
        self.behind.calls.lock().expect("no panic").clone()
    }

    /// Waits until what was asked and answered is so, and returns it.
    pub(crate) async fn until(&self, what: &str, is_so: impl Fn(&[Call]) -> bool) -> Vec<Call> {
        let end = Instant::now() + BOUND;
        loop {
            let calls = self.calls();
            if is_so(&calls) {
                return calls;
            }
            assert!(
                Instant::now() < end,
                "never asked for in {BOUND:?}: {what}; but {calls:?}"
            );
            sleep(LOOK).await;
        }
    }
}

async fn forward(State(behind): State<Arc<Behind>>, request: Request) -> Response<Body> {
    let came = Instant::now();
    let (mut parts, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await.expect("a body");
    let path = parts.uri.path_and_query().expect("a path").to_string();
    parts.headers.remove(HOST);
    let answer = behind
        .http
        .request(parts.method.clone(), format!("{}{path}", behind.runner))
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
            came,
            answered: came,
            status,
            retry_after_seconds: None,
            body: serde_json::from_slice(&body).unwrap_or_default(),
        };
        if let Some(told) = call.body["retry_after_ms"].as_u64()
            && behind.hurries.load(Ordering::Relaxed)
        {
            call.body["retry_after_ms"] = told.min(HURRIED_MS).into();
        }
        if let Some(alter) = &*behind.alter.lock().expect("no panic") {
            alter(&mut call);
        }
        status = call.status;
        if !call.body.is_null() {
            body = call.body.to_string().into();
        }
        if let Some(seconds) = call.retry_after_seconds {
            headers.insert(RETRY_AFTER, seconds.into());
        }
        call.answered = Instant::now();
        behind.calls.lock().expect("no panic").push(call);
    }
    answer_with(status, headers, body.into())
}

fn answer_with(status: StatusCode, mut headers: HeaderMap, body: Body) -> Response<Body> {
    for of_the_other_connection in [CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING] {
        headers.remove(of_the_other_connection);
    }
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}
