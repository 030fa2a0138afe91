//! The one-process runner as a child process: a test starts it in a folder, sends it HTTP requests, and stops it with
//! signals.

mod process;

use std::{
    io::Read,
    net::TcpListener,
    path::Path,
    process::{Child, Command, ExitStatus, Output},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::stack_console::ConsoleAddress;

use self::process::{binary_path, forward_stderr, read_greeting, spawn_child};

/// A running runner. Dropping it kills the process.
#[derive(Debug)]
pub struct Runner {
    child: Child,
    address: String,
    /// Its console.
    pub console: ConsoleAddress,
    http: reqwest::Client,
    /// Reads the log until the process ends.
    log: Option<JoinHandle<String>>,
}

/// The program of the runner.
pub fn program() -> &'static Path {
    binary_path()
}

/// Runs `vestibule-local ticket` in a folder, with further arguments.
///
/// # Panics
/// Panics if the program cannot be started.
pub fn run_ticket_command(dir: &Path, arguments: &[&str]) -> Output {
    let mut program = Command::new(binary_path());
    program.arg("ticket").arg("--dir").arg(dir).args(arguments);
    program.output().expect("the program can be started")
}

/// A runner that exited instead of serving.
#[derive(Debug)]
pub struct FailedStart {
    /// The exit status.
    pub status: ExitStatus,
    /// What the process wrote to standard error.
    pub stderr: String,
}

impl Runner {
    /// Starts a runner on a free port, in the folder `dir`, with further arguments.
    ///
    /// # Errors
    /// [`FailedStart`] if the process exits before it prints its address.
    ///
    /// # Panics
    /// Panics if the process neither prints its address nor exits in time.
    pub fn start(dir: &Path, arguments: &[&str]) -> Result<Self, FailedStart> {
        Self::start_on(dir, 0, arguments)
    }

    /// Starts a runner on the given port. Port 0 means a free one.
    ///
    /// # Errors
    /// As [`Runner::start`].
    ///
    /// # Panics
    /// As [`Runner::start`].
    pub fn start_on(dir: &Path, port: u16, arguments: &[&str]) -> Result<Self, FailedStart> {
        Self::spawn(Command::new(binary_path()), dir, port, arguments)
    }

    /// Starts a runner that survives [`limit_files`](Self::limit_files).
    ///
    /// # Errors
    /// As [`Runner::start`].
    ///
    /// # Panics
    /// As [`Runner::start`].
    pub fn start_for_full_disk(dir: &Path, arguments: &[&str]) -> Result<Self, FailedStart> {
        // Without this, the signal of the limit would end the process.
        Self::start_ignoring("XFSZ", dir, arguments)
    }

    /// Starts a runner that ignores this signal from its beginning, as `nohup` does with HUP.
    ///
    /// # Errors
    /// As [`Runner::start`].
    ///
    /// # Panics
    /// As [`Runner::start`].
    pub fn start_ignoring(signal: &str, dir: &Path, arguments: &[&str]) -> Result<Self, FailedStart> {
        let mut shell = Command::new("bash");
        shell
            .args(["-c", &format!("trap '' {signal}; exec \"$0\" \"$@\"")])
            .arg(binary_path());
        Self::spawn(shell, dir, 0, arguments)
    }

    /// Lets no file of the process grow beyond this many bytes, as on a full disk; `None` removes the limit.
    ///
    /// # Panics
    /// Panics if the process has exited already.
    pub fn limit_files(&self, bytes: Option<u64>) {
        let limit = bytes.map_or_else(|| "unlimited".to_owned(), |bytes| bytes.to_string());
        let set = Command::new("prlimit")
            .args([
                "--pid",
                &self.child.id().to_string(),
                &format!("--fsize={limit}:unlimited"),
            ])
            .status()
            .expect("prlimit can be started");
        assert!(set.success(), "the limit could not be set");
    }

    /// Starts a runner and kills it after this time, wherever its start has come by then.
    ///
    /// # Panics
    /// Panics if the runner cannot be started.
    pub fn kill_while_starting(dir: &Path, after: Duration) {
        let mut child = spawn_child(Command::new(binary_path()), dir, 0, &["--demo-visitors", "0"]);
        thread::sleep(after);
        child.kill().expect("the runner can be killed");
        child.wait().expect("the process can be waited for");
    }

    fn spawn(program: Command, dir: &Path, port: u16, arguments: &[&str]) -> Result<Self, FailedStart> {
        let mut child = spawn_child(program, dir, port, arguments);
        let Some([greeting, console]) = read_greeting(&mut child) else {
            let mut stderr = String::new();
            child
                .stderr
                .take()
                .expect("piped")
                .read_to_string(&mut stderr)
                .expect("text");
            let status = child.wait().expect("the process can be waited for");
            return Err(FailedStart { status, stderr });
        };
        let log = Some(forward_stderr(&mut child));
        Ok(Self {
            child,
            log,
            address: greeting.trim_end_matches('/').to_owned(),
            console: ConsoleAddress::new(&console),
            http: reqwest::Client::new(),
        })
    }

