//! The process of a runner: its program, its first line and its log.

use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{OnceLock, mpsc},
    thread::{self, JoinHandle},
    time::Duration,
};

use crate::programs::build_programs;

/// A runner prints its address or exits within this time.
const START_TIMEOUT: Duration = Duration::from_secs(30);
/// The beginnings of the first two lines that a runner prints.
const GREETINGS: [&str; 2] = ["Vestibule is at ", "The console of operators is at "];

/// Reads the addresses that a runner prints first: its own, and that of its console. `None` if the process exits before that.
pub(super) fn read_greeting(child: &mut Child) -> Option<[String; 2]> {
    let stdout = BufReader::new(child.stdout.take().expect("piped"));
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        // Read to the end, so that the runner never writes into a full or closed pipe.
        for line in stdout.lines().map_while(Result::ok) {
            let _ = sender.send(line);
        }
    });
    let [own, console] = GREETINGS.map(|greeting| match receiver.recv_timeout(START_TIMEOUT) {
        Ok(line) => {
            let address = line.strip_prefix(greeting);
            Some(
                address
                    .unwrap_or_else(|| panic!("not a greeting: {line}"))
                    .to_owned(),
            )
        }
        Err(mpsc::RecvTimeoutError::Disconnected) => None,
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("the runner neither printed its address nor exited"),
    });
    Some([own?, console?])
}

/// Starts the program with its output piped.
pub(super) fn spawn_child(mut program: Command, dir: &Path, port: u16, arguments: &[&str]) -> Child {
    program
        .args(["--dir", &dir.display().to_string(), "--port", &port.to_string()])
        .args(arguments)
        .env_remove("RUST_LOG")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the runner can be started")
}

/// Copies the log of a runner to the output of the test, so that a failed test shows it. The thread returns the log
/// when the process has ended.
pub(super) fn forward_stderr(child: &mut Child) -> JoinHandle<String> {
    let stderr = BufReader::new(child.stderr.take().expect("piped"));
    thread::spawn(move || {
        let mut log = String::new();
        for line in stderr.lines().map_while(Result::ok) {
            eprintln!("runner: {line}");
            log += &line;
            log.push('\n');
        }
        log
    })
}

/// The program of the runner: `VESTIBULE_LOCAL_BIN`, or the one built beside this test.
pub(super) fn binary_path() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| match std::env::var_os("VESTIBULE_LOCAL_BIN") {
        Some(path) => path.into(),
        None => build_programs().join("vestibule-local"),
    })
}
