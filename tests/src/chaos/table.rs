//! The road from a function to the table: a network, and behind it something that reads requests, throttles, and has a
//! function killed at the moment of a write.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use tokio::{net::TcpListener, task::AbortHandle};

use super::tcp::{Flow, Network};
use crate::lambda::Lambda;

const TARGET: &str = "x-amz-target";
/// No trap.
const NONE: u32 = 0;
/// A trap for the next write before the table hears of it.
const BEFORE: u32 = 1;
/// A trap for the next write once the table has it.
const AFTER: u32 = 2;

/// The road of one function.
#[derive(Debug)]
pub(super) struct Road {
    network: Network,
    toll: Arc<Toll>,
    serving: AbortHandle,
}

/// What reads the requests.
#[derive(Debug)]
struct Toll {
    function: &'static str,
    table_url: String,
    http: reqwest::Client,
    /// So many requests of a hundred are throttled.
    throttled_percent: AtomicU32,
    trap: AtomicU32,
    lambda: std::sync::OnceLock<Lambda>,
}

impl Road {
    /// The road of a function to the table at an address.
    pub(super) async fn to(table_url: &str, function: &'static str) -> Self {
        let toll = Arc::new(Toll {
            function,
            table_url: table_url.to_owned(),
            http: reqwest::Client::new(),
            throttled_percent: AtomicU32::new(0),
            trap: AtomicU32::new(NONE),
            lambda: std::sync::OnceLock::new(),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address: SocketAddr = listener.local_addr().expect("an address");
        let router = Router::new().fallback(pass).with_state(toll.clone());
        let serving = tokio::spawn(async move { axum::serve(listener, router).await });
        Self {
            network: Network::before(address).await,
            toll,
            serving: serving.abort_handle(),
        }
    }

    /// Where the function finds the table.
    pub(super) fn url(&self) -> String {
        format!("http://{}", self.network.address)
    }

    /// Whose processes a trap kills.
    pub(super) fn leads_from(&self, lambda: &Lambda) {
        self.toll.lambda.set(lambda.clone()).expect("said once");
    }

    /// From now on the network is like this.
    pub(super) fn set(&self, flow: Flow) {
        self.network.set(flow);
    }

    /// From now on so many requests of a hundred are throttled.
    pub(super) fn throttle(&self, percent: u32) {
        self.toll.throttled_percent.store(percent, Ordering::SeqCst);
    }

    /// The next write has every process of the function killed.
    pub(super) fn set_trap(&self, written: bool) {
        let trap = if written { AFTER } else { BEFORE };
        self.toll.trap.store(trap, Ordering::SeqCst);
    }

    /// Takes a trap away that nobody met.
    pub(super) fn clear_trap(&self) {
        self.toll.trap.store(NONE, Ordering::SeqCst);
    }
}

impl Drop for Road {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn pass(State(toll): State<Arc<Toll>>, headers: HeaderMap, body: Bytes) -> Response {
    let draw: u32 = rand::random_range(0..100);
    if draw < toll.throttled_percent.load(Ordering::SeqCst) {
        return throttled();
    }
    let target = headers.get(TARGET).and_then(|target| target.to_str().ok());
    let is_write = target.is_some_and(|target| {
        let operation = target.rsplit('.').next().unwrap_or_default();
        ["PutItem", "UpdateItem", "TransactWriteItems", "BatchWriteItem"].contains(&operation)
    });
    let trap = if is_write {
        toll.trap.swap(NONE, Ordering::SeqCst)
    } else {
        NONE
    };
    if trap == BEFORE {
        toll.kill();
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    }
    let answer = toll.forward(headers, body).await;
    if trap == AFTER {
        toll.kill();
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    }
    answer
}

impl Toll {
    fn kill(&self) {
        if let Some(lambda) = self.lambda.get() {
            lambda.kill(self.function);
        }
    }

    async fn forward(&self, mut headers: HeaderMap, body: Bytes) -> Response {
        for name in [header::HOST, header::CONTENT_LENGTH, header::CONNECTION] {
            headers.remove(name);
        }
        let request = self.http.post(&self.table_url).headers(headers).body(body);
        let Ok(answer) = request.send().await else {
            return StatusCode::BAD_GATEWAY.into_response();
        };
        let (status, mut headers) = (answer.status(), answer.headers().clone());
        for name in [
            header::TRANSFER_ENCODING,
            header::CONTENT_LENGTH,
            header::CONNECTION,
        ] {
            headers.remove(name);
        }
        match answer.bytes().await {
            Ok(bytes) => (status, headers, Body::from(bytes)).into_response(),
            Err(_) => StatusCode::BAD_GATEWAY.into_response(),
        }
    }
}

/// As the service says it.
fn throttled() -> Response {
    let body = r#"{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException","message":"The level of configured provisioned throughput for the table was exceeded."}"#;
    let json = [(header::CONTENT_TYPE, "application/x-amz-json-1.0")];
    (StatusCode::BAD_REQUEST, json, body).into_response()
}