    /// The URL of a path on this runner.
    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.address)
    }

    /// The host and port, such as `127.0.0.1:8080`.
    pub fn host_and_port(&self) -> &str {
        self.address.trim_start_matches("http://")
    }

    /// Sends the signal of this name, such as `TERM`.
    ///
    /// # Panics
    /// Panics if the process has exited already.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill")
            .args([&format!("-{name}"), &self.child.id().to_string()])
            .status()
            .expect("kill can be started");
        assert!(sent.success(), "the signal {name} could not be sent");
    }

    /// Waits until the process exits.
    ///
    /// # Panics
    /// Panics if the process still runs after `within`.
    pub async fn wait_for_exit(&mut self, within: Duration) -> ExitStatus {
        let started = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("a child can be waited for") {
                return status;
            }
            assert!(
                started.elapsed() < within,
                "the runner still runs after {within:?}"
            );
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Stops the process in order, and kills it after this time, wherever its stop has come by then.
    ///
    /// # Panics
    /// Panics if the process still runs after `within`.
    pub async fn stop_and_kill(mut self, after: Duration, within: Duration) {
        // One shell sends both signals, because a program for each takes longer than the stop.
        let (pid, seconds) = (self.child.id(), after.as_secs_f64());
        let sent = Command::new("bash")
            .args([
                "-c",
                &format!("kill -TERM {pid}; sleep {seconds}; kill -KILL {pid}"),
            ])
            .status();
        sent.expect("bash can be started");
        self.wait_for_exit(within).await;
    }

    /// Ends the process with the signal of this name, and returns what it logged.
    ///
    /// # Panics
    /// Panics if the process still runs after `within`.
    pub async fn stop(mut self, signal: &str, within: Duration) -> String {
        self.signal(signal);
        self.wait_for_exit(within).await;
        let log = self.log.take().expect("the log is taken once");
        log.join().expect("reading the log does not panic")
    }

    /// Runs a command of an operator and returns its result. Sends it again while the line does not answer in time, as an
    /// operator does: on a busy machine, Redis may not.
    ///
    /// # Panics
    /// Panics if the runner refuses the command, or if the line does not answer for a minute.
    pub async fn run_command(&self, command: Value) -> Value {
        let until = Instant::now() + Duration::from_mins(1);
        let mut answer = loop {
            let request = self.http.post(self.url("/_admin")).json(&command);
            let answer = request.send().await.expect("answered");
            let answer: Value = answer.json().await.expect("JSON");
            if answer["problem"]["code"] != "line-unavailable" || Instant::now() > until {
                break answer;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        };
        assert_eq!(answer["ok"], json!(true), "{command}: {answer}");
        answer["result"].take()
    }

    /// Enters the queue as a visitor and returns the entry. Asks again after a 503, as every client does: on a busy machine
    /// a crowd that enters at once may wait longer for Redis than a request does.
    ///
    /// # Panics
    /// Panics if the runner refuses the visitor, or answers nothing but 503 for half a minute.
    pub async fn enter(&self, queue: &str, visitor: &str) -> Value {
        let url = self.url(&format!("/queues/{queue}/entries"));
        let enter = || {
            let request = self.http.post(&url).header("X-Visitor-Id", visitor);
            request.json(&json!({}))
        };
        let answer = send_until_served(enter).await;
        assert!(
            answer.status().is_success(),
            "the visitor was refused: {}",
            answer.status()
        );
        answer.json().await.expect("JSON")
    }

    /// Reads the status of an entry with a poll that is not held.
    ///
    /// # Errors
    /// Any error of the connection or of decoding the JSON.
    pub async fn entry_status(&self, queue: &str, token: &str) -> reqwest::Result<Value> {
        let url = self.url(&format!("/queues/{queue}/entries/{token}"));
        self.http.get(url).send().await?.json().await
    }

    /// The HTTP client, for requests that no other method sends.
    pub fn http(&self) -> &reqwest::Client {
        &self.http
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        // Killing fails if the process has exited already, which is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a request, again each second while the answer is 503, for up to half a minute. A busy machine may answer so.
///
/// # Panics
/// Panics if the server does not answer.
pub async fn send_until_served(build: impl Fn() -> reqwest::RequestBuilder) -> reqwest::Response {
    let until = Instant::now() + Duration::from_secs(30);
    loop {
        let answer = build().send().await.expect("the server answers");
        if answer.status() != StatusCode::SERVICE_UNAVAILABLE || Instant::now() >= until {
            return answer;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// Reserves a free port. The port stays taken as long as the listener lives.
///
/// # Panics
/// Panics if the machine has no free port.
pub fn reserve_port() -> (u16, TcpListener) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    (listener.local_addr().expect("it has an address").port(), listener)
}
