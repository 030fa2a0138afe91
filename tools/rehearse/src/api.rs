//! Sends the requests of a rehearsal, over a bounded number of connections, and records each.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use http::{HeaderValue, Method, Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector, connect::dns::Name},
    rt::{TokioExecutor, TokioTimer},
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::{sync::Semaphore, time::timeout};
use tower::util::BoxCloneSyncService;

use crate::{ledger::Ledger, operation::Operation, service_access::ServiceAccess, target::AllowedHosts};

/// The timeout of a request, without the time that the server may hold it.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// A server may close a connection that is idle for longer. API Gateway and CDNs keep it for at least a minute.
const IDLE_MAX: Duration = Duration::from_secs(30);
/// More than any answer of the API.
const ANSWER_BYTES_MAX: usize = 1 << 20;
/// The code of a request without an answer, and of an answer that is no JSON of Vestibule.
const NO_ANSWER: &str = "no-answer";

type Addresses = std::vec::IntoIter<std::net::SocketAddr>;
type Resolver = BoxCloneSyncService<Name, Addresses, std::io::Error>;

/// Sends requests over a bounded number of connections that are used again.
pub(crate) struct HttpClient(Client<HttpsConnector<HttpConnector<Resolver>>, String>);

/// A request that was refused or got no answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Refusal {
    /// The status of the answer; 0 without an answer.
    pub(crate) status: u16,
    /// The stable code of the problem.
    pub(crate) code: String,
    /// `Retry-After`, in milliseconds; 0 without one.
    pub(crate) retry_after_ms: f64,
}

/// A request to the API.
pub(crate) struct ApiCall<'a> {
    /// What it asks.
    pub(crate) operation: Operation,
    /// The method.
    pub(crate) method: Method,
    /// The path behind that of the queue, with the query.
    pub(crate) path: String,
    /// The visitor id. A request without one may be answered by a cache.
    pub(crate) visitor: Option<&'a str>,
    /// The body.
    pub(crate) body: Option<Value>,
    /// For how long the server may hold the answer.
    pub(crate) hold: Duration,
}

/// The API of one queue.
pub(crate) struct Api {
    client: HttpClient,
    /// The URL of the queue for visitors.
    queue_url: String,
    /// The same for the protected service.
    service_queue_url: String,
    service: ServiceAccess,
    connections: Semaphore,
    /// Those for polls that the server may hold, so that a claim never queues behind them.
    held_connections: Semaphore,
    ledger: Arc<Ledger>,
}

impl HttpClient {
    /// A client of the allowed hosts that keeps at most so many idle connections. It follows no redirect, so the
    /// server cannot lead it elsewhere.
    pub(crate) fn new(allowed: AllowedHosts, connections: usize) -> std::io::Result<Self> {
        let resolve = move |name: Name| allowed.clone().resolve(name.as_str().to_owned());
        let mut http = HttpConnector::new_with_resolver(BoxCloneSyncService::new(tower::service_fn(resolve)));
        http.enforce_http(false);
        http.set_nodelay(true);
        http.set_connect_timeout(Some(ANSWER_TIMEOUT));
        let connector = HttpsConnectorBuilder::new()
            .with_native_roots()?
            .https_or_http()
            .enable_http1()
            .wrap_connector(http);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_MAX)
            .pool_max_idle_per_host(connections)
            .build(connector);
        Ok(Self(client))
    }

    /// Sends a request and reads the answer.
    pub(crate) async fn send(
        &self,
        request: Request<String>,
        within: Duration,
    ) -> Result<(http::response::Parts, Vec<u8>), Refusal> {
        let exchange = async {
            let (parts, body) = self.0.request(request).await.ok()?.into_parts();
            let body = Limited::new(body, ANSWER_BYTES_MAX).collect().await.ok()?;
            Some((parts, body.to_bytes().to_vec()))
        };
        timeout(within, exchange)
            .await
            .ok()
            .flatten()
            .ok_or_else(|| Refusal::without_answer(0))
    }
}

impl Refusal {
    fn without_answer(status: u16) -> Self {
        Self {
            status,
            code: NO_ANSWER.to_owned(),
            retry_after_ms: 0.0,
        }
    }

