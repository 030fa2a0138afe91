//! The HTTP API from outside, whichever backend serves it.

// A harness panics where a test is to fail.
#![allow(clippy::missing_panics_doc)]

mod differences;
mod door;
mod guest;
mod operator;
mod queue;
mod request;
mod response;

use std::{env, future::Future, sync::Arc, time::Duration};

use reqwest::{Client, RequestBuilder, Response, Url};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{net::TcpListener, sync::watch};
use uuid::Uuid;
use vestibule_admin::Admin;
use vestibule_api::config::{ApiConfig, Origins};
use vestibule_backup_file::FileBackup;
use vestibule_engine::sync::SettingsPolicy;
use vestibule_line::Line;

use self::operator::Operator;
pub use self::{
    differences::BackendKind,
    door::{ApiDoor, Transport},
    guest::{Guest, new_visitor_id},
    queue::Queue,
    request::ApiRequest,
    response::ApiResponse,
};
use crate::{
    functions::{API_KEY, Deployment, DeploymentConfig, ORIGIN, fresh_tables, root_key},
    in_process::{build_router, local_config},
    lines,
    own_redis::OwnRedis,
    runner::Runner,
    servers::{client_for_url, dynamodb_url},
    stack::sign_request,
};

/// The longest time that a request or a change may take. A container may have to start first.
pub const BOUND: Duration = Duration::from_mins(1);

/// A running API, and the way to its operator's commands.
#[derive(Debug)]
pub struct Backend {
    /// How the API runs.
    pub kind: BackendKind,
    base: Url,
    http: Client,
    service: Option<Credential>,
    allowed_origin: Option<String>,
    operator: Operator,
    _dir: Option<TempDir>,
    _redis: Option<OwnRedis>,
    /// Its routes answer held polls when this is dropped.
    _shutdown: Option<watch::Sender<bool>>,
}

/// How the protected service proves itself.
#[derive(Debug)]
enum Credential {
    ApiKey(String),
    /// A signature with the credentials of the environment.
    Signature,
}

/// Returns the URL of the running API that the environment names.
pub fn running_api_url() -> Option<String> {
    env::var("TEST_API_URL").ok().filter(|url| !url.is_empty())
}

impl Backend {
    /// Starts a backend, or connects to the one that runs.
    pub async fn open(kind: BackendKind) -> Self {
        match kind {
            BackendKind::InProcess => Self::start_in_process().await,
            BackendKind::Runner => Self::start_runner(kind, &[]),
            BackendKind::RunnerWithServers => {
                let tables = fresh_tables();
                let redis = OwnRedis::start();
                let servers = [
                    "--redis",
                    &redis.url(),
                    "--dynamodb",
                    &dynamodb_url(),
                    "--queues-table",
                    &tables.queues,
                    "--entries-table",
                    &tables.entries,
                ];
                Self {
                    _redis: Some(redis),
                    ..Self::start_runner(kind, &servers)
                }
            }
            BackendKind::Functions | BackendKind::FunctionsOnCluster => Self::start_functions(kind).await,
            BackendKind::SamLocal | BackendKind::MiniStack | BackendKind::ApiGateway => {
                Self::connect_to_running(kind).await
            }
        }
    }

