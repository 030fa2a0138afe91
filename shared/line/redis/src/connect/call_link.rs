//! The link that one call sends its commands on.

use redis::{
    Cmd, Pipeline, RedisFuture, Value,
    aio::{ConnectionLike, ConnectionManager},
    cluster_async::ClusterConnection,
};

/// A link to one server, or to a cluster.
pub(crate) enum CallLink {
    Server(ConnectionManager),
    Cluster(Box<ClusterConnection>),
}

impl ConnectionLike for CallLink {
    fn req_packed_command<'a>(&'a mut self, cmd: &'a Cmd) -> RedisFuture<'a, Value> {
        match self {
            Self::Server(server) => server.req_packed_command(cmd),
            Self::Cluster(cluster) => cluster.req_packed_command(cmd),
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
        }
    }

    fn get_db(&self) -> i64 {
        match self {
            Self::Server(server) => server.get_db(),
            Self::Cluster(cluster) => cluster.get_db(),
        }
    }
}
