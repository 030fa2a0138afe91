//! The console of a deployed stack as a child process.

use std::{
    io::{BufRead, BufReader, Read},
    path::PathBuf,
    process::{Child, ChildStdout, Command, ExitStatus, Stdio},
    sync::OnceLock,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::programs::build_programs;

/// What the first line that the console prints has before its address.
const GREETING: &str = " is at ";
/// The sampler answers within this time, also on a busy machine.
const BOUND: Duration = Duration::from_mins(1);

/// The address of a console with its key, as the program prints it.
#[derive(Debug, Clone)]
pub struct ConsoleAddress {
    /// The address of the page without the key, which ends with `/operate/`.
    pub page: String,
    /// The key.
    pub key: String,
}

impl ConsoleAddress {
    /// Reads the address that a program printed.
    ///
    /// # Panics
    /// If it has no key.
    pub fn new(printed: &str) -> Self {
        let (page, key) = printed.split_once("?key=").expect("the address has a key");
        Self {
            page: page.to_owned(),
            key: key.to_owned(),
        }
    }

    /// The URL of a path below the page, with the key.
    pub fn url(&self, path: &str) -> String {
        format!("{}{path}?key={}", self.page, self.key)
    }
}

/// A running console. Dropping it kills the process.
#[derive(Debug)]
pub struct StackConsole {
    child: Child,
    /// Its address.
    pub address: ConsoleAddress,
    /// Kept open, so that the console never writes into a closed pipe.
    _stdout: BufReader<ChildStdout>,
}

/// Variables of AWS that a developer may have set. The test gives its own.
pub(crate) const AWS_VARIABLES: [&str; 8] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_PROFILE",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "AWS_ENDPOINT_URL",
    "STACK",
];

impl StackConsole {
    /// Starts the console of a stack with these variables of AWS and no others.
    ///
    /// # Errors
    /// What the process wrote to standard error, if it ended instead of serving.
    ///
    /// # Panics
    /// If the program cannot be started.
    pub fn start(stack: &str, variables: &[(&str, &str)]) -> Result<Self, String> {
        static BINARY: OnceLock<PathBuf> = OnceLock::new();
        let mut program = Command::new(BINARY.get_or_init(find_binary));
        for variable in AWS_VARIABLES {
            program.env_remove(variable);
        }
        program
            .args([stack, "--port", "0"])
            .env("AWS_CONFIG_FILE", "/dev/null")
            .env("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
            .env("AWS_EC2_METADATA_DISABLED", "true")
            .envs(variables.iter().copied());
        let program = program.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = program.spawn().expect("the console can be started");
        let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
        let mut line = String::new();
        stdout.read_line(&mut line).expect("text");
        let Some((_, address)) = line.trim_end().split_once(GREETING) else {
            let mut errors = String::new();
            let mut stderr = child.stderr.take().expect("piped");
            stderr.read_to_string(&mut errors).expect("text");
            child.wait().expect("the process can be waited for");
            return Err(errors);
        };
        Ok(Self {
            address: ConsoleAddress::new(address),
            child,
            _stdout: stdout,
        })
    }

    /// Reads the overview until it is as the test expects.
    ///
    /// # Panics
    /// If it is not after a minute.
    pub async fn await_overview(&self, is_so: impl Fn(&Value) -> bool) -> Value {
        await_overview(&self.address, is_so).await
    }
}

/// The program of the console: `VESTIBULE_STACK_CONSOLE_BIN`, or the one built beside this test.
fn find_binary() -> PathBuf {
    match std::env::var_os("VESTIBULE_STACK_CONSOLE_BIN") {
        Some(path) => path.into(),
        None => build_programs().join("vestibule-stack-console"),
    }
}

/// Reads the overview of the console at this address until it is as the test expects.
///
/// # Panics
/// If it is not after a minute.
pub async fn await_overview(address: &ConsoleAddress, is_so: impl Fn(&Value) -> bool) -> Value {
    let started_at = Instant::now();
    loop {
        let answer = reqwest::get(address.url("overview")).await.expect("answered");
        let overview: Value = answer.json().await.expect("JSON");
        if is_so(&overview) {
            return overview;
        }
        assert!(started_at.elapsed() < BOUND, "the overview stays {overview}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

impl StackConsole {
    /// Sends the signal of this name, and waits for the end.
    ///
    /// # Panics
    /// If it does not end in time.
    pub async fn stop(mut self, signal: &str) -> ExitStatus {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args([&format!("-{signal}"), &pid]).status();
        assert!(
            sent.expect("kill can be started").success(),
            "the signal was not sent"
        );
        let began_at = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("it can be waited for") {
                return status;
            }
            assert!(began_at.elapsed() < BOUND, "the console goes on");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

impl Drop for StackConsole {
    fn drop(&mut self) {
        // Killing fails if the process has exited already, which is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
