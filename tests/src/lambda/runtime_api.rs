//! The runtime API of one environment, which its process calls over HTTP.

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

use super::{InvocationError, Order, lock};

/// The largest answer that Lambda accepts.
const ANSWER_MAX_BYTES: usize = 6 * 1024 * 1024;
const REQUEST_ID: HeaderName = HeaderName::from_static("lambda-runtime-aws-request-id");
const DEADLINE_MS: HeaderName = HeaderName::from_static("lambda-runtime-deadline-ms");
const FUNCTION_ARN: HeaderName = HeaderName::from_static("lambda-runtime-invoked-function-arn");
const TRACE_ID: HeaderName = HeaderName::from_static("lambda-runtime-trace-id");
const CLIENT_CONTEXT: HeaderName = HeaderName::from_static("lambda-runtime-client-context");

type AnswerSender = oneshot::Sender<Result<Bytes, InvocationError>>;

/// One invocation on its way to the process.
#[derive(Debug)]
struct Invocation {
    request_id: String,
    deadline_ms: u64,
    order: Order,
    answer_sender: AnswerSender,
}

/// The server that one process calls.
#[derive(Debug)]
pub(super) struct RuntimeApi {
    /// The host and port.
    pub(super) address: String,
    /// The state of the process.
    pub(super) init: watch::Receiver<InitState>,
    invocations: mpsc::Sender<Invocation>,
    server: AbortHandle,
}

/// The state of a process.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum InitState {
    /// The process has not asked for an invocation yet.
    Starting,
    /// The process has asked for an invocation.
    Ready,
    /// The process reported that it cannot start.
    Failed(Value),
}

/// The state that the routes share.
struct ApiState {
    function_arn: String,
    init: watch::Sender<InitState>,
    pending_invocations: tokio::sync::Mutex<mpsc::Receiver<Invocation>>,
    current: Mutex<Option<(String, AnswerSender)>>,
    trace_count: AtomicU64,
}

impl RuntimeApi {
    pub(super) async fn listen(function: &str) -> Self {
        let (invocations, pending_invocations) = mpsc::channel(1);
        let (init_sender, init) = watch::channel(InitState::Starting);
        let shared = Arc::new(ApiState {
            function_arn: format!("arn:aws:lambda:us-east-1:000000000000:function:{function}"),
            init: init_sender,
            pending_invocations: pending_invocations.into(),
            current: Mutex::default(),
            trace_count: AtomicU64::new(1),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address").to_string();
        let server = tokio::spawn(async move { axum::serve(listener, routes(shared)).await });
        Self {
            address,
            init,
            invocations,
            server: server.abort_handle(),
        }
    }

    /// Hands an invocation to the process. The receiver gets the answer.
    pub(super) async fn hand_over_invocation(
        &self,
        order: Order,
        timeout: Duration,
    ) -> oneshot::Receiver<Result<Bytes, InvocationError>> {
        let (answer_sender, answer) = oneshot::channel();
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
        let deadline = since_1970 + timeout;
        let invocation = Invocation {
            request_id: Uuid::new_v4().to_string(),
            deadline_ms: u64::try_from(deadline.as_millis()).expect("the time fits into 64 bits"),
            order,
            answer_sender,
        };
        // Sending fails only if the process is gone, and the caller watches the process.
        let _ = self.invocations.send(invocation).await;
        answer
    }
}

impl Drop for RuntimeApi {
    fn drop(&mut self) {
        self.server.abort();
    }
}

fn routes(shared: Arc<ApiState>) -> Router {
    Router::new()
        .route("/2018-06-01/runtime/invocation/next", get(next_invocation))
        .route(
            "/2018-06-01/runtime/invocation/{request_id}/response",
            post(receive_response),
        )
        .route(
            "/2018-06-01/runtime/invocation/{request_id}/error",
            post(receive_error),
        )
        .route("/2018-06-01/runtime/init/error", post(receive_init_error))
        .layer(DefaultBodyLimit::max(ANSWER_MAX_BYTES))
        .with_state(shared)
}

async fn next_invocation(State(shared): State<Arc<ApiState>>) -> Response {
    shared.init.send_replace(InitState::Ready);
    let Some(invocation) = shared.pending_invocations.lock().await.recv().await else {
        // The environment is ending, so no further invocation comes.
        return pending().await;
    };
    let alias = invocation.order.alias;
    let arn = alias.map_or_else(
        || shared.function_arn.clone(),
        |alias| format!("{}:{alias}", shared.function_arn),
    );
    let headers = [
        (REQUEST_ID, invocation.request_id.clone()),
        (DEADLINE_MS, invocation.deadline_ms.to_string()),
        (FUNCTION_ARN, arn),
        (TRACE_ID, shared.next_trace_id(invocation.deadline_ms / 1_000)),
    ];
    *lock(&shared.current) = Some((invocation.request_id, invocation.answer_sender));
    let json = [(axum::http::header::CONTENT_TYPE, "application/json")];
    let mut response = (headers, json, invocation.order.payload).into_response();
    if let Some(client_context) = invocation.order.client_context {
        response.headers_mut().insert(CLIENT_CONTEXT, client_context);
    }
    response
}

async fn receive_response(
    State(shared): State<Arc<ApiState>>,
    Path(id): Path<String>,
    body: Bytes,
) -> Response {
    shared.send_answer(&id, Ok(body))
}

async fn receive_error(State(shared): State<Arc<ApiState>>, Path(id): Path<String>, body: Bytes) -> Response {
    shared.send_answer(&id, Err(InvocationError::Function(parse_error_body(&body))))
}

async fn receive_init_error(State(shared): State<Arc<ApiState>>, body: Bytes) -> Response {
    shared
        .init
        .send_replace(InitState::Failed(parse_error_body(&body)));
    accepted_response()
}

fn parse_error_body(body: &[u8]) -> Value {
    serde_json::from_slice(body).unwrap_or_else(|_| json!(String::from_utf8_lossy(body)))
}

fn accepted_response() -> Response {
    (StatusCode::ACCEPTED, Json(json!({ "status": "OK" }))).into_response()
}

impl ApiState {
    fn send_answer(&self, id: &str, outcome: Result<Bytes, InvocationError>) -> Response {
        match lock(&self.current).take() {
            Some((current, answer_sender)) if current == id => {
                // Sending fails only if the caller gave up, and the caller reports that itself.
                let _ = answer_sender.send(outcome);
                accepted_response()
            }
            other => {
                *lock(&self.current) = other;
                let body = json!({ "errorType": "InvalidRequestID", "errorMessage": "Invalid request ID" });
                (StatusCode::BAD_REQUEST, Json(body)).into_response()
            }
        }
    }

    fn next_trace_id(&self, at_seconds: u64) -> String {
        let count = self.trace_count.fetch_add(1, Ordering::Relaxed);
        format!("Root=1-{at_seconds:08x}-{count:024x};Parent={count:016x};Sampled=0")
    }
}
