//! A connection that is shared by every call of a process, to one server or to a cluster.

mod iam;

use std::{
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use redis::{
    Client, Cmd, Pipeline, RedisError, RedisFuture, Value,
    aio::{ConnectionLike, ConnectionManager, ConnectionManagerConfig},
    cluster::ClusterClientBuilder,
    cluster_async::ClusterConnection,
};

pub use self::iam::{IamLogin, IamUser, WallClock};
use crate::line::LineError;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
const RESPONSE_TIMEOUT: Duration = Duration::from_millis(500);
/// A socket that was not used for so long may be dead without knowing it: a Lambda thaws with those it froze with. The
/// client of a cluster sees to its many connections itself: it replaces a dead one and sends again.
const IDLE_MS: u64 = 5_000;

/// What clones of a [`RedisLine`](super::RedisLine) share.
#[derive(Clone)]
pub(super) struct Connection {
    link: Link,
    login: Option<IamLogin>,
    opened: Instant,
    last_used_ms: Arc<AtomicU64>,
}

#[derive(Clone)]
enum Link {
    Server(Arc<Server>),
    Cluster(Box<ClusterConnection>),
}

struct Server {
    client: Client,
    config: ConnectionManagerConfig,
    manager: RwLock<ConnectionManager>,
}

impl Connection {
    /// Connects to `redis://`, `rediss://` (TLS), or with `+cluster` behind either scheme to a cluster; with a login's
    /// tokens where there is one, else with what the address says.
    pub(super) async fn open(url: &str, login: Option<IamLogin>) -> Result<Self, LineError> {
        // Two crates in the tree bring two crypto providers; rustls wants to be told which. Being told twice is fine.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let link = if let Some((scheme, rest)) = url.split_once("+cluster://") {
            Link::Cluster(Box::new(
                cluster(format!("{scheme}://{rest}"), login.as_ref()).await?,
            ))
        } else {
            let client = Client::open(url).map_err(failed)?;
            let config = manager_config(login.as_ref());
            let manager = RwLock::new(connect(&client, &config).await?);
            Link::Server(Arc::new(Server {
                client,
                config,
                manager,
            }))
        };
        Ok(Self {
            link,
            login,
            opened: Instant::now(),
            last_used_ms: Arc::default(),
        })
    }

    /// The link to send on, pinged first and replaced where it was idle and is dead.
    pub(super) async fn link(&self) -> Result<Sender, LineError> {
        if let Some(login) = &self.login {
            login.note_use();
        }
        let now_ms = u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX);
        let idle = now_ms - self.last_used_ms.swap(now_ms, Ordering::Relaxed).min(now_ms) > IDLE_MS;
        match &self.link {
            Link::Cluster(cluster) => Ok(Sender::Cluster(cluster.clone())),
            Link::Server(server) => {
                let mut current = server
                    .manager
                    .read()
                    .unwrap_or_else(PoisonError::into_inner)
                    .clone();
                if idle && redis::cmd("PING").query_async::<()>(&mut current).await.is_err() {
                    current = connect(&server.client, &server.config).await?;
                    *server.manager.write().unwrap_or_else(PoisonError::into_inner) = current.clone();
                }
                Ok(Sender::Server(current))
            }
        }
    }
}

async fn cluster(url: String, login: Option<&IamLogin>) -> Result<ClusterConnection, LineError> {
    let mut builder = ClusterClientBuilder::new(vec![url])
        .connection_timeout(CONNECT_TIMEOUT)
        .response_timeout(RESPONSE_TIMEOUT);
    if let Some(login) = login {
        builder = builder.set_credentials_provider(login.clone());
    }
    let client = builder.build().map_err(failed)?;
    client.get_async_connection().await.map_err(failed)
}

fn manager_config(login: Option<&IamLogin>) -> ConnectionManagerConfig {
    let config = ConnectionManagerConfig::new()
        .set_connection_timeout(Some(CONNECT_TIMEOUT))
        .set_response_timeout(Some(RESPONSE_TIMEOUT))
        // Whoever calls has a deadline and retries by itself; waiting here would only hide the outage.
        .set_number_of_retries(1);
    match login {
        Some(login) => config.set_credentials_provider(login.clone()),
        None => config,
    }
}

async fn connect(client: &Client, config: &ConnectionManagerConfig) -> Result<ConnectionManager, LineError> {
    ConnectionManager::new_with_config(client.clone(), config.clone())
        .await
        .map_err(failed)
}

/// What one call sends on.
pub(super) enum Sender {
    Server(ConnectionManager),
    Cluster(Box<ClusterConnection>),
}

impl ConnectionLike for Sender {
    fn req_packed_command<'a>(&'a mut self, cmd: &'a Cmd) -> RedisFuture<'a, Value> {
        match self {
            Self::Server(server) => server.req_packed_command(cmd),
            Self::Cluster(cluster) => cluster.req_packed_command(cmd),
        }
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        commands: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        match self {
            Self::Server(server) => server.req_packed_commands(commands, offset, count),
            Self::Cluster(cluster) => cluster.req_packed_commands(commands, offset, count),
        }
    }

    fn get_db(&self) -> i64 {
        match self {
            Self::Server(server) => server.get_db(),
            Self::Cluster(cluster) => cluster.get_db(),
        }
    }
}

/// What a failed call means. An answer of the server that is an error of ours makes no sense; anything else may pass.
#[allow(clippy::needless_pass_by_value)] // For `map_err(failed)`.
pub(super) fn failed(error: RedisError) -> LineError {
    let ours = ["ERR", "WRONGTYPE", "NOPERM", "CROSSSLOT"];
    if error.is_timeout() || error.is_io_error() || !error.code().is_some_and(|code| ours.contains(&code)) {
        LineError::Unavailable(error.to_string())
    } else {
        LineError::Nonsense(error.to_string())
    }
}
