//! The connection to one server or to a cluster. All calls of a process share it.

use std::{
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use redis::{
    Client,
    aio::{ConnectionManager, ConnectionManagerConfig},
};
use tokio::time::timeout;
use vestibule_line::{LineError, TickSubscription};

use super::{
    address::{Address, with_resp3},
    call_link::CallLink,
    cluster::Cluster,
    iam::IamLogin,
    line_error::to_line_error,
    subscriber::SubscriberPool,
    timeouts::{CONNECT_TIMEOUT, PING_AFTER_IDLE_MS, PING_TIMEOUT, RESPONSE_TIMEOUT},
};

/// The limit of one call with all of its steps: the ping of an old link, a new link, and the script. A
/// visitor's request waits for at most two calls and one read of the backup, and must end within 2 s.
const CALL_TIMEOUT: Duration = Duration::from_millis(600);

/// The connection that all clones of a [`RedisLine`](crate::RedisLine) share.
#[derive(Clone)]
pub(crate) struct Connection {
    topology: Topology,
    login: Option<IamLogin>,
    opened_at: Instant,
    last_used_ms: Arc<AtomicU64>,
    /// Whether the last call failed. The link may then be dead, or the server may be back and need a new
    /// link.
    is_suspect: Arc<AtomicBool>,
    subscriber: Arc<SubscriberPool>,
}

#[derive(Clone)]
enum Topology {
    Server(Arc<Server>),
    Cluster(Arc<Cluster>),
}

struct Server {
    client: Client,
    config: ConnectionManagerConfig,
    manager: RwLock<ConnectionManager>,
}

impl Connection {
    /// Prepares a connection to `url` (see [`Address::parse`]), which opens with the first call. It
    /// logs in with the tokens of `login`, or, without one, with the user and password of the
    /// address.
    pub(crate) fn new(url: &str, login: Option<IamLogin>) -> Result<Self, LineError> {
        // Two crates of the dependency tree bring a crypto provider each, so rustls needs an
        // explicit choice. A second call has no effect.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let address = Address::parse(url)
            .map_err(|error| LineError::Unavailable(format!("the address of the line {error}")))?;
        let link = if address.is_cluster {
            Topology::Cluster(Arc::new(Cluster::new(address, login.clone())?))
        } else {
            let client = address.server_client().map_err(to_line_error)?;
            let config = build_manager_config(login.as_ref());
            let manager = ConnectionManager::new_lazy_with_config(client.clone(), config.clone());
            Topology::Server(Arc::new(Server {
                client,
                config,
                manager: RwLock::new(manager.map_err(to_line_error)?),
            }))
        };
        Ok(Self {
            topology: link,
            login,
            opened_at: Instant::now(),
            last_used_ms: Arc::default(),
            is_suspect: Arc::default(),
            subscriber: Arc::default(),
        })
    }

    /// Prepares a connection to `url` as [`new`](Self::new) does, and opens it.
    pub(crate) async fn open(url: &str, login: Option<IamLogin>) -> Result<Self, LineError> {
        let connection = Self::new(url, login)?;
        match &connection.topology {
            Topology::Cluster(cluster) => drop(cluster.acquire_link(false).await?),
            Topology::Server(server) => drop(server.connect().await?),
        }
        Ok(connection)
    }

    /// Makes a call and gives up after [`CALL_TIMEOUT`]. Redis may have carried out a call that
    /// timed out.
    pub(crate) async fn call<T>(
        &self,
        call: impl AsyncFnOnce(CallLink) -> Result<T, LineError>,
    ) -> Result<T, LineError> {
        let outcome = timeout(CALL_TIMEOUT, async { call(self.acquire_link().await?).await })
            .await
            .unwrap_or_else(|_| Err(LineError::Unavailable("Redis did not answer in time".to_owned())));
        if let Err(LineError::Unavailable(_)) = &outcome {
            self.is_suspect.store(true, Ordering::Relaxed);
        }
        outcome
    }

    /// Subscribes to a channel on the server that has its slot. Subscriptions use a connection of
    /// their own.
    pub(crate) async fn subscribe(&self, channel: String) -> Result<TickSubscription, LineError> {
        if let Some(login) = &self.login {
            login.record_use();
        }
        let (server, client) = match &self.topology {
            Topology::Server(server) => (String::new(), with_resp3(&server.client)),
            Topology::Cluster(cluster) => {
                let owner = timeout(CALL_TIMEOUT, cluster.find_owner(&channel)).await;
                let owner = owner.unwrap_or_else(|_| {
                    let reason = "the cluster did not name the node of the channel in time";
                    Err(LineError::Unavailable(reason.to_owned()))
                })?;
                let client = cluster.subscriber_client(&owner);
                (owner, client)
            }
        };
        let client = client.map_err(to_line_error)?;
        self.subscriber
            .subscribe(&server, &client, self.login.as_ref(), channel)
            .await
    }

    /// The link to send on. If the link was idle or the last call failed, it is tested first, and
    /// replaced if it is dead.
    async fn acquire_link(&self) -> Result<CallLink, LineError> {
        if let Some(login) = &self.login {
            login.record_use();
        }
        let now_ms = u64::try_from(self.opened_at.elapsed().as_millis()).unwrap_or(u64::MAX);
        let idle =
            now_ms - self.last_used_ms.swap(now_ms, Ordering::Relaxed).min(now_ms) > PING_AFTER_IDLE_MS;
        let suspect = self.is_suspect.swap(false, Ordering::Relaxed);
        match &self.topology {
            Topology::Cluster(cluster) => {
                Ok(CallLink::Cluster(Box::new(cluster.acquire_link(suspect).await?)))
            }
            Topology::Server(server) => server.acquire_link(idle || suspect).await,
        }
    }
}

impl Server {
    async fn acquire_link(&self, is_suspect: bool) -> Result<CallLink, LineError> {
        let mut current = self
            .manager
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        if is_suspect && !is_alive(&mut current).await {
            current = self.connect().await?;
        }
        Ok(CallLink::Server(current))
    }

    async fn connect(&self) -> Result<ConnectionManager, LineError> {
        let new = ConnectionManager::new_with_config(self.client.clone(), self.config.clone())
            .await
            .map_err(to_line_error)?;
        *self.manager.write().unwrap_or_else(PoisonError::into_inner) = new.clone();
        Ok(new)
    }
}

async fn is_alive(link: &mut ConnectionManager) -> bool {
    let ping = redis::cmd("PING");
    let pinged = timeout(PING_TIMEOUT, ping.query_async::<()>(link)).await;
    pinged.is_ok_and(|answer| answer.is_ok())
}

fn build_manager_config(login: Option<&IamLogin>) -> ConnectionManagerConfig {
    let config = ConnectionManagerConfig::new()
        .set_connection_timeout(Some(CONNECT_TIMEOUT))
        .set_response_timeout(Some(RESPONSE_TIMEOUT))
        // The caller has a deadline and retries by itself. More retries here would only hide the outage.
        .set_number_of_retries(1);
    match login {
        Some(login) => config.set_credentials_provider(login.clone()),
        None => config,
    }
}
