//! A primary and its replica behind one address, as a managed service has them.

use std::net::{SocketAddr, TcpListener};

use redis::{FromRedisValue, RedisResult, aio::MultiplexedConnection};
use vestibule_line::Line;
use vestibule_tests::{in_process::BOUND, network::Network, runner::reserve_port, waiting::poll_until};

use crate::server::Server;

/// A server of the pair, and the test's own connection to it.
pub(crate) struct Member {
    pub(crate) server: Server,
    connection: MultiplexedConnection,
}

impl Member {
    pub(crate) async fn start() -> Self {
        let server = Server::start(false);
        let connection = server.connect().await;
        Self { server, connection }
    }

    pub(crate) async fn query<T: FromRedisValue>(&mut self, words: &[&str]) -> T {
        let answer = self.try_query(words).await;
        answer.unwrap_or_else(|error| panic!("{words:?}: {error}"))
    }

    pub(crate) async fn try_query<T: FromRedisValue>(&mut self, words: &[&str]) -> RedisResult<T> {
        let command = redis::cmd(words[0]).arg(&words[1..]).clone();
        command.query_async(&mut self.connection).await
    }

    pub(crate) async fn replicate(&mut self, primary: SocketAddr) {
        let port = primary.port().to_string();
        self.query::<()>(&["REPLICAOF", "127.0.0.1", &port]).await;
    }

    /// Reads a value from the server's `INFO`.
    pub(crate) async fn info(&mut self, name: &str) -> String {
        let info: String = self.query(&["INFO", "everything"]).await;
        let value = info
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        value
            .unwrap_or_else(|| panic!("INFO has no {name}"))
            .trim()
            .to_owned()
    }

    /// The number of connections that the server has received since its start.
    pub(crate) async fn connections_received(&mut self) -> u64 {
        let count = self.info("total_connections_received").await;
        count.parse().expect("a number")
    }

    /// A line that uses this server alone.
    pub(crate) async fn connect_line(&self) -> Line {
        Line::connect(&self.server.url()).await.expect("it answers")
    }
}

/// A primary with a replica, behind an address that leads to the primary.
pub(crate) struct Pair {
    pub(crate) primary: Member,
    pub(crate) replica: Member,
    address: Network,
    /// Accepts connections and never answers: a server that replicates it stays stale.
    silent: TcpListener,
}

impl Pair {
    pub(crate) async fn start() -> Self {
        let (primary, mut replica) = (Member::start().await, Member::start().await);
        replica.replicate(primary.server.address()).await;
        let address = Network::open_before(primary.server.address()).await;
        let (_, silent) = reserve_port();
        Self {
            primary,
            replica,
            address,
            silent,
        }
    }

    /// The URL of the line.
    pub(crate) fn url(&self) -> String {
        format!("redis://{}", self.address.address)
    }

    /// Makes the replica a primary once it has all data. The other primary stays one.
    pub(crate) async fn promote_replica(&mut self) {
        let ask = async || {
            let written = self.primary.info("master_repl_offset").await;
            let replicated = self.replica.info("slave_repl_offset").await;
            (self.replica.info("master_link_status").await, written, replicated)
        };
        poll_until(BOUND, ask, |(link, written, replicated)| {
            link == "up" && written == replicated
        })
        .await;
        self.replica.query::<()>(&["REPLICAOF", "NO", "ONE"]).await;
    }

    /// Connects new connections to the new primary. Open ones stay with the old primary.
    pub(crate) fn move_address(&self) {
        self.address.connect_new_to(self.replica.server.address());
    }

    /// Makes the old primary a replica that never hears of the new primary, so its data stays stale.
    pub(crate) async fn demote_primary(&mut self) {
        let silent = self.silent.local_addr().expect("an address");
        self.primary.replicate(silent).await;
    }

    /// A planned failover whose steps follow at once.
    pub(crate) async fn fail_over(&mut self) {
        self.promote_replica().await;
        self.move_address();
        self.demote_primary().await;
    }
}