    async fn start_in_process() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let line = Line::in_process();
        let backup = Arc::new(FileBackup::open(dir.path().join("store")).expect("a store"));
        let config = ApiConfig {
            origins: Origins::Listed(vec![ORIGIN.parse().expect("an origin")]),
            ..local_config()
        };
        let (shutdown, shutdown_receiver) = watch::channel(false);
        let policy = SettingsPolicy::from(&config);
        let router = build_router(line.clone(), backup.clone(), config, &shutdown_receiver);
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        tokio::spawn(async move { axum::serve(listener, router).await });
        let admin = Admin {
            line,
            backup,
            root_key: root_key().into(),
            policy,
            signing_keys: crate::functions::fixed_signing_keys(),
        };
        Self {
            allowed_origin: Some(ORIGIN.to_owned()),
            _dir: Some(dir),
            _shutdown: Some(shutdown),
            ..Self::at(BackendKind::InProcess, &url, Operator::Library(admin))
        }
    }

    fn start_runner(kind: BackendKind, servers: &[&str]) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let arguments = [&["--demo-visitors", "0"], servers].concat();
        let runner = Runner::start(dir.path(), &arguments).expect("it starts");
        let url = runner.url("");
        Self {
            _dir: Some(dir),
            ..Self::at(kind, &url, Operator::Runner(runner))
        }
    }

    async fn start_functions(kind: BackendKind) -> Self {
        let line = match kind {
            BackendKind::FunctionsOnCluster => lines::Backend::Cluster,
            _ => lines::Backend::Redis,
        };
        let choices = DeploymentConfig {
            line,
            ..DeploymentConfig::default()
        };
        let deployment = Deployment::start(choices).await;
        let url = deployment.url().to_owned();
        Self {
            service: Some(Credential::ApiKey(API_KEY.to_owned())),
            allowed_origin: Some(ORIGIN.to_owned()),
            ..Self::at(kind, &url, Operator::Function(deployment))
        }
    }

    async fn connect_to_running(kind: BackendKind) -> Self {
        let url = running_api_url().expect("TEST_API_URL is set");
        let variable = |name| env::var(name).ok().filter(|value| !value.is_empty());
        Self {
            service: variable("TEST_API_KEY")
                .map(Credential::ApiKey)
                .or_else(|| variable("TEST_API_SIGNED").map(|_| Credential::Signature)),
            allowed_origin: variable("TEST_CORS_ORIGIN"),
            ..Self::at(kind, &url, Operator::with_servers_of_environment().await)
        }
    }

    fn at(kind: BackendKind, url: &str, operator: Operator) -> Self {
        let base = format!("{}/", url.trim_end_matches('/'));
        Self {
            kind,
            base: base.parse().expect("a URL"),
            // A test follows the redirects of pages itself.
            http: client_for_url(url)
                .redirect(reqwest::redirect::Policy::none())
                .timeout(BOUND)
                .build()
                .expect("a client"),
            service: None,
            allowed_origin: None,
            operator,
            _dir: None,
            _redis: None,
            _shutdown: None,
        }
    }

    /// Creates a queue with a new id.
    pub async fn create_queue(&self, settings: Value) -> Queue<'_> {
        loop {
            let queue = Queue {
                backend: self,
                id: format!("test:{}", Uuid::new_v4()),
            };
            queue
                .run_command(json!({ "op": "create", "settings": settings }))
                .await;
            // A promoter may find the queue in the backup before the line has it, and restore it as after a loss,
            // with an empty bucket. Then the queue lets no visitor in at once, and the tests cannot use it.
            let stats = queue.run_command(json!({ "op": "stats" })).await;
            if stats["bucket_tokens"].as_u64().expect("a number") > 0 {
                return queue;
            }
        }
    }

    /// Creates a queue of capacity 1 whose only place, and with it the only token of the bucket, is taken. Another
    /// entry becomes ready when the returned guest ends the visit and a promotion follows.
    pub async fn create_full_queue(&self, mut settings: Value) -> (Queue<'_>, Guest) {
        for (name, value) in [("capacity", 1), ("batch", 1), ("interval_seconds", 1)] {
            settings
                .as_object_mut()
                .expect("an object")
                .entry(name)
                .or_insert(value.into());
        }
        let queue = self.create_queue(settings).await;
        let (first, entered) = queue.enter_and_expect_created().await;
        assert_eq!(entered.text("state"), "active");
        (queue, first)
    }

    /// Sends a request. Its path starts below the stage.
    pub async fn send(&self, request: ApiRequest) -> ApiResponse {
        send(&self.http, self.base.as_str(), request).await
    }

    /// Sends a request of the protected service.
    pub async fn send_as_service(&self, request: ApiRequest) -> ApiResponse {
        match &self.service {
            Some(Credential::ApiKey(key)) => self.send(request.header("x-api-key", key)).await,
            Some(Credential::Signature) => {
                let request = into_http(&self.http, self.base.as_str(), request).build();
                let signed = sign_request("execute-api", request.expect("a request"));
                read_response(self.http.execute(signed)).await
            }
            None => self.send(request).await,
        }
    }

    /// Requests the `Location` of the response to a request for this path.
    pub async fn follow_location(&self, path: &str, response: &ApiResponse) -> ApiResponse {
        let asked: Url = build_url(self.base.as_str(), path).parse().expect("a URL");
        let url = asked.join(response.header("location")).expect("a URL");
        read_response(self.http.get(url).send()).await
    }

    /// Whether a gateway guards the routes of the protected service.
    pub fn guards_service_routes(&self) -> bool {
        self.service.is_some()
    }

    /// Returns the origin of its own pages. Behind a gateway it is one with TLS.
    pub fn own_origin(&self) -> String {
        let scheme = if self.kind.has_no_gateway() {
            "http"
        } else {
            "https"
        };
        let host = self.base.host_str().unwrap_or_default();
        match self.base.port() {
            Some(port) => format!("{scheme}://{host}:{port}"),
            None => format!("{scheme}://{host}"),
        }
    }

    /// Returns an origin whose pages may call, if the backend allows one.
    pub fn allowed_origin(&self) -> Option<&str> {
        self.allowed_origin.as_deref()
    }
}

/// Sends a request to an API at this URL.
pub async fn send(http: &Client, base: &str, request: ApiRequest) -> ApiResponse {
    read_response(into_http(http, base, request).send()).await
}

fn into_http(http: &Client, base: &str, request: ApiRequest) -> RequestBuilder {
    let (method, path, headers, body) = request.into_parts();
    http.request(method, build_url(base, &path))
        .headers(headers)
        .body(body)
}

/// Joined as text, so that nothing in the path is encoded anew.
fn build_url(base: &str, path: &str) -> String {
    format!("{}{path}", base.trim_end_matches('/'))
}

async fn read_response(response: impl Future<Output = reqwest::Result<Response>>) -> ApiResponse {
    let response = response.await.expect("a response");
    let (status, headers) = (response.status(), response.headers().clone());
    let body = response.bytes().await.expect("a complete body");
    ApiResponse::new(status, headers, &body)
}
