//! A connection that is shared by every call of a process, to one server or to a cluster.

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
    manager: RwLock<ConnectionManager>,
}

impl Connection {
    /// Connects to `redis://`, `rediss://` (TLS), or with `+cluster` behind either scheme to a cluster.
    pub(super) async fn open(url: &str) -> Result<Self, LineError> {
        // Two crates in the tree bring two crypto providers; rustls wants to be told which. Being told twice is fine.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let link = if let Some((scheme, rest)) = url.split_once("+cluster://") {
            let client = ClusterClientBuilder::new(vec![format!("{scheme}://{rest}")])
                .connection_timeout(CONNECT_TIMEOUT)
                .response_timeout(RESPONSE_TIMEOUT)
                .build()
                .map_err(failed)?;
            Link::Cluster(Box::new(client.get_async_connection().await.map_err(failed)?))
        } else {
            let client = Client::open(url).map_err(failed)?;
            let manager = RwLock::new(connect(&client).await.map_err(failed)?);
            Link::Server(Arc::new(Server { client, manager }))
        };
        Ok(Self {
            link,
            opened: Instant::now(),
            last_used_ms: Arc::default(),
        })
    }

    /// The link to send on, pinged first and replaced where it was idle and is dead.
    pub(super) async fn link(&self) -> Result<Sender, LineError> {
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
                    current = connect(&server.client).await.map_err(failed)?;
                    *server.manager.write().unwrap_or_else(PoisonError::into_inner) = current.clone();
                }
                Ok(Sender::Server(current))
            }
        }
    }
}

async fn connect(client: &Client) -> Result<ConnectionManager, RedisError> {
    let config = ConnectionManagerConfig::new()
        .set_connection_timeout(Some(CONNECT_TIMEOUT))
        .set_response_timeout(Some(RESPONSE_TIMEOUT))
        // Whoever calls has a deadline and retries by itself; waiting here would only hide the outage.
        .set_number_of_retries(1);
    ConnectionManager::new_with_config(client.clone(), config).await
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
