//! One client for all nodes of a cluster. It is replaced when it no longer follows the layout of the cluster.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use redis::{
    Client, RedisResult, Value,
    cluster::ClusterClient,
    cluster_async::ClusterConnection,
    cluster_routing::{MultipleNodeRoutingInfo, Route, RoutingInfo, SingleNodeRoutingInfo, Slot, SlotAddr},
};
use tokio::{
    sync::Mutex,
    time::{sleep, timeout},
};
use vestibule_line::LineError;

use super::{
    address::Address,
    iam::IamLogin,
    line_error::to_line_error,
    timeouts::{CONNECT_TIMEOUT, PING_TIMEOUT, RESPONSE_TIMEOUT},
};

const RETRIES: u32 = 4;
const RETRY_MIN_MS: u64 = 20;
const RETRY_MAX_MS: u64 = 150;
/// The number of attempts to learn the nodes of the cluster. Each attempt asks a random node, which may be
/// the same one.
const DISCOVERY_ATTEMPTS: usize = 5;
/// The pause between two tests whether the client reaches every primary.
const RENEWAL_PAUSE: Duration = Duration::from_secs(1);

pub(super) struct Cluster {
    address: Address,
    login: Option<IamLogin>,
    /// The current client. `None` until a node answers for the first time.
    current: RwLock<Option<ClusterConnection>>,
    /// Locked while a task makes the first client, so that only one task does (single-flight).
    connect_lock: Arc<Mutex<()>>,
    /// Whether a task already tests the current client and replaces it if needed.
    is_renewing: AtomicBool,
}

impl Cluster {
    pub(super) fn new(address: Address, login: Option<IamLogin>) -> Result<Self, LineError> {
        let cluster = Self {
            address,
            login,
            current: RwLock::default(),
            connect_lock: Arc::default(),
            is_renewing: AtomicBool::default(),
        };
        // Builds a client once, so that a bad address is an error now and not with the first call.
        cluster.build_client(&BTreeSet::new()).map_err(to_line_error)?;
        Ok(cluster)
    }

    /// The link to send on. If the link is `doubted`, the call still uses it, because there is no better one.
    /// A task of its own tests the link and replaces it, because that takes longer than a call may.
    pub(super) async fn acquire_link(
        self: &Arc<Self>,
        is_suspect: bool,
    ) -> Result<ClusterConnection, LineError> {
        let Some(open) = self.current_link() else {
            return self.connect_first().await;
        };
        if is_suspect && !self.is_renewing.swap(true, Ordering::AcqRel) {
            let (cluster, open) = (Arc::clone(self), open.clone());
            tokio::spawn(async move {
                cluster.replace_if_unreachable(open).await;
                // If the whole cluster is slow, more new links would make it slower.
                sleep(RENEWAL_PAUSE).await;
                cluster.is_renewing.store(false, Ordering::Release);
            });
        }
        Ok(open)
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

    /// Makes the first link. A task of its own connects, and the calls wait for it. The task continues when
    /// they give up, because connecting takes longer than a call may if one of the nodes in the address does
    /// not answer.
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
    /// The client replaces a link that breaks, and follows a redirect to another node. A silent node gives
    /// neither a broken link nor a redirect. So the client would continue to send to it even after another
    /// node took its place.
    ///
    /// If a primary does not answer, this method makes a new client from the nodes that the other nodes name.
    /// The new client takes over once it reaches every primary. Until a node takes the place of the silent
    /// one, the old client is more useful and stays.
    async fn replace_if_unreachable(&self, mut open: ClusterConnection) {
        let members = ClusterNodes::discover(&mut open).await;
        if members.reaches_all_primaries(&mut open).await {
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
        }
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
            .connection_timeout(CONNECT_TIMEOUT)
            .response_timeout(RESPONSE_TIMEOUT)
            // The retries must fit into the time of a call. The client's defaults are longer, and there are
            // 16 of them, so it would retry for callers that gave up.
            .retries(RETRIES)
            .min_retry_wait(RETRY_MIN_MS)
            .max_retry_wait(RETRY_MAX_MS);
        if let Some(login) = &self.login {
            builder = builder.set_credentials_provider(login.clone());
        }
        builder.build()
    }
}

/// The nodes of a cluster, as `host:port`. Empty if no node names them in time.
#[derive(Debug, Default, PartialEq, Eq)]
struct ClusterNodes {
    primaries: BTreeSet<String>,
    /// Primaries and replicas.
    nodes: BTreeSet<String>,
}

impl ClusterNodes {
    /// Asks for the nodes, and takes the answer of the first node that answers.
    async fn discover(link: &mut ClusterConnection) -> Self {
        let slots = cluster_slots();
        for _ in 0..DISCOVERY_ATTEMPTS {
            let any = RoutingInfo::SingleNode(SingleNodeRoutingInfo::Random);
            if let Ok(Ok(said)) = timeout(PING_TIMEOUT, link.route_command(slots.clone(), any)).await {
                return Self::parse_slots(&said);
            }
        }
        Self::default()
    }

