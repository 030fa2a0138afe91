//! Tests whether a link is alive, and whether its server accepts writes.

use redis::{RedisError, aio::ConnectionLike};
use tokio::time::timeout;

use super::{line_error::is_demotion, timeouts::PING_TIMEOUT};
use crate::calls::NEVER_WRITTEN_KEY;

/// The command that tests a link.
#[derive(Debug, Clone, Copy)]
pub(super) enum LinkTest {
    /// `PING`. In a cluster, a test cannot write, because the key of the write test belongs to one node.
    Ping,
    /// `UNLINK` of a key that never exists. It changes nothing, and a server that accepts no writes
    /// refuses it as it refuses every write. `ROLE` and `INFO` would name the role of the server,
    /// but the recommended access rights (`-@admin -@dangerous`) exclude both.
    Write,
}

/// The result of a test.
#[derive(Debug)]
pub(super) enum LinkHealth {
    Alive,
    /// The server is a replica or loads its data.
    Demoted(RedisError),
    /// The server does not answer in time, or the link is broken.
    Dead,
}

impl LinkTest {
    pub(super) async fn run(self, link: &mut impl ConnectionLike) -> LinkHealth {
        let command = match self {
            Self::Ping => redis::cmd("PING"),
            Self::Write => redis::cmd("UNLINK").arg(NEVER_WRITTEN_KEY).clone(),
        };
        match timeout(PING_TIMEOUT, command.query_async::<()>(link)).await {
            Ok(Ok(())) => LinkHealth::Alive,
            Ok(Err(error)) if is_demotion(&error) => LinkHealth::Demoted(error),
            // Another refusal, such as missing access rights, comes from a server that answers.
            // Calls work.
            Ok(Err(error)) if error.code().is_some() => LinkHealth::Alive,
            Ok(Err(_)) | Err(_) => LinkHealth::Dead,
        }
    }
}
