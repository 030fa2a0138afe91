//! A connection that is shared by every call of a process, to one server or to a cluster.

mod address;
mod cluster;
mod iam;
mod subscriber;

use std::{
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use redis::{
    Client, Cmd, Pipeline, RedisError, RedisFuture, Value,
    aio::{ConnectionLike, ConnectionManager, ConnectionManagerConfig},
    cluster_async::ClusterConnection,
};
use tokio::time::timeout;
use vestibule_line::{Changes, LineError};

use self::{address::hearing, cluster::Cluster, subscriber::Subscriber};
pub use self::{
    address::{Address, AddressError},
    iam::{IamLogin, IamUser, WallClock},
};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
const RESPONSE_TIMEOUT: Duration = Duration::from_millis(500);
/// One call with all that it may need: a look whether an old link is alive, a new one, the script. What somebody waits for
/// is at most two of these and a read of the backup, and that within 2 s.
const CALL_TIMEOUT: Duration = Duration::from_millis(600);
/// The look whether an old link is alive. A link that is only slow is replaced, which does no harm.
const PING_TIMEOUT: Duration = Duration::from_millis(200);
/// A socket that was not used for so long may be dead without knowing it: a Lambda thaws with those it froze with. The
/// client of a cluster sees to its many connections itself: it replaces one that broke and sends again.
const IDLE_MS: u64 = 5_000;

/// What clones of a [`RedisLine`](super::RedisLine) share.
#[derive(Clone)]
pub(super) struct Connection {
    link: Link,
    login: Option<IamLogin>,
    opened: Instant,
    last_used_ms: Arc<AtomicU64>,
    /// The last call failed: the link may be dead, or the server may have come back on another one.
    suspect: Arc<AtomicBool>,
    subscriber: Arc<Subscriber>,
}

#[derive(Clone)]
enum Link {
    Server(Arc<Server>),
    Cluster(Arc<Cluster>),
}

struct Server {
    client: Client,
    config: ConnectionManagerConfig,
    manager: RwLock<ConnectionManager>,
}

impl Connection {
    /// Knows where to connect to ([`Address::parse`]), and does so with the first call; with a login's tokens where there is
    /// one, else with what the address says.
    pub(super) fn new(url: &str, login: Option<IamLogin>) -> Result<Self, LineError> {
        // Two crates in the tree bring two crypto providers; rustls wants to be told which. Being told twice is fine.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let address = Address::parse(url)
            .map_err(|error| LineError::Unavailable(format!("the address of the line {error}")))?;
        let link = if address.is_cluster {
            Link::Cluster(Arc::new(Cluster::new(address, login.clone())?))
        } else {
            let client = address.server().map_err(failed)?;
            let config = manager_config(login.as_ref());
            let manager = ConnectionManager::new_lazy_with_config(client.clone(), config.clone());
            Link::Server(Arc::new(Server {
                client,
                config,
                manager: RwLock::new(manager.map_err(failed)?),
            }))
        };
        Ok(Self {
            link,
            login,
            opened: Instant::now(),
            last_used_ms: Arc::default(),
            suspect: Arc::default(),
            subscriber: Arc::default(),
        })
    }

    /// The same, connected.
    pub(super) async fn open(url: &str, login: Option<IamLogin>) -> Result<Self, LineError> {
        let connection = Self::new(url, login)?;
        match &connection.link {
            Link::Cluster(cluster) => drop(cluster.link(false).await?),
            Link::Server(server) => drop(server.connect().await?),
        }
        Ok(connection)
    }

    /// Makes a call, and gives up on it when [`CALL_TIMEOUT`] has passed. Whether it was carried out is not known then.
    pub(super) async fn call<T>(
        &self,
        call: impl AsyncFnOnce(Sender) -> Result<T, LineError>,
    ) -> Result<T, LineError> {
        let outcome = timeout(CALL_TIMEOUT, async { call(self.link().await?).await })
            .await
            .unwrap_or_else(|_| Err(LineError::Unavailable("no answer in time".to_owned())));
        if let Err(LineError::Unavailable(_)) = &outcome {
            self.suspect.store(true, Ordering::Relaxed);
        }
        outcome
    }

    /// Listens to a channel, on the server that has it, by a connection of its own.
    pub(super) async fn listen(&self, channel: String) -> Result<Changes, LineError> {
        if let Some(login) = &self.login {
            login.note_use();
        }
        let (server, client) = match &self.link {
            Link::Server(server) => (String::new(), hearing(&server.client)),
            Link::Cluster(cluster) => {
                let owner = timeout(CALL_TIMEOUT, cluster.owner(&channel)).await;
                let owner =
                    owner.unwrap_or_else(|_| Err(LineError::Unavailable("no answer in time".to_owned())))?;
                let client = cluster.subscriber(&owner);
                (owner, client)
            }
        };
        let client = client.map_err(failed)?;
        self.subscriber
            .listen(&server, &client, self.login.as_ref(), channel)
            .await
    }

    /// The link to send on, pinged first and replaced where it was idle, or failed, and is dead.
    async fn link(&self) -> Result<Sender, LineError> {
        if let Some(login) = &self.login {
            login.note_use();
        }
        let now_ms = u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX);
        let idle = now_ms - self.last_used_ms.swap(now_ms, Ordering::Relaxed).min(now_ms) > IDLE_MS;
        let suspect = self.suspect.swap(false, Ordering::Relaxed);
        match &self.link {
            Link::Cluster(cluster) => Ok(Sender::Cluster(Box::new(cluster.link(suspect).await?))),
            Link::Server(server) => server.link(idle || suspect).await,
        }
    }
}

impl Server {
    async fn link(&self, doubted: bool) -> Result<Sender, LineError> {
        let mut current = self
            .manager
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        if doubted && !is_alive(&mut current).await {
            current = self.connect().await?;
        }
        Ok(Sender::Server(current))
    }

    async fn connect(&self) -> Result<ConnectionManager, LineError> {
        let new = ConnectionManager::new_with_config(self.client.clone(), self.config.clone())
            .await
            .map_err(failed)?;
        *self.manager.write().unwrap_or_else(PoisonError::into_inner) = new.clone();
        Ok(new)
    }
}

async fn is_alive(link: &mut ConnectionManager) -> bool {
    let ping = redis::cmd("PING");
    let pinged = timeout(PING_TIMEOUT, ping.query_async::<()>(link)).await;
    pinged.is_ok_and(|answer| answer.is_ok())
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
