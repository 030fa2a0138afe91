//! One client for all nodes of a cluster. It is replaced when it no longer follows the layout of
//! the cluster.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use redis::{
    Client, RedisResult,
    cluster::ClusterClient,
    cluster_async::ClusterConnection,
    cluster_routing::{Route, RoutingInfo, SingleNodeRoutingInfo, Slot, SlotAddr},
};
use tokio::{sync::Mutex, time::sleep};

use super::{
    address::Address,
    cluster_nodes::{ClusterNodes, cluster_slots, find_slot_owner},
    iam::IamLogin,
    line_error::to_line_error,
    timeouts::Timeouts,
};
use crate::LineError;

const RETRIES: u32 = 4;
const RETRY_MIN_MS: u64 = 20;
const RETRY_MAX_MS: u64 = 150;
/// The pause between two tests whether the client reaches every primary.
const RENEWAL_PAUSE: Duration = Duration::from_secs(1);

pub(super) struct Cluster {
    address: Address,
    login: Option<IamLogin>,
    timeouts: &'static Timeouts,
    /// The current client. `None` until a node answers for the first time.
    current: RwLock<Option<ClusterConnection>>,
    /// Locked while a task makes the first client, so that only one task does (single-flight).
    connect_lock: Arc<Mutex<()>>,
    /// Whether a task already tests the current client and replaces it if needed.
    is_renewing: AtomicBool,
    /// How often the client was replaced because a primary did not answer.
    departures: AtomicU64,
}

impl Cluster {
    pub(super) fn new(
        address: Address,
        login: Option<IamLogin>,
        timeouts: &'static Timeouts,
    ) -> Result<Self, LineError> {
        let cluster = Self {
            address,
            login,
            timeouts,
            current: RwLock::default(),
            connect_lock: Arc::default(),
            is_renewing: AtomicBool::default(),
            departures: AtomicU64::default(),
        };
        // Builds a client once, so that a bad address is an error now and not with the first call.
        cluster.build_client(&BTreeSet::new()).map_err(to_line_error)?;
        Ok(cluster)
    }

    /// The link to send on. If the link is `doubted`, the call still uses it, because there is no
    /// better one. A task of its own tests the link and replaces it, because that takes longer than
    /// a call may.
    pub(super) async fn acquire_link(
        self: &Arc<Self>,
        is_suspect: bool,
    ) -> Result<ClusterConnection, LineError> {
        let Some(link) = self.current_link() else {
            return self.connect_first().await;
        };
        if is_suspect && !self.is_renewing.swap(true, Ordering::AcqRel) {
            let (cluster, link) = (Arc::clone(self), link.clone());
            tokio::spawn(async move {
                cluster.replace_if_unreachable(link).await;
                // If the whole cluster is slow, more new links would make it slower.
                sleep(RENEWAL_PAUSE).await;
                cluster.is_renewing.store(false, Ordering::Release);
            });
        }
        Ok(link)
    }

    /// Finds the primary that has a key, as `host:port`. It asks the node that this client takes for the
    /// primary. If that node has handed the slot of the key over, it knows the new primary.
    pub(super) async fn find_owner(self: &Arc<Self>, key: &str) -> Result<String, LineError> {
        let slot = Slot::for_key(key);
        let route = Route::with_slot(slot, SlotAddr::Master);
        let owner = RoutingInfo::SingleNode(SingleNodeRoutingInfo::SpecificNode(route));
        let mut link = self.acquire_link(false).await?;
        let said = link
            .route_command(cluster_slots(), owner)
            .await
            .map_err(to_line_error)?;
        find_slot_owner(slot, &said).ok_or_else(|| {
            let reason = "no node of the Redis cluster serves the slot of the queue; check `CLUSTER SLOTS`";
            LineError::Unavailable(reason.to_owned())
        })
    }

    /// Makes a client of one node (`host:port`) that can receive published messages.
    pub(super) fn subscriber_client(&self, node: &str) -> RedisResult<Client> {
        self.address.subscriber_client(node)
    }

    fn current_link(&self) -> Option<ClusterConnection> {
        self.current
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Makes the first link. A task of its own connects, and the calls wait for it. The task
    /// continues when they give up, because connecting takes longer than a call may if one of the
    /// nodes in the address does not answer.
    async fn connect_first(self: &Arc<Self>) -> Result<ClusterConnection, LineError> {
        if let Ok(opening) = Arc::clone(&self.connect_lock).try_lock_owned() {
            let cluster = Arc::clone(self);
            let made = tokio::spawn(async move {
                let _opening = opening;
                let new = cluster.connect(&BTreeSet::new()).await.map_err(to_line_error)?;
                cluster.set_current(&new);
                Ok(new)
            });
            return made.await.map_err(|error| {
                LineError::Unavailable(format!(
                    "the task that connects to the Redis cluster failed: {error}"
                ))
            })?;
        }
        drop(self.connect_lock.lock().await);
        self.current_link()
            .ok_or_else(|| LineError::Unavailable("no node of the Redis cluster answers".to_owned()))
    }

    /// Replaces the client if it does not reach every primary.
    ///
    /// The client replaces a link that breaks, and follows a redirect to another node. A silent
    /// node gives neither a broken link nor a redirect. So the client would continue to send to it
    /// even after another node took its place.
    ///
    /// If a primary does not answer, this method makes a new client from the nodes that the other
    /// nodes name. The new client takes over once it reaches every primary. Until a node takes the
    /// place of the silent one, the old client is more useful and stays.
    async fn replace_if_unreachable(&self, mut link: ClusterConnection) {
        let members = ClusterNodes::discover(&mut link).await;
        if members.reaches_all_primaries(&mut link).await {
            return;
        }
        if let Ok(mut new) = self.connect(&members.nodes).await
            && ClusterNodes::discover(&mut new)
                .await
                .reaches_all_primaries(&mut new)
                .await
        {
            tracing::info!(
                event = "line.cluster_client_replaced",
                "a node of the Redis cluster did not answer: replaced the client by one that reaches every primary"
            );
            self.set_current(&new);
            self.departures.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How often this process left a node that did not answer.
    pub(super) fn departures(&self) -> u64 {
        self.departures.load(Ordering::Relaxed)
    }

    fn set_current(&self, new: &ClusterConnection) {
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Some(new.clone());
    }

    async fn connect(&self, nodes: &BTreeSet<String>) -> RedisResult<ClusterConnection> {
        self.build_client(nodes)?.get_async_connection().await
    }

    fn build_client(&self, nodes: &BTreeSet<String>) -> RedisResult<ClusterClient> {
        let mut builder = self
            .address
            .cluster_client_builder(nodes)
            .connection_timeout(self.timeouts.connect)
            .response_timeout(self.timeouts.response)
            // The retries must fit into the time of a call. The client's defaults are longer, and
            // there are 16 of them, so it would retry for callers that gave up.
            .retries(RETRIES)
            .min_retry_wait(RETRY_MIN_MS)
            .max_retry_wait(RETRY_MAX_MS);
        if let Some(login) = &self.login {
            builder = builder.set_credentials_provider(login.clone());
        }
        builder.build()
    }
}
