//! The door of a deployment: requests over HTTP.

use std::{future::Future, io, net::SocketAddr, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use http::{HeaderValue, Method, Request, Uri, header};
use http_body_util::{BodyExt, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{
        Client,
        connect::{
            HttpConnector,
            dns::{GaiResolver, Name},
        },
    },
    rt::{TokioExecutor, TokioTimer},
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::timeout;
use tower::{ServiceExt, service_fn, util::BoxCloneSyncService};
use vestibule_wire::{Entry, PublicDocument};

use crate::{
    door::{Caller, Door, ProtectedService},
    rules::Refusal,
};

/// The timeout of a request, without the time that the server may hold it.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// A server may close a connection that is idle for longer. API Gateway and CDNs keep it for at least a minute.
const IDLE_MAX: Duration = Duration::from_secs(30);
/// More than any answer of the API.
const ANSWER_BYTES_MAX: usize = 1 << 20;

/// The addresses of a host.
pub type Addresses = std::vec::IntoIter<SocketAddr>;
/// Finds the addresses of a host.
pub type Resolver = BoxCloneSyncService<Name, Addresses, io::Error>;

/// A resolver that calls `find` with the name of a host.
pub fn resolver<F, A>(find: F) -> Resolver
where
    F: Fn(String) -> A + Clone + Send + Sync + 'static,
    A: Future<Output = io::Result<Addresses>> + Send + 'static,
{
    BoxCloneSyncService::new(service_fn(move |name: Name| find(name.as_str().to_owned())))
}

/// Sends requests over connections that are used again. It follows no redirect, so a server cannot lead it elsewhere.
#[derive(Debug, Clone)]
pub struct HttpClient(Client<HttpsConnector<HttpConnector<Resolver>>, String>);

/// What the protected service adds to a request to prove itself.
pub trait Proof: Send + Sync {
    /// Adds it.
    ///
    /// # Errors
    /// The request cannot be proven, for this reason.
    fn prove<'a>(&'a self, request: &'a mut Request<String>) -> BoxFuture<'a, Result<(), String>>;
}

/// Nothing: the API asks for nothing.
#[derive(Debug, Clone, Copy)]
pub struct NoProof;

impl Proof for NoProof {
    fn prove<'a>(&'a self, _: &'a mut Request<String>) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async { Ok(()) })
    }
}

/// A header with a secret, such as an API key.
#[derive(Debug, Clone)]
pub struct HeaderProof(pub http::HeaderName, pub HeaderValue);

impl Proof for HeaderProof {
    fn prove<'a>(&'a self, request: &'a mut Request<String>) -> BoxFuture<'a, Result<(), String>> {
        request.headers_mut().insert(self.0.clone(), self.1.clone());
        Box::pin(async { Ok(()) })
    }
}

impl HttpClient {
    /// A client that keeps at most so many idle connections to each host.
    ///
    /// # Errors
    /// The certificates of the machine cannot be read.
    pub fn new(connections: usize) -> io::Result<Self> {
        let resolve = GaiResolver::new().map_response(|found| found.collect::<Vec<_>>().into_iter());
        Self::with_resolver(BoxCloneSyncService::new(resolve), connections)
    }

    /// A client that asks `resolver` where a host is.
    ///
    /// # Errors
    /// The certificates of the machine cannot be read.
    pub fn with_resolver(resolver: Resolver, connections: usize) -> io::Result<Self> {
        let mut http = HttpConnector::new_with_resolver(resolver);
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
    ///
    /// # Errors
    /// [`Refusal::NO_ANSWER`] if no answer, or too long a one, comes in time.
    pub async fn send(
        &self,
        request: Request<String>,
        within: Duration,
    ) -> Result<(http::response::Parts, Vec<u8>), Refusal> {
        let exchange = async {
            let (parts, body) = self.0.request(request).await.ok()?.into_parts();
            let body = Limited::new(body, ANSWER_BYTES_MAX).collect().await.ok()?;
            Some((parts, body.to_bytes().to_vec()))
        };
        let answered = timeout(within, exchange).await.ok().flatten();
        answered.ok_or(Refusal::NO_ANSWER)
    }
}

/// The API of one queue.
pub struct HttpDoor {
    client: HttpClient,
    /// The URL of the queue for visitors, without a slash at the end.
    queue_url: String,
    /// The same for the protected service.
    service_queue_url: String,
    proof: Arc<dyn Proof>,
}

/// A request to the API.
struct ApiCall<'a> {
    is_of_service: bool,
    method: Method,
    /// The path behind that of the queue, with the query.
    path: String,
    visitor: Option<&'a str>,
    body: Option<Value>,
    /// For how long the server may hold the answer.
    hold: Duration,
}

impl HttpDoor {
    /// The API of the queue at this URL, which has no slash at the end.
    pub fn new(client: HttpClient, queue_url: String) -> Self {
        Self {
            client,
            service_queue_url: queue_url.clone(),
            queue_url,
            proof: Arc::new(NoProof),
        }
    }

    /// The same, with another URL and a proof for the protected service.
    #[must_use]
    pub fn with_service(mut self, service_queue_url: String, proof: impl Proof + 'static) -> Self {
        (self.service_queue_url, self.proof) = (service_queue_url, Arc::new(proof));
        self
    }

    async fn ask<T: DeserializeOwned>(&self, call: ApiCall<'_>) -> Result<T, Refusal> {
        let body = self.exchange(call).await?;
        serde_json::from_slice(&body).map_err(|_| Refusal::NO_ANSWER)
    }

    async fn exchange(&self, call: ApiCall<'_>) -> Result<Vec<u8>, Refusal> {
        let within = ANSWER_TIMEOUT + call.hold;
        let is_of_service = call.is_of_service;
        let mut request = self.build(call)?;
        if is_of_service {
            self.proof
                .prove(&mut request)
                .await
                .map_err(|_| Refusal::NO_ANSWER)?;
        }
        let (parts, body) = self.client.send(request, within).await?;
        if parts.status.is_success() {
            return Ok(body);
        }
        let seconds = parts.headers.get(header::RETRY_AFTER);
        let seconds: Option<f64> = seconds.and_then(|value| value.to_str().ok()?.parse().ok());
        let retry_after_ms = seconds.unwrap_or_default() * 1_000.0;
        Err(Refusal::from_answer(parts.status.as_u16(), retry_after_ms, &body))
    }

    fn build(&self, call: ApiCall<'_>) -> Result<Request<String>, Refusal> {
        let base = if call.is_of_service {
            &self.service_queue_url
        } else {
            &self.queue_url
        };
        let uri: Uri = format!("{base}{}", call.path)
            .parse()
            .map_err(|_| Refusal::NO_ANSWER)?;
        let mut request = Request::builder().method(call.method).uri(uri);
        if let Some(visitor) = call.visitor {
            request = request.header("x-visitor-id", visitor);
        }
        if call.body.is_some() {
            let json = HeaderValue::from_static("application/json");
            request = request.header(header::CONTENT_TYPE, json);
        }
        let body = call.body.map(|body| body.to_string()).unwrap_or_default();
        request.body(body).map_err(|_| Refusal::NO_ANSWER)
    }
}

impl<'a> ApiCall<'a> {
    fn of_visitor(method: Method, path: String, caller: &'a Caller) -> Self {
        Self {
            is_of_service: false,
            body: (method == Method::POST).then(|| json!({})),
            method,
            path,
            visitor: caller.visitor.as_deref(),
            hold: Duration::ZERO,
        }
    }

    fn of_service(path: String, body: Value) -> Self {
        Self {
            is_of_service: true,
            method: Method::POST,
            path,
            visitor: None,
            body: Some(body),
            hold: Duration::ZERO,
        }
    }
}

impl Door for HttpDoor {
    async fn enter(&self, caller: &Caller) -> Result<Entry, Refusal> {
        let mut call = ApiCall::of_visitor(Method::POST, "/entries".to_owned(), caller);
        if let Some(ticket) = &caller.ticket {
            call.body = Some(json!({ "ticket": ticket }));
        }
        self.ask(call).await
    }

    async fn status(&self, caller: &Caller, token: &str, hold_seconds: u32) -> Result<Entry, Refusal> {
        let query = match hold_seconds {
            0 => String::new(),
            seconds => format!("?wait={seconds}"),
        };
        let call = ApiCall::of_visitor(Method::GET, format!("/entries/{token}{query}"), caller);
        let hold = Duration::from_secs(hold_seconds.into());
        self.ask(ApiCall { hold, ..call }).await
    }

    async fn document(&self) -> Result<Arc<PublicDocument>, Refusal> {
        // No header of its own, so that any cache may answer it.
        let unnamed = Caller::default();
        let document = self
            .ask(ApiCall::of_visitor(Method::GET, String::new(), &unnamed))
            .await?;
        Ok(Arc::new(document))
    }

    async fn claim(&self, caller: &Caller, token: &str) -> Result<Entry, Refusal> {
        self.ask(ApiCall::of_visitor(
            Method::POST,
            format!("/entries/{token}/claim"),
            caller,
        ))
        .await
    }

    async fn leave(&self, caller: &Caller, token: &str, visit: u64) -> Result<(), Refusal> {
        let path = format!("/entries/{token}?visit={visit}");
        self.exchange(ApiCall::of_visitor(Method::DELETE, path, caller))
            .await
            .map(drop)
    }
}

impl ProtectedService for HttpDoor {
    async fn validate(&self, caller: &Caller, token: &str, visit: u64) -> Result<(), Refusal> {
        let body = json!({ "visitor": caller.visitor, "visit": visit });
        self.exchange(ApiCall::of_service(format!("/entries/{token}/validate"), body))
            .await
            .map(drop)
    }

    async fn complete(&self, token: &str, visit: u64) -> Result<(), Refusal> {
        let body = json!({ "visit": visit });
        self.exchange(ApiCall::of_service(format!("/entries/{token}/complete"), body))
            .await
            .map(drop)
    }

    async fn extend(&self, caller: &Caller, token: &str, visit: u64) -> Result<Entry, Refusal> {
        let mut call = ApiCall::of_visitor(Method::POST, format!("/entries/{token}/extend"), caller);
        call.body = Some(json!({ "visit": visit }));
        self.ask(call).await
    }
}
