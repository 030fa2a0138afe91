//! The program `vestibule-rehearse` as a child process.

use std::{
    path::PathBuf,
    process::{Output, Stdio},
    sync::OnceLock,
    time::Duration,
};

use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, ChildStderr, Command},
    time::timeout,
};

use crate::programs::build_programs;

/// Longer than any rehearsal of a test.
const BOUND: Duration = Duration::from_mins(3);

/// What a rehearsal that has ended printed.
#[derive(Debug)]
pub struct RehearsalOutcome {
    /// The exit code.
    pub code: Option<i32>,
    /// The report, or what else it printed to standard output.
    pub stdout: String,
    /// The progress and the errors.
    pub stderr: String,
}

/// A rehearsal that runs.
#[derive(Debug)]
pub struct RunningRehearsal {
    child: Child,
    stderr: BufReader<ChildStderr>,
}

impl RehearsalOutcome {
    fn from_output(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("text");
        Self {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    /// The report as JSON, of a rehearsal with `--json`.
    ///
    /// # Panics
    /// If there is none.
    pub fn report(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }

    /// The row of the comparison with this name, of a report as JSON: what the visitors counted and what the server did.
    ///
    /// # Panics
    /// If there is none.
    pub fn compared(&self, name: &str) -> (u64, u64) {
        let report = self.report();
        let rows = report["comparison"]["rows"]["rows"].as_array().expect("rows");
        let row = rows.iter().find(|row| row["name"] == name).expect("a row");
        let number = |side: &str| row[side].as_u64().expect("a number");
        (number("crowd"), number("server"))
    }
}

/// Runs a rehearsal to its end.
///
/// # Panics
/// If it does not end in time.
pub async fn rehearse(arguments: &[&str], variables: &[(&str, &str)]) -> RehearsalOutcome {
    let mut program = program(arguments);
    program.envs(variables.iter().copied());
    let output = timeout(BOUND, program.output())
        .await
        .expect("the rehearsal ends");
    RehearsalOutcome::from_output(output.expect("the program can be started"))
}

impl RunningRehearsal {
    /// Starts a rehearsal.
    ///
    /// # Panics
    /// If the program cannot be started.
    pub fn start(arguments: &[&str]) -> Self {
        let mut child = program(arguments).spawn().expect("the program can be started");
        let stderr = BufReader::new(child.stderr.take().expect("piped"));
        Self { child, stderr }
    }

    /// Reads the progress up to the line that contains this text.
    ///
    /// # Panics
    /// If no such line comes in time.
    pub async fn wait_for_progress(&mut self, text: &str) {
        let mut lines = String::new();
        let read = async {
            loop {
                let from = lines.len();
                let count = self.stderr.read_line(&mut lines).await.expect("text");
                assert!(count > 0, "the rehearsal ended before {text}: {lines}");
                if lines[from..].contains(text) {
                    break;
                }
            }
        };
        timeout(BOUND, read).await.expect("the line comes");
    }

    /// Sends the signal of this name, and waits for the end.
    ///
    /// # Panics
    /// If it does not end in time.
    pub async fn stop(self, signal: &str) -> RehearsalOutcome {
        let pid = self.child.id().expect("it runs").to_string();
        let sent = Command::new("kill")
            .args([&format!("-{signal}"), &pid])
            .status()
            .await;
        assert!(
            sent.expect("kill can be started").success(),
            "the signal was not sent"
        );
        self.wait().await
    }

    /// Waits for the end.
    ///
    /// # Panics
    /// If it does not end in time.
    pub async fn wait(mut self) -> RehearsalOutcome {
        self.child.stderr = Some(self.stderr.into_inner());
        let output = timeout(BOUND, self.child.wait_with_output())
            .await
            .expect("it ends");
        RehearsalOutcome::from_output(output.expect("it can be waited for"))
    }
}

/// The program with its output piped: `VESTIBULE_REHEARSE_BIN`, or the one built beside this test.
fn program(arguments: &[&str]) -> Command {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    let binary = BINARY.get_or_init(|| match std::env::var_os("VESTIBULE_REHEARSE_BIN") {
        Some(path) => path.into(),
        None => build_programs().join("vestibule-rehearse"),
    });
    let mut program = Command::new(binary);
    program
        .args(arguments)
        .env_remove("VESTIBULE_SERVICE_KEY")
        .env_remove("AWS_ENDPOINT_URL")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    program
}
