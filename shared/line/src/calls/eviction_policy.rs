//! Reads the eviction policy of the server, or of the nodes of a cluster, from `INFO memory`.
//!
//! The recommended access rights (`-@admin -@dangerous`) exclude `INFO`, and a managed service may
//! hide the field. The policy is unknown then.

use redis::Value;

use super::{Line, connect::Request};
use crate::{EvictionPolicy, LineError};

const FIELD: &str = "maxmemory_policy:";
const NO_EVICTION: &str = "noeviction";

impl Line {
    /// Returns the eviction policy of the line's server. In a cluster it is the worst one of the nodes.
    ///
    /// # Errors
    /// [`LineError::Unavailable`] if the line does not answer.
    pub async fn eviction_policy(&self) -> Result<EvictionPolicy, LineError> {
        let mut info = redis::cmd("INFO");
        info.arg("memory");
        match self.connection.send::<Value>(Request::Command(&info)).await {
            Ok(answer) => Ok(find_policy(&answer)),
            // The user may not ask.
            Err(LineError::Protocol(_)) => Ok(EvictionPolicy::Unknown),
            Err(error) => Err(error),
        }
    }
}

/// Finds the policy in the answer of one server, or in the answers of the nodes of a cluster.
fn find_policy(answer: &Value) -> EvictionPolicy {
    let mut texts = Vec::new();
    collect_texts(answer, &mut texts);
    let lines = texts.iter().flat_map(|text| text.lines());
    let mut policies: Vec<_> = lines.filter_map(|line| line.trim().strip_prefix(FIELD)).collect();
    policies.sort_by_key(|policy| *policy == NO_EVICTION);
    match policies.first() {
        None => EvictionPolicy::Unknown,
        Some(&NO_EVICTION) => EvictionPolicy::NoEviction,
        Some(policy) => EvictionPolicy::Evicts((*policy).to_owned()),
    }
}

pub(super) fn collect_texts(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::BulkString(bytes) => texts.push(String::from_utf8_lossy(bytes).into_owned()),
        Value::SimpleString(text) | Value::VerbatimString { text, .. } => texts.push(text.clone()),
        Value::Array(values) => values.iter().for_each(|value| collect_texts(value, texts)),
        Value::Map(pairs) => pairs.iter().for_each(|(_, value)| collect_texts(value, texts)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(policy: &str) -> Value {
        Value::BulkString(format!("# Memory\r\nmaxmemory:0\r\nmaxmemory_policy:{policy}\r\n").into_bytes())
    }

    #[test]
    fn worst_policy_of_the_nodes_counts() {
        let evicts = EvictionPolicy::Evicts("allkeys-lru".to_owned());
        assert_eq!(find_policy(&info(NO_EVICTION)), EvictionPolicy::NoEviction);
        assert_eq!(find_policy(&info("allkeys-lru")), evicts);
        assert_eq!(
            find_policy(&Value::BulkString(b"# Memory\r\n".to_vec())),
            EvictionPolicy::Unknown
        );
        let node = |name: &str, policy| (Value::SimpleString(name.to_owned()), info(policy));
        let nodes = Value::Map(vec![node("a:1", NO_EVICTION), node("b:1", "allkeys-lru")]);
        assert_eq!(find_policy(&nodes), evicts);
        let nodes = Value::Map(vec![node("a:1", NO_EVICTION), node("b:1", NO_EVICTION)]);
        assert_eq!(find_policy(&nodes), EvictionPolicy::NoEviction);
    }
}
