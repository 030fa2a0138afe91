//! One client for all nodes of a cluster, and another one where that does not follow the cluster any more.

use std::sync::{
    Arc, PoisonError, RwLock,
    atomic::{AtomicBool, Ordering},
};

use redis::{
    RedisResult, Value,
    cluster::ClusterClient,
    cluster_async::ClusterConnection,
    cluster_routing::{RoutingInfo, SingleNodeRoutingInfo},
};
use tokio::time::timeout;

use super::{Address, CONNECT_TIMEOUT, IamLogin, PING_TIMEOUT, RESPONSE_TIMEOUT, failed, is_alive};
use crate::line::LineError;

const RETRIES: u32 = 4;
const RETRY_MIN_MS: u64 = 20;
const RETRY_MAX_MS: u64 = 150;
/// How many nodes are asked, one after the other and each drawn anew, who belongs to the cluster.
const ASKED: usize = 5;

pub(super) struct Cluster {
    address: Address,
    login: Option<IamLogin>,
    /// None before any node answered.
    open: RwLock<Option<ClusterConnection>>,
    /// Somebody sees to it already that the open one is of use.
    is_renewed: AtomicBool,
}

impl Cluster {
    pub(super) fn new(address: Address, login: Option<IamLogin>) -> Result<Self, LineError> {
        let cluster = Self {
            address,
            login,
            open: RwLock::default(),
            is_renewed: AtomicBool::default(),
        };
        // An address that makes no client is heard of now.
        cluster.client(&[]).map_err(failed)?;
        Ok(cluster)
    }

    /// The link to send on. One that is doubted is still the best there is: another is sought beside the call, since that
    /// takes longer than a call may.
    pub(super) async fn link(self: &Arc<Self>, doubted: bool) -> Result<ClusterConnection, LineError> {
        let open = self.open.read().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(open) = open else {
            let new = self.connect(&[]).await.map_err(failed)?;
            self.replace(&new);
            return Ok(new);
        };
        if doubted && !self.is_renewed.swap(true, Ordering::AcqRel) {
            let (cluster, open) = (Arc::clone(self), open.clone());
            tokio::spawn(async move {
                cluster.renew(open).await;
                cluster.is_renewed.store(false, Ordering::Release);
            });
        }
        Ok(open)
    }

    /// The client replaces links that break, and goes where an answer sends it. From a node that is silent there is
    /// neither, and it would go on sending to that one though another has long taken its place. So where a primary does
    /// not answer it, those are asked who do, and a new client takes over once every primary answers that.
    async fn renew(&self, mut open: ClusterConnection) {
        if is_alive(&mut open).await {
            return;
        }
        let nodes = nodes(&mut open).await;
        if let Ok(mut new) = self.connect(&nodes).await
            && is_alive(&mut new).await
        {
            tracing::info!("a node of the cluster is silent: connected anew");
            self.replace(&new);
        }
    }

    fn replace(&self, new: &ClusterConnection) {
        *self.open.write().unwrap_or_else(PoisonError::into_inner) = Some(new.clone());
    }

    async fn connect(&self, nodes: &[String]) -> RedisResult<ClusterConnection> {
        self.client(nodes)?.get_async_connection().await
    }

    fn client(&self, nodes: &[String]) -> RedisResult<ClusterClient> {
        let mut builder = self
            .address
            .cluster(nodes)
            .connection_timeout(CONNECT_TIMEOUT)
            .response_timeout(RESPONSE_TIMEOUT)
            // Within the time of a call. Its own are longer, and there are 16 of them: it would go on for callers who are gone.
            .retries(RETRIES)
            .min_retry_wait(RETRY_MIN_MS)
            .max_retry_wait(RETRY_MAX_MS);
        if let Some(login) = &self.login {
            builder = builder.set_credentials_provider(login.clone());
        }
        builder.build()
    }
}

/// Who belongs to the cluster, as `host:port`, by the first node that says so in time.
async fn nodes(open: &mut ClusterConnection) -> Vec<String> {
    let slots = redis::cmd("CLUSTER").arg("SLOTS").clone();
    for _ in 0..ASKED {
        let any = RoutingInfo::SingleNode(SingleNodeRoutingInfo::Random);
        if let Ok(Ok(said)) = timeout(PING_TIMEOUT, open.route_command(slots.clone(), any)).await {
            return named(&said);
        }
    }
    Vec::new()
}

/// The nodes in an answer to [`CLUSTER SLOTS`](https://redis.io/docs/latest/commands/cluster-slots/): behind the bounds of
/// each range stand those that have it, each an array that begins with its host and its port.
fn named(said: &Value) -> Vec<String> {
    let items = |value: &Value| match value {
        Value::Array(items) => items.clone(),
        _ => Vec::new(),
    };
    let nodes = items(said)
        .into_iter()
        .flat_map(|range| items(&range).into_iter().skip(2));
    let address = |node: Value| match items(&node).as_slice() {
        [Value::BulkString(host), Value::Int(port), ..] if !host.is_empty() && host != b"?" => {
            let host = String::from_utf8_lossy(host);
            // An address of version 6 has colons of its own.
            let host = if host.contains(':') {
                format!("[{host}]")
            } else {
                host.into_owned()
            };
            Some(format!("{host}:{port}"))
        }
        _ => None,
    };
    let mut named: Vec<_> = nodes.filter_map(address).collect();
    named.sort_unstable();
    named.dedup();
    named
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
        assert_eq!(named(&said), ["[::1]:6380", "a.example:6379", "b.example:6379"]);
        assert!(named(&Value::Nil).is_empty());
    }
}
