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

use super::{Address, CONNECT_TIMEOUT, IamLogin, PING_TIMEOUT, RESPONSE_TIMEOUT, failed};

const RETRIES: u32 = 4;
const RETRY_MIN_MS: u64 = 20;
const RETRY_MAX_MS: u64 = 150;
/// The number of attempts to learn the nodes of the cluster. Each attempt asks a random node, which may be
/// the same one.
const ASKED: usize = 5;
/// The pause between two tests whether the client reaches every primary.
const PAUSE: Duration = Duration::from_secs(1);

pub(super) struct Cluster {
    address: Address,
    login: Option<IamLogin>,
    /// The current client. `None` until a node answers for the first time.
    open: RwLock<Option<ClusterConnection>>,
    /// Locked while a task makes the first client, so that only one task does (single-flight).
    opening: Arc<Mutex<()>>,
    /// Whether a task already tests the current client and replaces it if needed.
    is_renewed: AtomicBool,
}

impl Cluster {
    pub(super) fn new(address: Address, login: Option<IamLogin>) -> Result<Self, LineError> {
        let cluster = Self {
            address,
            login,
            open: RwLock::default(),
            opening: Arc::default(),
            is_renewed: AtomicBool::default(),
        };
        // Builds a client once, so that a bad address is an error now and not with the first call.
        cluster.client(&BTreeSet::new()).map_err(failed)?;
        Ok(cluster)
    }

    /// The link to send on. If the link is `doubted`, the call still uses it, because there is no better one.
    /// A task of its own tests the link and replaces it, because that takes longer than a call may.
    pub(super) async fn link(self: &Arc<Self>, doubted: bool) -> Result<ClusterConnection, LineError> {
        let Some(open) = self.opened() else {
            return self.first().await;
        };
        if doubted && !self.is_renewed.swap(true, Ordering::AcqRel) {
            let (cluster, open) = (Arc::clone(self), open.clone());
            tokio::spawn(async move {
                cluster.renew(open).await;
                // If the whole cluster is slow, more new links would make it slower.
                sleep(PAUSE).await;
                cluster.is_renewed.store(false, Ordering::Release);
            });
        }
        Ok(open)
    }

    /// Finds the primary that has a key, as `host:port`. It asks the node that this client takes for the
    /// primary. If that node has handed the slot of the key over, it knows the new primary.
    pub(super) async fn owner(self: &Arc<Self>, key: &str) -> Result<String, LineError> {
        let slot = Slot::for_key(key);
        let route = Route::with_slot(slot, SlotAddr::Master);
        let owner = RoutingInfo::SingleNode(SingleNodeRoutingInfo::SpecificNode(route));
        let mut link = self.link(false).await?;
        let said = link.route_command(cluster_slots(), owner).await.map_err(failed)?;
        owner_of(slot, &said).ok_or_else(|| {
            let reason = "no node of the Redis cluster serves the slot of the queue; check `CLUSTER SLOTS`";
            LineError::Unavailable(reason.to_owned())
        })
    }

    /// Makes a client of one node (`host:port`) that can receive published messages.
    pub(super) fn subscriber(&self, node: &str) -> RedisResult<Client> {
        self.address.subscriber(node)
    }