    fn from_answer(parts: &http::response::Parts, body: &[u8]) -> Self {
        let seconds = parts.headers.get(header::RETRY_AFTER);
        let seconds: Option<f64> = seconds.and_then(|value| value.to_str().ok()?.parse().ok());
        let problem: Value = serde_json::from_slice(body).unwrap_or_default();
        let status = parts.status.as_u16();
        let code = problem["code"].as_str();
        Self {
            status,
            code: code.map_or_else(|| format!("http-{status}"), str::to_owned),
            retry_after_ms: seconds.unwrap_or_default() * 1_000.0,
        }
    }

    /// Whether the client sends the request again: no answer, an answer of a proxy, or one that says to come back.
    pub(crate) fn is_retryable(&self) -> bool {
        self.status == 0 || self.status == StatusCode::TOO_MANY_REQUESTS.as_u16() || self.status >= 500
    }

    /// Whether the server has ended the visit.
    pub(crate) fn is_end_of_visit(&self) -> bool {
        self.status == StatusCode::GONE.as_u16()
    }
}

impl Api {
    /// The API of a queue, over at most so many connections, three quarters of them for held polls. `url` and `service_url`
    /// have no slash at the end.
    pub(crate) fn new(
        client: HttpClient,
        (url, service_url, queue): (&str, &str, &str),
        service: ServiceAccess,
        connections: usize,
        ledger: Arc<Ledger>,
    ) -> Self {
        Self {
            client,
            queue_url: format!("{url}/queues/{queue}"),
            service_queue_url: format!("{service_url}/queues/{queue}"),
            service,
            connections: Semaphore::new(connections.div_ceil(4)),
            held_connections: Semaphore::new((connections - connections.div_ceil(4)).max(1)),
            ledger,
        }
    }

    /// Whether the rehearsal can act as the protected service.
    pub(crate) fn has_service_access(&self) -> bool {
        self.service.is_available()
    }

    /// Sends a request whose answer has a body.
    pub(crate) async fn ask<T: DeserializeOwned>(&self, call: ApiCall<'_>) -> Result<T, Refusal> {
        let read = |body: Vec<u8>| serde_json::from_slice(&body).map_err(|_| Refusal::without_answer(200));
        self.send(call, read).await
    }

    /// Sends a request whose answer has no body.
    pub(crate) async fn tell(&self, call: ApiCall<'_>) -> Result<(), Refusal> {
        self.send(call, |_| Ok(())).await
    }

    async fn send<T>(
        &self,
        call: ApiCall<'_>,
        read: impl FnOnce(Vec<u8>) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let queued_at = Instant::now();
        let connections = if call.hold.is_zero() {
            &self.connections
        } else {
            &self.held_connections
        };
        // No semaphore is ever closed.
        let _connection = connections.acquire().await;
        let sent_at = Instant::now();
        self.ledger.record_queueing(sent_at - queued_at);
        let operation = call.operation;
        let answered = self.exchange(call).await.and_then(read);
        let code = answered.as_ref().err().map(|refusal| refusal.code.as_str());
        self.ledger.record(operation, sent_at.elapsed(), code);
        answered
    }

    async fn exchange(&self, call: ApiCall<'_>) -> Result<Vec<u8>, Refusal> {
        let within = ANSWER_TIMEOUT + call.hold;
        let is_of_service = call.operation.is_of_service();
        let mut request = self.build(call)?;
        if is_of_service {
            let proven = self.service.prove(&mut request).await;
            proven.map_err(|_| Refusal {
                code: "not-signed".to_owned(),
                ..Refusal::without_answer(0)
            })?;
        }
        let (parts, body) = self.client.send(request, within).await?;
        if parts.status.is_success() {
            Ok(body)
        } else {
            Err(Refusal::from_answer(&parts, &body))
        }
    }

    fn build(&self, call: ApiCall<'_>) -> Result<Request<String>, Refusal> {
        let base = if call.operation.is_of_service() {
            &self.service_queue_url
        } else {
            &self.queue_url
        };
        let uri: Uri = format!("{base}{}", call.path)
            .parse()
            .map_err(|_| Refusal::without_answer(0))?;
        let mut request = Request::builder().method(call.method).uri(uri);
        if let Some(visitor) = call.visitor {
            request = request.header("x-visitor-id", visitor);
        }
        if call.body.is_some() {
            let json = HeaderValue::from_static("application/json");
            request = request.header(header::CONTENT_TYPE, json);
        }
        let body = call.body.map(|body| body.to_string()).unwrap_or_default();
        request.body(body).map_err(|_| Refusal::without_answer(0))
    }
}