    /// Parses the reply to [`CLUSTER SLOTS`](https://redis.io/docs/latest/commands/cluster-slots/). Each
    /// range of slots begins with its two bounds. Its nodes follow, the primary first. Each node is an array
    /// that begins with its host and its port.
    fn parse_slots(said: &Value) -> Self {
        let mut members = Self::default();
        for range in array_items(said) {
            let holders = array_items(range).get(2..).unwrap_or_default();
            let named = |holder| match array_items(holder) {
                [Value::BulkString(host), Value::Int(port), ..] => format_node(host, *port),
                _ => None,
            };
            members.primaries.extend(holders.first().and_then(named));
            members.nodes.extend(holders.iter().filter_map(named));
        }
        members
    }

    /// Whether this client reaches every primary.
    async fn reaches_all_primaries(&self, link: &mut ClusterConnection) -> bool {
        let primaries = RoutingInfo::MultiNode((MultipleNodeRoutingInfo::AllMasters, None));
        let pinged = timeout(PING_TIMEOUT, link.route_command(redis::cmd("PING"), primaries)).await;
        // The client's reply leaves out the primaries that it has no link to.
        let answers = match pinged {
            Ok(Ok(Value::Map(answers))) => answers.len(),
            _ => 0,
        };
        !self.primaries.is_empty() && answers >= self.primaries.len()
    }
}

fn cluster_slots() -> redis::Cmd {
    redis::cmd("CLUSTER").arg("SLOTS").clone()
}

/// Finds the primary of the range that contains this slot.
fn find_slot_owner(slot: Slot, said: &Value) -> Option<String> {
    let is_in = |bound: &Value, other: &Value| match (bound, other) {
        (Value::Int(first), Value::Int(last)) => (*first..=*last).any(|number| {
            let number = u16::try_from(number).ok();
            number.and_then(Slot::new) == Some(slot)
        }),
        _ => false,
    };
    let holder = array_items(said)
        .iter()
        .find_map(|range| match array_items(range) {
            [first, last, holder, ..] if is_in(first, last) => Some(array_items(holder)),
            _ => None,
        });
    match holder? {
        [Value::BulkString(host), Value::Int(port), ..] => format_node(host, *port),
        _ => None,
    }
}

fn array_items(value: &Value) -> &[Value] {
    match value {
        Value::Array(items) => items,
        _ => &[],
    }
}

fn format_node(host: &[u8], port: i64) -> Option<String> {
    let host = str::from_utf8(host)
        .ok()
        .filter(|host| !["", "?"].contains(host))?;
    // An IPv6 address contains colons, so it needs brackets.
    Some(if host.contains(':') {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cluster_slots_reply_yields_nodes_and_slot_owner() {
        let node = |host: &[u8], port| {
            let host = Value::BulkString(host.to_vec());
            Value::Array(vec![host, Value::Int(port), Value::BulkString(b"id".to_vec())])
        };
        let range = |from, to, node: &[Value]| {
            let bounds = [Value::Int(from), Value::Int(to)];
            Value::Array(bounds.iter().chain(node).cloned().collect())
        };
        let said = Value::Array(vec![
            range(0, 99, &[node(b"b.example", 6379), node(b"::1", 6380)]),
            range(
                100,
                199,
                &[node(b"a.example", 6379), node(b"?", 6379), node(b"", 6379)],
            ),
            range(200, 299, &[node(b"b.example", 6379), Value::Nil]),
        ]);
        let set = |nodes: &[&str]| nodes.iter().map(|node| (*node).to_owned()).collect();
        let members = ClusterNodes {
            primaries: set(&["a.example:6379", "b.example:6379"]),
            nodes: set(&["[::1]:6380", "a.example:6379", "b.example:6379"]),
        };
        assert_eq!(ClusterNodes::parse_slots(&said), members);
        assert_eq!(ClusterNodes::parse_slots(&Value::Nil), ClusterNodes::default());

        let owner = |slot| find_slot_owner(Slot::new(slot).expect("the number is a slot"), &said);
        assert_eq!(owner(99).as_deref(), Some("b.example:6379"));
        assert_eq!(owner(100).as_deref(), Some("a.example:6379"));
        assert_eq!(owner(300), None, "no node has slot 300");
    }
}
