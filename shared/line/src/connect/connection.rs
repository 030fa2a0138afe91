//! The connection to one server, to a cluster, or to the server inside this process. All calls of a process share it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Instant,
};

use redis::FromRedisValue;
#[cfg(feature = "test-hooks")]
use redis::Value;
use tokio::time::timeout;
#[cfg(feature = "embedded")]
use vestibule_line_embedded::EmbeddedServer;

#[cfg(feature = "embedded")]
use super::embedded;
#[cfg(feature = "test-hooks")]
use super::tap::{Tap, TappedRequest, hash_tag};
use super::{
    address::Address,
    call_link::CallLink,
    cluster::Cluster,
    iam::IamLogin,
    line_error::to_line_error,
    link_test::LinkTest,
    request::Request,
    server::Server,
    subscriber::SubscriberPool,
    subscriber_connection::SubscriptionServer,
    timeouts::{PING_AFTER_IDLE_MS, Timeouts},
};
use crate::{LineError, TickSubscription};

/// The connection that all clones of a [`Line`](crate::Line) share.
#[derive(Clone)]
pub(crate) struct Connection {
    topology: Topology,
    login: Option<IamLogin>,
    timeouts: &'static Timeouts,
    opened_at: Instant,
    last_used_ms: Arc<AtomicU64>,
    /// Whether the last call failed. The link may then be dead, or the server may be back and need a new
    /// link.
    is_suspect: Arc<AtomicBool>,
    subscriber: Arc<SubscriberPool>,
    #[cfg(feature = "test-hooks")]
    tap: Option<Arc<dyn Tap>>,
}

#[derive(Clone)]
enum Topology {
    Server(Arc<Server>),
    Cluster(Arc<Cluster>),
    #[cfg(feature = "embedded")]
    Embedded(EmbeddedServer),
}

impl Connection {
    /// Prepares a connection to `url` (see [`Address::parse`]), which opens with the first call. It
    /// logs in with the tokens of `login`, or, without one, with the user and password of the
    /// address.
    pub(crate) fn new(
        url: &str,
        login: Option<IamLogin>,
        timeouts: &'static Timeouts,
    ) -> Result<Self, LineError> {
        // Two crates of the dependency tree bring a crypto provider each, so rustls needs an
        // explicit choice. A second call has no effect.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let address = Address::parse(url)
            .map_err(|error| LineError::Unavailable(format!("the address of the line {error}")))?;
        let topology = if address.is_cluster {
            Topology::Cluster(Arc::new(Cluster::new(address, login.clone(), timeouts)?))
        } else {
            let server = Server::new(&address, login.as_ref(), timeouts).map_err(to_line_error)?;
            Topology::Server(Arc::new(server))
        };
        Ok(Self::from_topology(topology, login, timeouts))
    }

    /// A connection to a server inside this process, which never breaks.
    #[cfg(feature = "embedded")]
    pub(crate) fn to_embedded(server: EmbeddedServer) -> Self {
        Self::from_topology(Topology::Embedded(server), None, Timeouts::PRODUCTION)
    }

    fn from_topology(topology: Topology, login: Option<IamLogin>, timeouts: &'static Timeouts) -> Self {
        Self {
            topology,
            login,
            timeouts,
            opened_at: Instant::now(),
            last_used_ms: Arc::default(),
            is_suspect: Arc::default(),
            subscriber: Arc::default(),
            #[cfg(feature = "test-hooks")]
            tap: None,
        }
    }

    /// Puts a tap between this connection and the server.
    #[cfg(feature = "test-hooks")]
    pub(crate) fn with_tap(self, tap: Arc<dyn Tap>) -> Self {
        Self {
            tap: Some(tap),
            ..self
        }
    }

    /// Prepares a connection to `url` as [`new`](Self::new) does, and opens it.
    pub(crate) async fn open(
        url: &str,
        login: Option<IamLogin>,
        timeouts: &'static Timeouts,
    ) -> Result<Self, LineError> {
        let connection = Self::new(url, login, timeouts)?;
        match &connection.topology {
            Topology::Cluster(cluster) => drop(cluster.acquire_link(false).await?),
            Topology::Server(server) => server.open().await?,
            #[cfg(feature = "embedded")]
            Topology::Embedded(_) => {}
        }
        Ok(connection)
    }

    /// Sends a request and gives up after the time of a call. Redis may have carried out a request
    /// that timed out. If the server is a replica or loads its data, the request is sent a second
    /// time (see [`Server`]).
    pub(crate) async fn send<T: FromRedisValue>(&self, request: Request<'_>) -> Result<T, LineError> {
        #[cfg(feature = "test-hooks")]
        if let Some(tap) = &self.tap {
            let sending = Box::pin(self.send_within_limit(request));
            let answer = tap.answer(&request.describe(), sending).await?;
            return redis::from_redis_value(answer).map_err(|error| to_line_error(error.into()));
        }
        self.send_within_limit(request).await
    }

