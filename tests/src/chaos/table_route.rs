//! The route from a function to the table: a network, and a proxy that reads requests. The proxy can throttle
//! and fail, and can kill the function at the moment of a write.

use std::{
    net::SocketAddr,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU32, Ordering},
    },
};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode, Uri, header},
    response::{IntoResponse, Response},
};
use tokio::{net::TcpListener, task::AbortHandle};

use crate::{
    aws_calls::{CallRecorder, Emulator},
    functions::Deployment,
    lambda::Lambda,
    network::{Network, NetworkState},
};

const TARGET: &str = "x-amz-target";
/// No trap is set.
const NO_TRAP: u32 = 0;
/// The function is killed before its next write reaches the table.
const TRAP_BEFORE_WRITE: u32 = 1;
/// The function is killed after its next write reached the table.
const TRAP_AFTER_WRITE: u32 = 2;

/// The route of one function.
#[derive(Debug)]
pub(super) struct TableRoute {
    network: Network,
    proxy: Arc<Proxy>,
    serving: AbortHandle,
}

/// The proxy that reads the requests.
#[derive(Debug)]
struct Proxy {
    function: &'static str,
    emulator: Emulator,
    /// The percentage of requests that are throttled.
    throttled_percent: AtomicU32,
    /// The percentage of requests that fail with status 500.
    failing_percent: AtomicU32,
    trap: AtomicU32,
    /// Is absent until the deployment exists, which sends no request before.
    deployment: OnceLock<(Lambda, Arc<CallRecorder>)>,
}

impl TableRoute {
    /// Opens the route of a function to the table at this URL.
    pub(super) async fn open(table_url: &str, function: &'static str) -> Self {
        let proxy = Arc::new(Proxy {
            function,
            emulator: Emulator::at(table_url),
            throttled_percent: AtomicU32::new(0),
            failing_percent: AtomicU32::new(0),
            trap: AtomicU32::new(NO_TRAP),
            deployment: OnceLock::new(),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let address: SocketAddr = listener.local_addr().expect("the listener has an address");
        let router = Router::new().fallback(handle_request).with_state(proxy.clone());
        let serving = tokio::spawn(async move { axum::serve(listener, router).await });
        Self {
            network: Network::open_before(address).await,
            proxy,
            serving: serving.abort_handle(),
        }
    }

    /// The URL of the table for the function.
    pub(super) fn url(&self) -> String {
        format!("http://{}", self.network.address)
    }

    /// Sets the deployment, whose processes a trap kills, and which records the calls of its functions.
    pub(super) fn set_deployment(&self, deployment: &Deployment) {
        self.proxy
            .deployment
            .set((deployment.lambda.clone(), deployment.call_recorder()))
            .expect("the deployment is set once");
    }

    /// Sets the state of the network.
    pub(super) fn set_network(&self, state: NetworkState) {
        self.network.set_state(state);
    }

    /// Sets the percentage of requests that are throttled.
    pub(super) fn throttle(&self, percent: u32) {
        self.proxy.throttled_percent.store(percent, Ordering::SeqCst);
    }

    /// Sets the percentage of requests that fail with status 500.
    pub(super) fn fail(&self, percent: u32) {
        self.proxy.failing_percent.store(percent, Ordering::SeqCst);
    }

    /// Sets a trap: the next write kills all processes of the function.
    pub(super) fn set_trap(&self, written: bool) {
        let trap = if written {
            TRAP_AFTER_WRITE
        } else {
            TRAP_BEFORE_WRITE
        };
        self.proxy.trap.store(trap, Ordering::SeqCst);
    }

    /// Removes a trap that no write has triggered.
    pub(super) fn clear_trap(&self) {
        self.proxy.trap.store(NO_TRAP, Ordering::SeqCst);
    }
}

impl Drop for TableRoute {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn handle_request(
    State(proxy): State<Arc<Proxy>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let target = headers.get(TARGET).and_then(|target| target.to_str().ok());
    if let Some((_, recorder)) = proxy.deployment.get()
        && let Err(unknown) = recorder.record(proxy.function, target, uri.path(), &body)
    {
        return unknown.into_response();
    }
    let draw: u32 = rand::random_range(0..100);
    if draw < proxy.throttled_percent.load(Ordering::SeqCst) {
        return throttled_answer();
    }
    if draw < proxy.failing_percent.load(Ordering::SeqCst) {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    }
    let is_write = target.is_some_and(|target| {
        let operation = target.rsplit('.').next().unwrap_or_default();
        ["PutItem", "UpdateItem", "TransactWriteItems", "BatchWriteItem"].contains(&operation)
    });
    let trap = if is_write {
        proxy.trap.swap(NO_TRAP, Ordering::SeqCst)
    } else {
        NO_TRAP
    };
    if trap == TRAP_BEFORE_WRITE {
        proxy.kill();
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    }
    let answer = proxy.emulator.forward(headers, body).await;
    if trap == TRAP_AFTER_WRITE {
        proxy.kill();
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    }
    answer
}

impl Proxy {
    fn kill(&self) {
        if let Some((lambda, _)) = self.deployment.get() {
            lambda.kill(self.function);
        }
    }
}

/// The answer of DynamoDB to a throttled request.
fn throttled_answer() -> Response {
    let body = r#"{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException","message":"The level of configured provisioned throughput for the table was exceeded."}"#;
    let json = [(header::CONTENT_TYPE, "application/x-amz-json-1.0")];
    (StatusCode::BAD_REQUEST, json, body).into_response()
}
