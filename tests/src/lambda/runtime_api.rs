//! The runtime API of one environment: what its process asks over HTTP.

use std::{
    future::pending,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use axum::{
    Json, Router,
    body::Bytes,
    extract::{DefaultBodyLimit, Path, State},
    http::{HeaderName, StatusCode},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde_json::{Value, json};
use tokio::{
    net::TcpListener,
    sync::{mpsc, oneshot, watch},
    task::AbortHandle,
};
use uuid::Uuid;

use super::{Failure, lock};

/// The largest answer that Lambda takes, in bytes.
const ANSWER_BYTES: usize = 6 * 1024 * 1024;
const REQUEST_ID: HeaderName = HeaderName::from_static("lambda-runtime-aws-request-id");
const DEADLINE_MS: HeaderName = HeaderName::from_static("lambda-runtime-deadline-ms");
const FUNCTION_ARN: HeaderName = HeaderName::from_static("lambda-runtime-invoked-function-arn");
const TRACE_ID: HeaderName = HeaderName::from_static("lambda-runtime-trace-id");

type Answered = oneshot::Sender<Result<Bytes, Failure>>;

/// One invocation on its way to the process.
#[derive(Debug)]
struct Invocation {
    request_id: String,
    deadline_ms: u64,
    payload: Bytes,
    answered: Answered,
}

/// The listener that one process asks.
#[derive(Debug)]
pub(super) struct RuntimeApi {
    /// Host and port.
    pub(super) address: String,
    /// How far the process has come.
    pub(super) init: watch::Receiver<Init>,
    invocations: mpsc::Sender<Invocation>,
    serving: AbortHandle,
}

/// How far a process has come.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Init {
    /// It has not asked for an invocation yet.
    Under,
    /// It has.
    Done,
    /// It said that it cannot start.
    Failed(Value),
}

/// What the routes share.
struct Shared {
    function_arn: String,
    init: watch::Sender<Init>,
    waiting: tokio::sync::Mutex<mpsc::Receiver<Invocation>>,
    under_way: Mutex<Option<(String, Answered)>>,
    traces: AtomicU64,
}

impl RuntimeApi {
    pub(super) async fn listen(function: &str) -> Self {
        let (invocations, waiting) = mpsc::channel(1);
        let (init_sender, init) = watch::channel(Init::Under);
        let shared = Arc::new(Shared {
            function_arn: format!("arn:aws:lambda:us-east-1:000000000000:function:{function}"),
            init: init_sender,
            waiting: waiting.into(),
            under_way: Mutex::default(),
            traces: AtomicU64::new(1),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address").to_string();
        let serving = tokio::spawn(async move { axum::serve(listener, routes(shared)).await });
        Self {
            address,
            init,
            invocations,
            serving: serving.abort_handle(),
        }
    }

    /// Hands an invocation over; its answer comes by the receiver.
    pub(super) async fn hand_over(
        &self,
        payload: Bytes,
        timeout: Duration,
    ) -> oneshot::Receiver<Result<Bytes, Failure>> {
        let (answered, answer) = oneshot::channel();
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
        let deadline = since_1970 + timeout;
        let invocation = Invocation {
            request_id: Uuid::new_v4().to_string(),
            deadline_ms: u64::try_from(deadline.as_millis()).expect("not that late"),
            payload,
            answered,
        };
        // Where the listener is gone so is the process, and whoever waits for the answer watches that.
        let _ = self.invocations.send(invocation).await;
        answer
    }
}

impl Drop for RuntimeApi {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

fn routes(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/2018-06-01/runtime/invocation/next", get(next))
        .route(
            "/2018-06-01/runtime/invocation/{request_id}/response",
            post(response),
        )
        .route("/2018-06-01/runtime/invocation/{request_id}/error", post(error))
        .route("/2018-06-01/runtime/init/error", post(init_error))
        .layer(DefaultBodyLimit::max(ANSWER_BYTES))
        .with_state(shared)
}

async fn next(State(shared): State<Arc<Shared>>) -> Response {
    shared.init.send_replace(Init::Done);
    let Some(invocation) = shared.waiting.lock().await.recv().await else {
        // The environment is being ended: nothing comes any more.
        return pending().await;
    };
    let headers = [
        (REQUEST_ID, invocation.request_id.clone()),
        (DEADLINE_MS, invocation.deadline_ms.to_string()),
        (FUNCTION_ARN, shared.function_arn.clone()),
        (TRACE_ID, shared.trace_id(invocation.deadline_ms / 1_000)),
    ];
    *lock(&shared.under_way) = Some((invocation.request_id, invocation.answered));
    let json = [(axum::http::header::CONTENT_TYPE, "application/json")];
    (headers, json, invocation.payload).into_response()
}

async fn response(State(shared): State<Arc<Shared>>, Path(id): Path<String>, body: Bytes) -> Response {
    shared.answer(&id, Ok(body))
}

async fn error(State(shared): State<Arc<Shared>>, Path(id): Path<String>, body: Bytes) -> Response {
    shared.answer(&id, Err(Failure::Function(said(&body))))
}

async fn init_error(State(shared): State<Arc<Shared>>, body: Bytes) -> Response {
    shared.init.send_replace(Init::Failed(said(&body)));
    accepted()
}

fn said(body: &[u8]) -> Value {
    serde_json::from_slice(body).unwrap_or_else(|_| json!(String::from_utf8_lossy(body)))
}

fn accepted() -> Response {
    (StatusCode::ACCEPTED, Json(json!({ "status": "OK" }))).into_response()
}

impl Shared {
    fn answer(&self, id: &str, outcome: Result<Bytes, Failure>) -> Response {
        match lock(&self.under_way).take() {
            Some((under_way, answered)) if under_way == id => {
                // Whoever asked has given up, and says so elsewhere.
                let _ = answered.send(outcome);
                accepted()
            }
            other => {
                *lock(&self.under_way) = other;
                let body = json!({ "errorType": "InvalidRequestID", "errorMessage": "Invalid request ID" });
                (StatusCode::BAD_REQUEST, Json(body)).into_response()
            }
        }
    }

    fn trace_id(&self, at_seconds: u64) -> String {
        let count = self.traces.fetch_add(1, Ordering::Relaxed);
        format!("Root=1-{at_seconds:08x}-{count:024x};Parent={count:016x};Sampled=0")
    }
}