    async fn send_within_limit<T: FromRedisValue>(&self, request: Request<'_>) -> Result<T, LineError> {
        // The server inside this process answers at once, and its callers need no runtime with a timer, such as a simulation
        // on a virtual clock.
        #[cfg(feature = "embedded")]
        if matches!(self.topology, Topology::Embedded(_)) {
            return self.send_without_limit(request).await;
        }
        let outcome = timeout(self.timeouts.call, self.send_without_limit(request))
            .await
            .unwrap_or_else(|_| Err(LineError::Unavailable("Redis did not answer in time".to_owned())));
        if let Err(LineError::Unavailable(_)) = &outcome {
            self.is_suspect.store(true, Ordering::Relaxed);
        }
        outcome
    }

    /// Whether each connection logs in with a token of IAM.
    pub(crate) fn logs_in_by_iam(&self) -> bool {
        self.login.is_some()
    }

    /// How often this process left a server that another one replaced.
    pub(crate) fn departures(&self) -> u64 {
        match &self.topology {
            Topology::Server(server) => server.departures(),
            Topology::Cluster(cluster) => cluster.departures(),
            #[cfg(feature = "embedded")]
            Topology::Embedded(_) => 0,
        }
    }

    /// Subscribes to a channel on the server that has its slot. Subscriptions use a connection of
    /// their own.
    pub(crate) async fn subscribe(&self, channel: String) -> Result<TickSubscription, LineError> {
        #[cfg(feature = "test-hooks")]
        if let Some(tap) = &self.tap {
            let request = TappedRequest {
                name: "subscribe".to_owned(),
                queue: hash_tag(channel.as_bytes()),
            };
            let mut subscription = None;
            let sending = Box::pin(async {
                subscription = Some(self.subscribe_untapped(channel).await?);
                Ok(Value::Nil)
            });
            tap.answer(&request, sending).await?;
            let missing = || LineError::Unavailable("the tap sent no subscription".to_owned());
            return subscription.ok_or_else(missing);
        }
        self.subscribe_untapped(channel).await
    }

    async fn subscribe_untapped(&self, channel: String) -> Result<TickSubscription, LineError> {
        if let Some(login) = &self.login {
            login.record_use();
        }
        let server = match &self.topology {
            Topology::Server(server) => SubscriptionServer {
                name: String::new(),
                client: server.subscriber_client().map_err(to_line_error)?,
                link_test: LinkTest::Write,
                departures: Some(server.watch_departures()),
            },
            Topology::Cluster(cluster) => {
                let owner = timeout(self.timeouts.call, cluster.find_owner(&channel)).await;
                let owner = owner.unwrap_or_else(|_| {
                    let reason = "the cluster did not name the node of the channel in time";
                    Err(LineError::Unavailable(reason.to_owned()))
                })?;
                SubscriptionServer {
                    client: cluster.subscriber_client(&owner).map_err(to_line_error)?,
                    name: owner,
                    link_test: LinkTest::Ping,
                    departures: None,
                }
            }
            #[cfg(feature = "embedded")]
            Topology::Embedded(server) => return Ok(embedded::subscribe(server, &channel)),
        };
        self.subscriber
            .subscribe(server, self.login.as_ref(), channel)
            .await
    }

    /// Sends a request. If the link was idle or the last call failed, the link is tested first, and
    /// replaced if it is dead.
    async fn send_without_limit<T: FromRedisValue>(&self, request: Request<'_>) -> Result<T, LineError> {
        if let Some(login) = &self.login {
            login.record_use();
        }
        let now_ms = u64::try_from(self.opened_at.elapsed().as_millis()).unwrap_or(u64::MAX);
        let idle =
            now_ms - self.last_used_ms.swap(now_ms, Ordering::Relaxed).min(now_ms) > PING_AFTER_IDLE_MS;
        let suspect = self.is_suspect.swap(false, Ordering::Relaxed);
        match &self.topology {
            Topology::Server(server) => server.send(request, idle || suspect).await,
            Topology::Cluster(cluster) => {
                let link = cluster.acquire_link(suspect).await?;
                request
                    .send(CallLink::Cluster(Box::new(link)))
                    .await
                    .map_err(to_line_error)
            }
            #[cfg(feature = "embedded")]
            Topology::Embedded(server) => request
                .send(CallLink::Embedded(server.clone()))
                .await
                .map_err(to_line_error),
        }
    }
}
