//! The one-process runner as a process: started in a folder, stopped by signals, asked over HTTP.

use std::{
    io::{BufRead, BufReader, Read},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{OnceLock, mpsc},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::programs::built;

/// A runner says its address, or ends, within this.
const START_TIMEOUT: Duration = Duration::from_secs(30);
/// What a runner's first line starts with.
const GREETING: &str = "Vestibule is at ";

/// A running runner; killed when dropped.
#[derive(Debug)]
pub struct Runner {
    child: Child,
    address: String,
    http: reqwest::Client,
}

/// A runner that ended by itself.
#[derive(Debug)]
pub struct FailedStart {
    /// How.
    pub status: ExitStatus,
    /// What it said of it.
    pub stderr: String,
}

impl Runner {
    /// Starts a runner on a free port, with a folder and further arguments.
    ///
    /// # Errors
    /// [`FailedStart`] where it did not come up.
    ///
    /// # Panics
    /// Where it neither comes up nor ends.
    pub fn start(dir: &Path, arguments: &[&str]) -> Result<Self, FailedStart> {
        Self::start_on(dir, 0, arguments)
    }

    /// The same on a port.
    ///
    /// # Errors
    /// As [`Runner::start`].
    ///
    /// # Panics
    /// As [`Runner::start`].
    pub fn start_on(dir: &Path, port: u16, arguments: &[&str]) -> Result<Self, FailedStart> {
        let mut child = Command::new(binary_path())
            .args(["--dir", &dir.display().to_string(), "--port", &port.to_string()])
            .args(arguments)
            .env_remove("RUST_LOG")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the runner can be started");
        let Some(greeting) = read_greeting(&mut child) else {
            let mut stderr = String::new();
            child
                .stderr
                .take()
                .expect("piped")
                .read_to_string(&mut stderr)
                .expect("text");
            let status = child.wait().expect("it ended");
            return Err(FailedStart { status, stderr });
        };
        forward_stderr(&mut child);
        Ok(Self {
            child,
            address: greeting.trim_end_matches('/').to_owned(),
            http: reqwest::Client::new(),
        })
    }

    /// An address on it.
    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.address)
    }

    /// Its host and port.
    pub fn host_and_port(&self) -> &str {
        self.address.trim_start_matches("http://")
    }

    /// Sends a signal, such as `TERM`.
    ///
    /// # Panics
    /// Where it has ended already.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill")
            .args([&format!("-{name}"), &self.child.id().to_string()])
            .status()
            .expect("kill can be started");
        assert!(sent.success(), "{name} was not sent");
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// Where it does not end in time.
    pub async fn wait_for_exit(&mut self, within: Duration) -> ExitStatus {
        let started = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("a child can be waited for") {
                return status;
            }
            assert!(started.elapsed() < within, "still running after {within:?}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Carries an order of an operator out.
    ///
    /// # Panics
    /// Where it was refused.
    pub async fn run_command(&self, order: Value) -> Value {
        let answer = self
            .http
            .post(self.url("/_admin"))
            .json(&order)
            .send()
            .await
            .expect("answered");
        let mut answer: Value = answer.json().await.expect("JSON");
        assert_eq!(answer["ok"], json!(true), "{order}: {answer}");
        answer["result"].take()
    }

    /// A visitor enters.
    ///
    /// # Panics
    /// Where the visitor is refused.
    pub async fn enter(&self, queue: &str, visitor: &str) -> Value {
        let entering = self
            .http
            .post(self.url(&format!("/queues/{queue}/entries")))
            .header("X-Visitor-Id", visitor)
            .json(&json!({}));
        let answer = entering.send().await.expect("answered");
        assert!(answer.status().is_success(), "{}", answer.status());
        answer.json().await.expect("JSON")
    }

    /// Where an entry stands, after `wait` seconds at most.
    ///
    /// # Errors
    /// What the connection ran into.
    pub async fn entry_status(&self, queue: &str, token: &str, wait: u32) -> reqwest::Result<Value> {
        let url = self.url(&format!("/queues/{queue}/entries/{token}?wait={wait}"));
        self.http.get(url).send().await?.json().await
    }

    /// For whatever else there is to ask.
    pub fn http(&self) -> &reqwest::Client {
        &self.http
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        // One that has ended already cannot be killed: all the same.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port that nobody listens on; and to keep it so for a moment, its listener.
///
/// # Panics
/// Where the machine has no free port.
pub fn reserve_port() -> (u16, TcpListener) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    (listener.local_addr().expect("it has an address").port(), listener)
}

/// The address that a runner says first; `None` where it ends before.
fn read_greeting(child: &mut Child) -> Option<String> {
    let stdout = BufReader::new(child.stdout.take().expect("piped"));
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        // Read to the end, so that the runner never writes into a pipe that is full or gone.
        for line in stdout.lines().map_while(Result::ok) {
            let _ = sender.send(line);
        }
    });
    match receiver.recv_timeout(START_TIMEOUT) {
        Ok(line) => Some(
            line.strip_prefix(GREETING)
                .unwrap_or_else(|| panic!("{line}"))
                .to_owned(),
        ),
        Err(mpsc::RecvTimeoutError::Disconnected) => None,
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("the runner neither came up nor ended"),
    }
}

/// What a runner logs is part of a failed test's output.
fn forward_stderr(child: &mut Child) {
    let stderr = BufReader::new(child.stderr.take().expect("piped"));
    thread::spawn(move || {
        for line in stderr.lines().map_while(Result::ok) {
            eprintln!("runner: {line}");
        }
    });
}

/// The runner's program: `VESTIBULE_LOCAL_BIN`, or built beside this test.
fn binary_path() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| match std::env::var_os("VESTIBULE_LOCAL_BIN") {
        Some(path) => path.into(),
        None => built("vestibule-local").join("vestibule-local"),
    })
}
