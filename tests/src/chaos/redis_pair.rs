//! The Redis of a run and its replica. A fault may kill or stop the primary, restart it with stale data, or
//! promote the replica.

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

use crate::network::{Network, NetworkState};

/// The time limit for the start of a server.
const START_MAX: Duration = Duration::from_secs(20);
/// The file that a server reads at its start.
const SNAPSHOT: &str = "dump.rdb";

/// A server process. It is killed when dropped.
#[derive(Debug)]
struct Server {
    child: Child,
    address: SocketAddr,
    folder: PathBuf,
}

/// The primary and its replica, and the networks in front of them.
#[derive(Debug)]
pub(super) struct RedisPair {
    primary: Server,
    replica: Server,
    /// The network between clients and the primary.
    front: Network,
    /// The network between the replica and the primary.
    link: Network,
    address: watch::Sender<SocketAddr>,
    folder: tempfile::TempDir,
    started: usize,
}

impl Server {
    /// Starts a server in a folder with the data in it, and waits until it answers.
    async fn start(folder: &Path, primary: Option<SocketAddr>) -> Self {
        let end = Instant::now() + START_MAX;
        loop {
            if let Some(server) = Self::try_start(folder, primary, end).await {
                return server;
            }
            assert!(Instant::now() < end, "redis-server did not start in time");
        }
    }

    /// Starts a server. `None` if another process took the port in the meantime.
    async fn try_start(folder: &Path, primary: Option<SocketAddr>, end: Instant) -> Option<Self> {
        let free = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = free.local_addr().expect("the listener has an address");
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
            if server
                .child
                .try_wait()
                .expect("the child can be waited for")
                .is_some()
            {
                return None;
            }
            if server.is_up().await {
                return Some(server);
            }
            sleep(Duration::from_millis(5)).await;
        }
        None
    }

    /// Whether the server answers and is this process.
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
        self.child.kill().expect("the child can be killed");
        self.child.wait().expect("the child can be waited for");
    }

    async fn run_command(&self, command: &redis::Cmd) {
        let end = Instant::now() + START_MAX;
        loop {
            let done = async { command.query_async::<()>(&mut connect(self.address).await?).await };
            match done.await {
                Ok(()) => return,
                Err(error) => assert!(Instant::now() < end, "redis-server refuses the command: {error}"),
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

impl RedisPair {
    /// Starts both servers without data.
    pub(super) async fn start() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let primary = Server::start(&create_folder(&folder, 0), None).await;
        let (front, link) = (
            Network::open_before(primary.address).await,
            Network::open_before(primary.address).await,
        );
        let replica = Server::start(&create_folder(&folder, 1), Some(link.address)).await;
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

    /// The URL for functions.
    pub(super) fn url(&self) -> String {
        format!("redis://{}", self.front.address)
    }

    /// The address of the primary itself, for observers.
    pub(super) fn address(&self) -> watch::Receiver<SocketAddr> {
        self.address.subscribe()
    }

    /// Sets the state of the network in front of the primary.
    pub(super) fn set_network(&self, state: NetworkState) {
        self.front.set_state(state);
    }

    /// Sends a signal to the primary.
    pub(super) fn signal(&self, name: &str) {
        self.primary.signal(name);
    }

    /// Kills the primary, which restarts without data.
    pub(super) async fn restart_empty(&mut self, down: Duration) {
        self.primary.kill();
        sleep(down).await;
        let folder = self.next_folder();
        self.restart_in(&folder).await;
    }

    /// Kills the primary, which restarts with the data that it had some time before.
    pub(super) async fn restart_stale(&mut self, stale: Duration, down: Duration) {
        self.primary.run_command(&redis::cmd("SAVE")).await;
        let folder = self.next_folder();
        fs::copy(self.primary.folder.join(SNAPSHOT), folder.join(SNAPSHOT))
            .expect("the server saved a snapshot");
        sleep(stale).await;
        self.primary.kill();
        sleep(down).await;
        self.restart_in(&folder).await;
    }

    /// Stalls the replication for some time, kills the primary and promotes the replica.
    pub(super) async fn fail_over(&mut self, stale: Duration) {
        self.link.set_state(NetworkState::Stalled);
        sleep(stale).await;
        self.primary.kill();
        self.replica
            .run_command(redis::cmd("REPLICAOF").arg("NO").arg("ONE"))
            .await;
        let folder = self.next_folder();
        // The changes that are stalled on the link are lost with it.
        self.link.connect_to(self.replica.address);
        self.link.set_state(NetworkState::Open);
        self.front.connect_to(self.replica.address);
        self.address.send_replace(self.replica.address);
        let next = Server::start(&folder, Some(self.link.address)).await;
        self.primary = std::mem::replace(&mut self.replica, next);
    }

    async fn restart_in(&mut self, folder: &Path) {
        self.primary = Server::start(folder, None).await;
        self.front.connect_to(self.primary.address);
        self.link.connect_to(self.primary.address);
        self.address.send_replace(self.primary.address);
    }

    fn next_folder(&mut self) -> PathBuf {
        self.started += 1;
        create_folder(&self.folder, self.started)
    }
}

fn create_folder(folder: &tempfile::TempDir, n: usize) -> PathBuf {
    let folder = folder.path().join(n.to_string());
    fs::create_dir(&folder).expect("the folder can be created");
    folder
}
