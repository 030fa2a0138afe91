//! A Redis server that a test freezes, kills and starts again.

use std::{
    net::{Ipv4Addr, SocketAddr, TcpListener},
    process::{Child, Command, Stdio},
    time::Duration,
};

use redis::aio::MultiplexedConnection;
use tempfile::TempDir;
use tokio::time::{Instant, sleep};
use vestibule_tests::{in_process::BOUND, servers, waiting::wait_until};

/// A server of one test. Its data survives a kill.
pub(crate) struct Server {
    child: Child,
    pub(crate) port: u16,
    dir: TempDir,
    is_cluster: bool,
}

impl Server {
    pub(crate) fn start(is_cluster: bool) -> Self {
        // Opens both listeners at once, so that the ports differ. The second port is for the cluster bus.
        let listeners = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").expect("a free port"));
        let [port, bus] = listeners
            .each_ref()
            .map(|l| l.local_addr().expect("an address").port());
        drop(listeners);
        let dir = tempfile::tempdir().expect("a folder");
        if is_cluster {
            let options = format!(
                "cluster-enabled yes\ncluster-port {bus}\ncluster-announce-ip 127.0.0.1\n\
                 cluster-require-full-coverage no\n"
            );
            std::fs::write(dir.path().join("more.conf"), options).expect("written");
        } else {
            std::fs::write(dir.path().join("more.conf"), "").expect("written");
        }
        let child = Self::launch(&dir, port);
        Self {
            child,
            port,
            dir,
            is_cluster,
        }
    }

    fn launch(dir: &TempDir, port: u16) -> Child {
        Command::new("redis-server")
            .arg(dir.path().join("more.conf"))
            .args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--save", ""])
            .args(["--appendonly", "yes", "--appendfsync", "always"])
            .args(["--repl-diskless-sync-delay", "0", "--dir"])
            .arg(dir.path())
            .stdout(Stdio::null())
            .spawn()
            .expect("redis-server is installed")
    }

    pub(crate) fn url(&self) -> String {
        let scheme = if self.is_cluster { "redis+cluster" } else { "redis" };
        format!("{scheme}://127.0.0.1:{}", self.port)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    /// A connection of the test to the server itself, once the server answers.
    pub(crate) async fn connect(&self) -> MultiplexedConnection {
        let address = format!("redis://{}", self.address());
        let client = redis::Client::open(address).expect("an address");
        let reach = async || client.get_multiplexed_async_connection().await.is_ok();
        wait_until(BOUND, "the server answers", reach).await;
        servers::connect_redis(client).await
    }

    pub(crate) async fn assign_slots(&self) {
        let end = Instant::now() + BOUND;
        let cli = |words: &[&str]| {
            let port = self.port.to_string();
            let said = Command::new("redis-cli").args(["-p", &port]).args(words).output();
            String::from_utf8(said.expect("redis-cli is installed").stdout).expect("text")
        };
        while !cli(&["cluster", "info"]).contains("cluster_state:ok") {
            assert!(Instant::now() < end, "no cluster in {BOUND:?}");
            cli(&["cluster", "addslotsrange", "0", "16383"]);
            sleep(Duration::from_millis(50)).await;
        }
    }

    fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let status = Command::new("kill").args([name, &pid]).status();
        assert!(status.expect("the kill command is installed").success());
    }

    /// Stops the process with SIGSTOP: it no longer answers, and its connections stay open.
    pub(crate) fn freeze(&mut self) {
        self.signal("-STOP");
    }

    pub(crate) fn thaw(&mut self) {
        self.signal("-CONT");
    }

    /// Kills the process with SIGKILL.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
    }

    pub(crate) fn restart(&mut self) {
        self.child = Self::launch(&self.dir, self.port);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
