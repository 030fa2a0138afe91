//! A Redis server that one test has for itself: to fill its memory, to change its users, or for a runner, which creates its
//! demonstration queue there.

// A panic in the harness fails the test.
#![allow(clippy::missing_panics_doc)]

use std::{
    net::{TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use vestibule_line::Line;

/// The longest time that a server may take to start on a busy machine.
const START_BOUND: Duration = Duration::from_mins(1);

/// A server of one test. It stops when it is dropped.
#[derive(Debug)]
pub struct OwnRedis {
    child: Child,
    port: u16,
}

impl OwnRedis {
    /// Starts a server that evicts nothing and stores nothing.
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts such a server with further options. It accepts connections when this returns.
    pub fn start_with(options: &[&str]) -> Self {
        let port = TcpListener::bind("127.0.0.1:0")
            .and_then(|l| l.local_addr())
            .expect("a free port")
            .port();
        let child = Command::new("redis-server")
            .args(["--bind", "127.0.0.1", "--port", &port.to_string()])
            .args(["--save", "", "--appendonly", "no"])
            .args(["--maxmemory-policy", "noeviction"])
            .args(options)
            .stdout(Stdio::null())
            .spawn()
            .expect("redis-server is installed");
        let end = Instant::now() + START_BOUND;
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < end, "the server did not start");
            thread::sleep(Duration::from_millis(5));
        }
        Self { child, port }
    }

    /// Its address, without a user.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Its address for a user of the server whose password may be any.
    pub fn url_for_user(&self, user: &str) -> String {
        format!("redis://{user}:any@127.0.0.1:{}", self.port)
    }

    /// A line on the server.
    pub async fn line(&self) -> Line {
        Line::connect(&self.url()).await.expect("it answers")
    }

    /// Sets the memory limit below what the server uses.
    pub fn fill(&self) {
        self.run(&["config", "set", "maxmemory", "1"]);
    }

    /// Runs a command of the server's administrator.
    pub fn run(&self, command: &[&str]) {
        let done = Command::new("redis-cli")
            .args(["-p", &self.port.to_string()])
            .args(command)
            .output();
        assert_eq!(done.expect("redis-cli is installed").stdout, b"OK\n");
    }

    /// Stops the server.
    pub fn stop(&mut self) {
        // Killing fails if the process has exited already, which is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for OwnRedis {
    fn drop(&mut self) {
        self.stop();
    }
}
