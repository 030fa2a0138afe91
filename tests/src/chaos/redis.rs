//! A Redis of a run's own and its replica, which may be killed, stopped, put back to what they were, and take each other's
//! place.

use std::{
    fs,
    net::{SocketAddr, TcpListener},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use redis::aio::MultiplexedConnection;
use tokio::{
    sync::watch,
    time::{Instant, sleep},
};

use super::tcp::{Flow, Network};

/// A server is up within this.
const START: Duration = Duration::from_secs(20);
/// What a server reads when it starts.
const SNAPSHOT: &str = "dump.rdb";

/// A server; killed when dropped.
#[derive(Debug)]
struct Server {
    child: Child,
    address: SocketAddr,
    folder: PathBuf,
}

/// Two servers, and the networks in front of them.
#[derive(Debug)]
pub(super) struct Pair {
    primary: Server,
    replica: Server,
    /// Where clients find the primary.
    front: Network,
    /// Where the replica finds the primary.
    link: Network,
    address: watch::Sender<SocketAddr>,
    folder: tempfile::TempDir,
    started: usize,
}

impl Server {
    /// Starts a server in a folder, with what it finds there, and waits until it answers.
    async fn start(folder: &Path, primary: Option<SocketAddr>) -> Self {
        let end = Instant::now() + START;
        loop {
            if let Some(server) = Self::try_start(folder, primary, end).await {
                return server;
            }
            assert!(Instant::now() < end, "redis-server does not start");
        }
    }

    /// `None` where somebody else took the port between our look and the server's.
    async fn try_start(folder: &Path, primary: Option<SocketAddr>, end: Instant) -> Option<Self> {
        let free = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = free.local_addr().expect("an address");
        drop(free);
        let mut command = Command::new("redis-server");
        command
            .args(["--bind", "127.0.0.1", "--port", &address.port().to_string()])
            .args([
                "--save",
                "",
                "--appendonly",
                "no",
                "--repl-diskless-sync-delay",
                "0",
            ])
            .arg("--dir")
            .arg(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        if let Some(primary) = primary {
            command.args(["--replicaof", "127.0.0.1", &primary.port().to_string()]);
        }
        let mut server = Self {
            child: command.spawn().expect("redis-server can be started"),
            address,
            folder: folder.to_owned(),
        };
        while Instant::now() < end {
            if server.child.try_wait().expect("a child").is_some() {
                return None;
            }
            if server.is_up().await {
                return Some(server);
            }
            sleep(Duration::from_millis(5)).await;
        }
        None
    }

    /// Whether it answers, and the one who answers is this process.
    async fn is_up(&self) -> bool {
        let Ok(mut connection) = connect(self.address).await else {
            return false;
        };
        let info: Result<String, _> = redis::cmd("INFO")
            .arg("server")
            .query_async(&mut connection)
            .await;
        let ours = format!("process_id:{}\r\n", self.child.id());
        info.is_ok_and(|info| info.contains(&ours))
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("kill")
            .args([&format!("-{name}"), &self.child.id().to_string()])
            .status();
        assert!(sent.expect("kill can be started").success());
    }

    fn kill(&mut self) {
        self.child.kill().expect("it is ours");
        self.child.wait().expect("it is ours");
    }

    async fn ask(&self, command: &redis::Cmd) {
        let end = Instant::now() + START;
        loop {
            let done = async { command.query_async::<()>(&mut connect(self.address).await?).await };
            match done.await {
                Ok(()) => return,
                Err(error) => assert!(Instant::now() < end, "redis-server does not do as told: {error}"),
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

async fn connect(address: SocketAddr) -> redis::RedisResult<MultiplexedConnection> {
    let client = redis::Client::open(format!("redis://{address}"))?;
    client.get_multiplexed_async_connection().await
}

impl Pair {
    /// Starts both, empty.
    pub(super) async fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let primary = Server::start(&fresh(&folder, 0), None).await;
        let (front, link) = (
            Network::before(primary.address).await,
            Network::before(primary.address).await,
        );
        let replica = Server::start(&fresh(&folder, 1), Some(link.address)).await;
        let (address, _) = watch::channel(primary.address);
        Self {
            primary,
            replica,
            front,
            link,
            address,
            folder,
            started: 2,
        }
    }

    /// Where functions find it.
    pub(super) fn url(&self) -> String {
        format!("redis://{}", self.front.address)
    }

    /// Where the primary itself is, for who only looks.
    pub(super) fn address(&self) -> watch::Receiver<SocketAddr> {
        self.address.subscribe()
    }

    /// From now on the network of the clients is like this.
    pub(super) fn set(&self, flow: Flow) {
        self.front.set(flow);
    }

    /// Sends the primary a signal.
    pub(super) fn signal(&self, name: &str) {
        self.primary.signal(name);
    }

    /// Kills the primary, which comes back empty.
    pub(super) async fn lose(&mut self, down: Duration) {
        self.primary.kill();
        sleep(down).await;
        let folder = self.next_folder();
        self.come_up(&folder).await;
    }

    /// Kills the primary, which comes back with what it held a while before.
    pub(super) async fn go_back(&mut self, behind: Duration, down: Duration) {
        self.primary.ask(&redis::cmd("SAVE")).await;
        let folder = self.next_folder();
        fs::copy(self.primary.folder.join(SNAPSHOT), folder.join(SNAPSHOT)).expect("a snapshot");
        sleep(behind).await;
        self.primary.kill();
        sleep(down).await;
        self.come_up(&folder).await;
    }

    /// Kills the primary; the replica, which has heard nothing for a while, takes its place.
    pub(super) async fn fail_over(&mut self, behind: Duration) {
        self.link.set(Flow::Stalled);
        sleep(behind).await;
        self.primary.kill();
        self.replica
            .ask(redis::cmd("REPLICAOF").arg("NO").arg("ONE"))
            .await;
        let folder = self.next_folder();
        // What is stalled on the link is dropped with it.
        self.link.lead_to(self.replica.address);
        self.link.set(Flow::Open);
        self.front.lead_to(self.replica.address);
        self.address.send_replace(self.replica.address);
        let next = Server::start(&folder, Some(self.link.address)).await;
        self.primary = std::mem::replace(&mut self.replica, next);
    }

    async fn come_up(&mut self, folder: &Path) {
        self.primary = Server::start(folder, None).await;
        self.front.lead_to(self.primary.address);
        self.link.lead_to(self.primary.address);
        self.address.send_replace(self.primary.address);
    }

    fn next_folder(&mut self) -> PathBuf {
        self.started += 1;
        fresh(&self.folder, self.started)
    }
}

fn fresh(folder: &tempfile::TempDir, n: usize) -> PathBuf {
    let folder = folder.path().join(n.to_string());
    fs::create_dir(&folder).expect("a new folder");
    folder
}
