//! A small server with the API of one queue, whose answers the test sets. It records the requests, and serves the
//! scripts of the waiting page.

use std::{
    path::Path as FilePath,
    sync::{Arc, Mutex},
    time::Instant,
};

use axum::{
    Json, Router,
    extract::{Path, Request, State},
    http::{HeaderMap, Method, StatusCode, header::CONTENT_TYPE},
    middleware::{Next, from_fn_with_state},
    response::{Html, IntoResponse, Response},
    routing::{get, post},
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, time::sleep};

use crate::tab::{BOUND, LOOK_PAUSE};

/// A page with the client library alone, for an API of another origin.
const LIBRARY_PAGE: &str = r#"<!doctype html><title>Library</title><script type="module">
    import { joinQueue } from "/vestibule.js";
    const base = new URLSearchParams(location.search).get("base");
    joinQueue({ queue: "q", base });
</script>"#;

/// A request to the API.
#[derive(Debug, Clone)]
pub(crate) struct ApiRequest {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) received: Instant,
}

impl ApiRequest {
    /// Whether the request reads the public document.
    pub(crate) fn is_document(&self) -> bool {
        self.method == Method::GET && self.path == "/queues/q"
    }

    /// Whether the request reads the status of the entry.
    pub(crate) fn is_poll(&self) -> bool {
        self.method == Method::GET && self.path.contains("/entries/")
    }

    /// Whether a browser asks what CORS allows.
    pub(crate) fn is_preflight(&self) -> bool {
        self.method == Method::OPTIONS
    }
}

/// The server.
pub(crate) struct FakeApi {
    port: u16,
    state: Arc<ApiAnswers>,
}

#[derive(Default)]
struct ApiAnswers {
    requests: Mutex<Vec<ApiRequest>>,
    document: Mutex<Value>,
    entry: Mutex<Value>,
    claim: Mutex<Value>,
}

impl FakeApi {
    /// Starts a server on a free port.
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let state = Arc::new(ApiAnswers::default());
        let api = Router::new()
            .route("/queues/q", get(answer_document).options(allow))
            .route("/queues/q/entries", post(answer_entry).options(allow))
            .route("/queues/q/entries/t", get(answer_entry).options(allow))
            .route("/queues/q/entries/t/claim", post(answer_claim).options(allow))
            .layer(from_fn_with_state(state.clone(), record_request))
            .with_state(state.clone());
        let router = api
            .route("/", get(async || Html(include_str!("../../../web/index.html"))))
            .route("/library", get(async || Html(LIBRARY_PAGE)))
            .route("/{file}", get(serve_file));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { port, state }
    }

    /// The URL of a path on the server.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Sets the public document. The server adds the time.
    pub(crate) fn set_document(&self, document: Value) {
        *self.state.document.lock().expect("the mutex is not poisoned") = document;
    }

    /// Sets the answer to entering and to a status request.
    pub(crate) fn set_entry(&self, entry: Value) {
        *self.state.entry.lock().expect("the mutex is not poisoned") = entry;
    }

    /// Sets the answer to a claim.
    pub(crate) fn set_claim(&self, entry: Value) {
        *self.state.claim.lock().expect("the mutex is not poisoned") = entry;
    }

    /// All requests to the API, in order.
    pub(crate) fn requests(&self) -> Vec<ApiRequest> {
        self.state
            .requests
            .lock()
            .expect("the mutex is not poisoned")
            .clone()
    }

    /// Waits until so many requests of a kind have come after the first `skipped` requests of any kind.
    pub(crate) async fn wait_for(&self, count: usize, skipped: usize, is_of_kind: fn(&ApiRequest) -> bool) {
        let end = Instant::now() + BOUND;
        let found = || {
            let requests = self.requests();
            requests
                .iter()
                .skip(skipped)
                .filter(|request| is_of_kind(request))
                .count()
        };
        while found() < count {
            assert!(Instant::now() < end, "the requests are {:?}", self.requests());
            sleep(LOOK_PAUSE).await;
        }
    }
}

async fn record_request(State(state): State<Arc<ApiAnswers>>, request: Request, next: Next) -> Response {
    let recorded = ApiRequest {
        method: request.method().clone(),
        path: request.uri().path().to_owned(),
        headers: request.headers().clone(),
        received: Instant::now(),
    };
    state
        .requests
        .lock()
        .expect("the mutex is not poisoned")
        .push(recorded);
    let mut response = next.run(request).await;
    let allow_any = "*".parse().expect("a header value");
    response
        .headers_mut()
        .insert("Access-Control-Allow-Origin", allow_any);
    response
}

async fn allow() -> impl IntoResponse {
    let headers = [
        ("Access-Control-Allow-Methods", "GET, POST, DELETE"),
        ("Access-Control-Allow-Headers", "X-Visitor-Id, Content-Type"),
        // Each request has a preflight of its own if it needs one.
        ("Access-Control-Max-Age", "0"),
    ];
    (StatusCode::NO_CONTENT, headers)
}

async fn answer_document(State(state): State<Arc<ApiAnswers>>) -> Json<Value> {
    let mut document = state.document.lock().expect("the mutex is not poisoned").clone();
    let requests = state.requests.lock().expect("the mutex is not poisoned").len();
    document["now_ms"] = json!(1_000 * requests);
    Json(document)
}

async fn answer_entry(State(state): State<Arc<ApiAnswers>>) -> Json<Value> {
    Json(state.entry.lock().expect("the mutex is not poisoned").clone())
}

async fn answer_claim(State(state): State<Arc<ApiAnswers>>) -> Json<Value> {
    Json(state.claim.lock().expect("the mutex is not poisoned").clone())
}

/// Serves the files of the page and the bundles of the library from their folders.
async fn serve_file(Path(name): Path<String>) -> Response {
    let web = FilePath::new(env!("CARGO_MANIFEST_DIR")).join("../web");
    let bundle = web.join("client/dist").join(&name);
    let path = if bundle.exists() { bundle } else { web.join(name) };
    let is_script = path.extension().is_some_and(|extension| extension == "js");
    let kind = if is_script { "text/javascript" } else { "text/css" };
    match std::fs::read_to_string(path) {
        Ok(text) => ([(CONTENT_TYPE, kind)], text).into_response(),
        Err(_) => StatusCode::NOT_FOUND.into_response(),
    }
}
