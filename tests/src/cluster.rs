//! Access to the nodes of a Redis cluster, and a cluster that belongs to one test, which may kill its nodes.
//! `infra/servers.sh` starts both.

// A harness panics where a test is to fail.
#![allow(clippy::missing_panics_doc)]

use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use redis::{
    Client, Cmd, FromRedisValue, ProtocolVersion, PushInfo, TlsCertificates, aio::MultiplexedConnection,
    cluster::ClusterClientBuilder, cluster_async::ClusterConnection,
};
use tokio::sync::mpsc::UnboundedSender;
use vestibule_domain::id::QueueId;

use crate::{servers, waiting::poll_until};

/// The longest time that any change of a cluster takes.
const BOUND: Duration = Duration::from_secs(20);

/// The address of a cluster.
#[derive(Debug, Clone)]
pub struct Cluster {
    /// The URL of one of its nodes.
    node: String,
    /// The file of the authority that signed its certificates.
    ca_file: PathBuf,
}

/// One server of a cluster.
pub struct Node {
    /// The node id, by which the other nodes know it.
    pub id: String,
    /// The port that it listens on.
    pub port: u16,
    /// The id of the primary that this node replicates. `None` for a primary.
    pub primary_id: Option<String>,
    /// The slots of a primary, such as `0-5460`.
    pub slots: Vec<String>,
    /// A connection to the node.
    pub connection: MultiplexedConnection,
}

impl Cluster {
    /// The cluster that all suites share.
    pub fn shared() -> Self {
        Self {
            node: servers::server_url("TEST_REDIS_CLUSTER_URL"),
            ca_file: servers::server_url("TEST_REDIS_CLUSTER_CA").into(),
        }
    }

    /// The URL of the cluster in the form that Vestibule reads.
    pub fn url(&self) -> String {
        self.url_with_nodes(self.node.trim_start_matches("rediss://"))
    }

    /// The URL of the cluster with these nodes, separated by commas.
    pub fn url_with_nodes(&self, nodes: &str) -> String {
        let path = self.ca_file.to_str().expect("text");
        let path = utf8_percent_encode(path, NON_ALPHANUMERIC);
        format!("rediss+cluster://{nodes}?ca_file={path}")
    }

    /// All nodes that the known node considers alive.
    pub async fn live_nodes(&self) -> Vec<Node> {
        let mut connection = self.connect(&self.node).await;
        let listing: String = query(&mut connection, redis::cmd("CLUSTER").arg("NODES")).await;
        let mut nodes = Vec::new();
        for line in listing.lines().filter(|line| !line.contains("fail")) {
            // <https://redis.io/docs/latest/commands/cluster-nodes/>
            let fields: Vec<_> = line.split(' ').collect();
            let (address, _) = fields[1].split_once('@').expect("with the port of the bus");
            nodes.push(Node {
                id: fields[0].to_owned(),
                port: address
                    .rsplit(':')
                    .next()
                    .expect("a port")
                    .parse()
                    .expect("a number"),
                primary_id: (fields[3] != "-").then(|| fields[3].to_owned()),
                slots: fields[8..].iter().map(|&slots| slots.to_owned()).collect(),
                connection: self.connect(&format!("rediss://{address}")).await,
            });
        }
        nodes
    }

    /// The primary that holds the keys of a queue.
    pub async fn primary_of(&self, queue: &QueueId) -> Node {
        let mut nodes = self.live_nodes().await;
        let tag = format!("{{{queue}}}");
        let slot: u32 = query(
            &mut nodes[0].connection,
            redis::cmd("CLUSTER").arg("KEYSLOT").arg(tag),
        )
        .await;
        let primary = nodes.into_iter().find(|node| node.serves_slot(slot));
        primary.expect("each slot has a primary")
    }

    /// A client of the whole cluster that receives the messages of its channels.
    pub async fn connect_subscriber(&self, pushes: UnboundedSender<PushInfo>) -> ClusterConnection {
        let client = ClusterClientBuilder::new([self.node.as_str()])
            .certs(self.certificates())
            .use_protocol(ProtocolVersion::RESP3)
            .push_sender(pushes)
            .build()
            .expect("an address");
        client.get_async_connection().await.expect("the cluster answers")
    }

    async fn connect(&self, address: &str) -> MultiplexedConnection {
        let client = Client::build_with_tls(address, self.certificates());
        servers::connect_redis(client.expect("an address")).await
    }

    fn certificates(&self) -> TlsCertificates {
        // Two dependencies bring two crypto providers. The test may run before any line has told rustls which
        // one to use.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        TlsCertificates {
            client_tls: None,
            root_cert: Some(std::fs::read(&self.ca_file).expect("an authority")),
        }
    }
}

impl Node {
    fn serves_slot(&self, slot: u32) -> bool {
        self.slots.iter().any(|slots| {
            let (first, last) = slots.split_once('-').unwrap_or((slots, slots));
            let bound = |text: &str| text.parse::<u32>().expect("a slot");
            (bound(first)..=bound(last)).contains(&slot)
        })
    }

    /// Sends a command to the server and returns the answer.
    pub async fn query<T: FromRedisValue>(&mut self, words: &[&str]) -> T {
        query(&mut self.connection, redis::cmd(words[0]).arg(&words[1..])).await
    }

    /// Kills the process with SIGKILL. Its data is lost, because it keeps nothing on disk.
    pub async fn kill(&mut self) {
        self.signal("KILL").await;
    }

    /// Stops the process with SIGSTOP: it no longer answers, and its connections stay open.
    pub async fn freeze(&mut self) {
        self.signal("STOP").await;
    }

    async fn signal(&mut self, name: &str) {
        let info: String = self.query(&["INFO", "server"]).await;
        let pid = info.lines().find_map(|line| line.strip_prefix("process_id:"));
        let pid = pid.expect("INFO names the process");
        let sent = Command::new("kill").args([&format!("-{name}"), pid]).status();
        assert!(
            sent.expect("the kill command is installed").success(),
            "could not send {name} to process {pid}"
        );
    }

    /// Repeats a command until its answer satisfies the condition.
    pub async fn wait_until(&mut self, words: &[&str], condition: impl Fn(&str) -> bool) {
        let ask = async || self.query::<String>(words).await;
        poll_until(BOUND, ask, |answer| condition(answer)).await;
    }
}

async fn query<T: FromRedisValue>(connection: &mut MultiplexedConnection, command: &Cmd) -> T {
    command.query_async(connection).await.expect("the node answers")
}

/// A cluster that no other test uses. It stops when it is dropped.
#[derive(Debug)]
pub struct OwnCluster {
    /// Its address.
    pub cluster: Cluster,
    /// The script that runs the nodes. It stops them when its standard input closes, also when the test is
    /// killed.
    script: Child,
}

impl OwnCluster {
    /// Starts the cluster.
    pub fn start() -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../infra/servers.sh");
        let mut script = Command::new(script)
            .args(["run", "--only", "cluster", "--", "sh", "-c"])
            .arg("echo \"$TEST_REDIS_CLUSTER_URL\"; echo \"$TEST_REDIS_CLUSTER_CA\"; cat")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the script can be started");
        let mut lines = BufReader::new(script.stdout.take().expect("piped")).lines();
        let mut line = || lines.next().expect("the cluster starts").expect("text");
        Self {
            cluster: Cluster {
                node: line(),
                ca_file: line().into(),
            },
            script,
        }
    }
}

impl Drop for OwnCluster {
    fn drop(&mut self) {
        drop(self.script.stdin.take());
        let _ = self.script.wait();
    }
}
