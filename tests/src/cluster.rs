//! A cluster of Redis, node by node, and one of a test's own, whose nodes may be killed. `infra/servers.sh` makes both.

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

use crate::{servers, waiting::asked_until};

/// The longest that a cluster takes for anything.
const BOUND: Duration = Duration::from_secs(20);

/// Where a cluster is.
#[derive(Debug, Clone)]
pub struct Cluster {
    /// One of its nodes.
    node: String,
    /// The authority of its certificates.
    ca_file: PathBuf,
}

/// One server of a cluster.
pub struct Node {
    /// What the others call it.
    pub id: String,
    /// Where it listens.
    pub port: u16,
    /// The node that it follows; a primary follows nobody.
    pub follows: Option<String>,
    /// The slots of a primary, such as `0-5460`.
    pub slots: Vec<String>,
    /// A connection to it.
    pub link: MultiplexedConnection,
}

impl Cluster {
    /// The one of all suites.
    pub fn shared() -> Self {
        Self {
            node: servers::url("TEST_REDIS_CLUSTER_URL"),
            ca_file: servers::url("TEST_REDIS_CLUSTER_CA").into(),
        }
    }

    /// Its address, as the product is told it.
    pub fn url(&self) -> String {
        self.url_of(self.node.trim_start_matches("rediss://"))
    }

    /// The same by other nodes, with commas between.
    pub fn url_of(&self, nodes: &str) -> String {
        let path = self.ca_file.to_str().expect("text");
        let path = utf8_percent_encode(path, NON_ALPHANUMERIC);
        format!("rediss+cluster://{nodes}?ca_file={path}")
    }

    /// All of its nodes that this one knows to be alive.
    pub async fn nodes(&self) -> Vec<Node> {
        let mut link = self.link(&self.node).await;
        let known: String = ask(&mut link, redis::cmd("CLUSTER").arg("NODES")).await;
        let mut nodes = Vec::new();
        for line in known.lines().filter(|line| !line.contains("fail")) {
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
                follows: (fields[3] != "-").then(|| fields[3].to_owned()),
                slots: fields[8..].iter().map(|&slots| slots.to_owned()).collect(),
                link: self.link(&format!("rediss://{address}")).await,
            });
        }
        nodes
    }

    /// The primary that has a queue.
    pub async fn owner(&self, queue: &QueueId) -> Node {
        let mut nodes = self.nodes().await;
        let tag = format!("{{{queue}}}");
        let slot: u32 = ask(&mut nodes[0].link, redis::cmd("CLUSTER").arg("KEYSLOT").arg(tag)).await;
        let owner = nodes.into_iter().find(|node| node.has_slot(slot));
        owner.expect("each slot is somebody's")
    }

    /// A client of the whole cluster that hears what is published to it.
    pub async fn listener(&self, heard: UnboundedSender<PushInfo>) -> ClusterConnection {
        let client = ClusterClientBuilder::new([self.node.as_str()])
            .certs(self.certificates())
            .use_protocol(ProtocolVersion::RESP3)
            .push_sender(heard)
            .build()
            .expect("an address");
        client.get_async_connection().await.expect("it answers")
    }

    async fn link(&self, address: &str) -> MultiplexedConnection {
        let client = Client::build_with_tls(address, self.certificates());
        servers::link(client.expect("an address")).await
    }

    fn certificates(&self) -> TlsCertificates {
        // Two crates in the tree bring two crypto providers, and no line may have told rustls yet which.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        TlsCertificates {
            client_tls: None,
            root_cert: Some(std::fs::read(&self.ca_file).expect("an authority")),
        }
    }
}

impl Node {
    fn has_slot(&self, slot: u32) -> bool {
        self.slots.iter().any(|slots| {
            let (first, last) = slots.split_once('-').unwrap_or((slots, slots));
            let bound = |text: &str| text.parse::<u32>().expect("a slot");
            (bound(first)..=bound(last)).contains(&slot)
        })
    }

    /// The server's answer to a command.
    pub async fn ask<T: FromRedisValue>(&mut self, words: &[&str]) -> T {
        ask(&mut self.link, redis::cmd(words[0]).arg(&words[1..])).await
    }

    /// `kill -9`, and nothing of it is left: it kept nothing on disk.
    pub async fn kill(&mut self) {
        self.signal("KILL").await;
    }

    /// Nobody hears from it any more, and no connection breaks.
    pub async fn freeze(&mut self) {
        self.signal("STOP").await;
    }

    async fn signal(&mut self, name: &str) {
        let said: String = self.ask(&["INFO", "server"]).await;
        let pid = said.lines().find_map(|line| line.strip_prefix("process_id:"));
        let pid = pid.expect("a process");
        let sent = Command::new("kill").args([&format!("-{name}"), pid]).status();
        assert!(
            sent.expect("kill is there").success(),
            "{name} was not sent to {pid}"
        );
    }

    /// Waits until something is so.
    pub async fn until(&mut self, words: &[&str], is_so: impl Fn(&str) -> bool) {
        let ask = async || self.ask::<String>(words).await;
        asked_until(BOUND, ask, |said| is_so(said)).await;
    }
}

async fn ask<T: FromRedisValue>(link: &mut MultiplexedConnection, command: &Cmd) -> T {
    command.query_async(link).await.expect("the node answers")
}

/// A cluster that no other test has; gone when dropped.
#[derive(Debug)]
pub struct OwnCluster {
    /// Where it is.
    pub cluster: Cluster,
    /// Stops the nodes when nobody holds its input any more, also where the test is killed.
    script: Child,
}

impl OwnCluster {
    /// Starts it.
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
