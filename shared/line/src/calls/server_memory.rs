//! Reads how much memory the server uses, or the fullest node of a cluster, from `INFO memory`.

use redis::Value;

use super::{Line, connect::Request, eviction_policy::collect_texts};
use crate::{LineError, ServerMemory};

const USED_FIELD: &str = "used_memory:";
const MAX_FIELD: &str = "maxmemory:";

/// `None` if the line's user may not ask, or the server does not tell.
pub(super) async fn read_server_memory(line: &Line) -> Result<Option<ServerMemory>, LineError> {
    let mut info = redis::cmd("INFO");
    info.arg("memory");
    match line.connection.send::<Value>(Request::Command(&info)).await {
        Ok(answer) => Ok(find_memory(&answer)),
        Err(LineError::Protocol(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Finds the memory in the answer of one server, or that of the fullest node in the answers of a cluster.
fn find_memory(answer: &Value) -> Option<ServerMemory> {
    let mut texts = Vec::new();
    collect_texts(answer, &mut texts);
    let servers = texts.iter().filter_map(|text| {
        Some(ServerMemory {
            used_bytes: find_number(text, USED_FIELD)?,
            max_bytes: find_number(text, MAX_FIELD)?,
        })
    });
    servers.max_by(|a, b| used_share(a).total_cmp(&used_share(b)))
}

fn find_number(text: &str, field: &str) -> Option<u64> {
    text.lines()
        .find_map(|line| line.trim().strip_prefix(field))?
        .parse()
        .ok()
}

/// The used share of the memory. A server without a limit is never the fullest one.
#[allow(clippy::cast_precision_loss)]
fn used_share(memory: &ServerMemory) -> f64 {
    if memory.max_bytes == 0 {
        0.0
    } else {
        memory.used_bytes as f64 / memory.max_bytes as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fullest_node_of_a_cluster_counts() {
        let info =
            |used, max| Value::BulkString(format!("used_memory:{used}\r\nmaxmemory:{max}\r\n").into_bytes());
        let node = |name: &str, answer| (Value::SimpleString(name.to_owned()), answer);
        let nodes = Value::Map(vec![
            node("a:1", info(90, 0)),
            node("b:1", info(50, 100)),
            node("c:1", info(40, 100)),
        ]);
        let fullest = ServerMemory {
            used_bytes: 50,
            max_bytes: 100,
        };
        assert_eq!(find_memory(&nodes), Some(fullest));
        assert_eq!(find_memory(&Value::BulkString(b"# Memory\r\n".to_vec())), None);
    }
}
