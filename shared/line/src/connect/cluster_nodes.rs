//! Asks a cluster for its nodes, and reads which node serves which slots.

use std::collections::BTreeSet;

use redis::{
    Value,
    cluster_async::ClusterConnection,
    cluster_routing::{MultipleNodeRoutingInfo, RoutingInfo, SingleNodeRoutingInfo, Slot},
};
use tokio::time::timeout;

use super::timeouts::PING_TIMEOUT;

/// The number of attempts to learn the nodes of the cluster. Each attempt asks a random node, which
/// may be the same one.
const DISCOVERY_ATTEMPTS: usize = 5;

/// The nodes of a cluster, as `host:port`. Empty if no node names them in time.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ClusterNodes {
    primaries: BTreeSet<String>,
    /// Primaries and replicas.
    pub(super) nodes: BTreeSet<String>,
}

impl ClusterNodes {
    /// Asks for the nodes, and takes the answer of the first node that answers.
    pub(super) async fn discover(link: &mut ClusterConnection) -> Self {
        let slots = cluster_slots();
        for _ in 0..DISCOVERY_ATTEMPTS {
            let any = RoutingInfo::SingleNode(SingleNodeRoutingInfo::Random);
            if let Ok(Ok(reply)) = timeout(PING_TIMEOUT, link.route_command(slots.clone(), any)).await {
                return Self::parse_slots(&reply);
            }
        }
        Self::default()
    }

    /// Parses the reply to [`CLUSTER SLOTS`](https://redis.io/docs/latest/commands/cluster-slots/).
    /// Each range of slots begins with its two bounds. Its nodes follow, the primary first. Each
    /// node is an array that begins with its host and its port.
    fn parse_slots(reply: &Value) -> Self {
        let mut members = Self::default();
        for range in array_items(reply) {
            let holders = array_items(range).get(2..).unwrap_or_default();
            let node_address = |holder| match array_items(holder) {
                [Value::BulkString(host), Value::Int(port), ..] => format_node(host, *port),
                _ => None,
            };
            members.primaries.extend(holders.first().and_then(node_address));
            members.nodes.extend(holders.iter().filter_map(node_address));
        }
        members
    }

    /// Whether this client reaches every primary.
    pub(super) async fn reaches_all_primaries(&self, link: &mut ClusterConnection) -> bool {
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

pub(super) fn cluster_slots() -> redis::Cmd {
    redis::cmd("CLUSTER").arg("SLOTS").clone()
}

/// Finds the primary of the range that contains this slot.
pub(super) fn find_slot_owner(slot: Slot, reply: &Value) -> Option<String> {
    let is_in = |bound: &Value, other: &Value| match (bound, other) {
        (Value::Int(first), Value::Int(last)) => (*first..=*last).any(|number| {
            let number = u16::try_from(number).ok();
            number.and_then(Slot::new) == Some(slot)
        }),
        _ => false,
    };
    let holder = array_items(reply)
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
        let reply = Value::Array(vec![
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
        assert_eq!(ClusterNodes::parse_slots(&reply), members);
        assert_eq!(ClusterNodes::parse_slots(&Value::Nil), ClusterNodes::default());

        let owner = |slot| find_slot_owner(Slot::new(slot).expect("the number is a slot"), &reply);
        assert_eq!(owner(99).as_deref(), Some("b.example:6379"));
        assert_eq!(owner(100).as_deref(), Some("a.example:6379"));
        assert_eq!(owner(300), None, "no node has slot 300");
    }
}
