//! The link that one call sends its commands on.

use redis::{
    Cmd, Pipeline, RedisFuture, Value,
    aio::{ConnectionLike, ConnectionManager},
    cluster_async::ClusterConnection,
};
#[cfg(feature = "embedded")]
use vestibule_line_embedded::EmbeddedServer;

/// A link to one server, to a cluster, or to the server inside this process.
pub(crate) enum CallLink {
    Server(ConnectionManager),
    Cluster(Box<ClusterConnection>),
    #[cfg(feature = "embedded")]
    Embedded(EmbeddedServer),
}

impl ConnectionLike for CallLink {
    fn req_packed_command<'a>(&'a mut self, cmd: &'a Cmd) -> RedisFuture<'a, Value> {
        match self {
            Self::Server(server) => server.req_packed_command(cmd),
            Self::Cluster(cluster) => cluster.req_packed_command(cmd),
            #[cfg(feature = "embedded")]
            Self::Embedded(server) => server.req_packed_command(cmd),
        }
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        commands: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        match self {
            Self::Server(server) => server.req_packed_commands(commands, offset, count),
            Self::Cluster(cluster) => cluster.req_packed_commands(commands, offset, count),
            #[cfg(feature = "embedded")]
            Self::Embedded(server) => server.req_packed_commands(commands, offset, count),
        }
    }

    fn get_db(&self) -> i64 {
        match self {
            Self::Server(server) => server.get_db(),
            Self::Cluster(cluster) => cluster.get_db(),
            #[cfg(feature = "embedded")]
            Self::Embedded(server) => server.get_db(),
        }
    }
}