    fn opened(&self) -> Option<ClusterConnection> {
        self.open.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Makes the first link. A task of its own connects, and the calls wait for it. The task continues when
    /// they give up, because connecting takes longer than a call may if one of the nodes in the address does
    /// not answer.
    async fn first(self: &Arc<Self>) -> Result<ClusterConnection, LineError> {
        if let Ok(opening) = Arc::clone(&self.opening).try_lock_owned() {
            let cluster = Arc::clone(self);
            let made = tokio::spawn(async move {
                let _opening = opening;
                let new = cluster.connect(&BTreeSet::new()).await.map_err(failed)?;
                cluster.replace(&new);
                Ok(new)
            });
            return made.await.map_err(|error| {
                LineError::Unavailable(format!(
                    "the task that connects to the Redis cluster failed: {error}"
                ))
            })?;
        }
        drop(self.opening.lock().await);
        self.opened()
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
    async fn renew(&self, mut open: ClusterConnection) {
        let members = Members::of(&mut open).await;
        if members.all_answer(&mut open).await {
            return;
        }
        if let Ok(mut new) = self.connect(&members.nodes).await
            && Members::of(&mut new).await.all_answer(&mut new).await
        {
            tracing::info!(
                event = "line.cluster_client_replaced",
                "a node of the Redis cluster did not answer: replaced the client by one that reaches every primary"
            );
            self.replace(&new);
        }
    }

    fn replace(&self, new: &ClusterConnection) {
        *self.open.write().unwrap_or_else(PoisonError::into_inner) = Some(new.clone());
    }

    async fn connect(&self, nodes: &BTreeSet<String>) -> RedisResult<ClusterConnection> {
        self.client(nodes)?.get_async_connection().await
    }

    fn client(&self, nodes: &BTreeSet<String>) -> RedisResult<ClusterClient> {
        let mut builder = self
            .address
            .cluster(nodes)
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
struct Members {
    primaries: BTreeSet<String>,
    /// Primaries and replicas.
    nodes: BTreeSet<String>,
}

impl Members {
    /// Asks for the nodes, and takes the answer of the first node that answers.
    async fn of(link: &mut ClusterConnection) -> Self {
        let slots = cluster_slots();
        for _ in 0..ASKED {
            let any = RoutingInfo::SingleNode(SingleNodeRoutingInfo::Random);
            if let Ok(Ok(said)) = timeout(PING_TIMEOUT, link.route_command(slots.clone(), any)).await {
                return Self::named(&said);
            }
        }
        Self::default()
    }

    /// Parses the reply to [`CLUSTER SLOTS`](https://redis.io/docs/latest/commands/cluster-slots/). Each
    /// range of slots begins with its two bounds. Its nodes follow, the primary first. Each node is an array
    /// that begins with its host and its port.
    fn named(said: &Value) -> Self {
        let mut members = Self::default();
        for range in items(said) {
            let holders = items(range).get(2..).unwrap_or_default();
            let named = |holder| match items(holder) {
                [Value::BulkString(host), Value::Int(port), ..] => named(host, *port),
                _ => None,
            };
            members.primaries.extend(holders.first().and_then(named));
            members.nodes.extend(holders.iter().filter_map(named));
        }
        members
    }

    /// Whether this client reaches every primary.
    async fn all_answer(&self, link: &mut ClusterConnection) -> bool {
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
fn owner_of(slot: Slot, said: &Value) -> Option<String> {
    let is_in = |bound: &Value, other: &Value| match (bound, other) {
        (Value::Int(first), Value::Int(last)) => (*first..=*last).any(|number| {
            let number = u16::try_from(number).ok();
            number.and_then(Slot::new) == Some(slot)
        }),
        _ => false,
    };
    let holder = items(said).iter().find_map(|range| match items(range) {
        [first, last, holder, ..] if is_in(first, last) => Some(items(holder)),
        _ => None,
    });
    match holder? {
        [Value::BulkString(host), Value::Int(port), ..] => named(host, *port),
        _ => None,
    }
}

fn items(value: &Value) -> &[Value] {
    match value {
        Value::Array(items) => items,
        _ => &[],
    }
}

fn named(host: &[u8], port: i64) -> Option<String> {
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
    fn nodes_are_read_from_what_a_node_says() {
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
        let members = Members {
            primaries: set(&["a.example:6379", "b.example:6379"]),
            nodes: set(&["[::1]:6380", "a.example:6379", "b.example:6379"]),
        };
        assert_eq!(Members::named(&said), members);
        assert_eq!(Members::named(&Value::Nil), Members::default());

        let owner = |slot| owner_of(Slot::new(slot).expect("the number is a slot"), &said);
        assert_eq!(owner(99).as_deref(), Some("b.example:6379"));
        assert_eq!(owner(100).as_deref(), Some("a.example:6379"));
        assert_eq!(owner(300), None, "no node has slot 300");
    }
}
