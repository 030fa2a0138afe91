//! A headless Chromium as a process, which the test controls with the debugging protocol over two pipes.
//!
//! The pipes close when the test process ends in any way, and the browser ends when the pipes close.

use std::{
    collections::HashMap,
    fs::{self, File},
    io::{BufRead, BufReader, Write},
    path::PathBuf,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{sync::oneshot, time::timeout};

use crate::tab::Tab;

/// A browser answers or ends within this time, also on a busy machine.
const ANSWER_TIMEOUT: Duration = Duration::from_mins(1);
const EXIT_TIMEOUT: Duration = Duration::from_secs(5);

/// Starts the browser so that it reads commands from descriptor 3 and answers on 4. `exec` makes it the child process.
const START_WITH_PIPES: &str = r#"exec "$0" "$@" 3<&0 4>&1 </dev/null >&2"#;

const ARGUMENTS: [&str; 11] = [
    "--headless=new",
    "--remote-debugging-pipe",
    // A container often has only the root user and no namespaces, and the page is our own.
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    // The browser loads only the page, and only from this machine.
    "--no-proxy-server",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
];

/// A running browser. Dropping it closes the browser.
pub(crate) struct Chromium {
    connection: Arc<BrowserConnection>,
    child: Child,
    folder: TempDir,
}

/// The connection to the browser.
pub(crate) struct BrowserConnection {
    commands: Mutex<Option<ChildStdin>>,
    number: AtomicU64,
    /// The receivers of answers, by the number of the command.
    pending: Mutex<HashMap<u64, oneshot::Sender<Value>>>,
    page_errors: Mutex<Vec<String>>,
}

impl Chromium {
    /// Starts a browser with a fresh profile.
    pub(crate) async fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let log = File::create(folder.path().join("log")).expect("a file");
        let program = std::env::var_os("VESTIBULE_CHROMIUM").map_or_else(|| "chromium".into(), PathBuf::from);
        let mut child = Command::new("sh")
            .args(["-c", START_WITH_PIPES])
            .arg(program)
            .args(ARGUMENTS)
            .arg(format!(
                "--user-data-dir={}",
                folder.path().join("profile").display()
            ))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .expect("a shell can be started");
        let connection = Arc::new(BrowserConnection {
            commands: Mutex::new(child.stdin.take()),
            number: AtomicU64::new(0),
            pending: Mutex::default(),
            page_errors: Mutex::default(),
        });
        let output = child.stdout.take().expect("piped");
        thread::spawn({
            let connection = connection.clone();
            move || connection.read(output)
        });
        let chromium = Self {
            connection,
            child,
            folder,
        };
        if chromium
            .connection
            .exchange(None, "Browser.getVersion", json!({}))
            .await
            .is_none()
        {
            let log = fs::read_to_string(chromium.folder.path().join("log")).unwrap_or_default();
            panic!("Chromium did not start: install it, or name it in VESTIBULE_CHROMIUM\n{log}");
        }
        chromium
    }

    /// Opens a new tab in front of the others.
    pub(crate) async fn open_tab(&self) -> Tab {
        Tab::open(self.connection.clone()).await
    }

    /// The exceptions of the pages, and their violations of the content security policy.
    pub(crate) fn page_errors(&self) -> Vec<String> {
        self.connection
            .page_errors
            .lock()
            .expect("the mutex is not poisoned")
            .clone()
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        // Closing the pipe ends the browser, which removes its files.
        self.connection
            .commands
            .lock()
            .expect("the mutex is not poisoned")
            .take();
        let started = Instant::now();
        while started.elapsed() < EXIT_TIMEOUT {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl BrowserConnection {
    /// Sends a command and returns its result.
    ///
    /// Panics if the browser refuses the command.
    pub(crate) async fn send_command(&self, session: Option<&str>, method: &str, parameters: Value) -> Value {
        let mut answer = self
            .exchange(session, method, parameters)
            .await
            .expect("the browser is running");
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].take()
    }

    /// Sends a command and returns the whole answer. `None` if the browser has ended.
    pub(crate) async fn exchange(
        &self,
        session: Option<&str>,
        method: &str,
        parameters: Value,
    ) -> Option<Value> {
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = oneshot::channel();
        self.pending
            .lock()
            .expect("the mutex is not poisoned")
            .insert(number, sender);
        let mut command = json!({ "id": number, "method": method, "params": parameters });
        if let Some(session) = session {
            command["sessionId"] = json!(session);
        }
        // The command fits into the pipe. If the pipe is broken, no answer comes.
        let _ = (self.commands.lock().expect("the mutex is not poisoned").as_mut())
            .expect("the pipe is open until the browser is dropped")
            .write_all(format!("{command}\0").as_bytes());
        timeout(ANSWER_TIMEOUT, receiver)
            .await
            .unwrap_or_else(|_| panic!("the browser did not answer {method}"))
            .ok()
    }

    fn read(&self, output: ChildStdout) {
        for message in BufReader::new(output).split(0).map_while(Result::ok) {
            let message: Value = serde_json::from_slice(&message).expect("JSON");
            if let Some(number) = message["id"].as_u64() {
                let pending = self
                    .pending
                    .lock()
                    .expect("the mutex is not poisoned")
                    .remove(&number);
                // Sending fails only if the caller gave up.
                let _ = pending.map(|sender| sender.send(message));
            } else if let Some(page_error) = page_error(&message) {
                self.page_errors
                    .lock()
                    .expect("the mutex is not poisoned")
                    .push(page_error);
            }
        }
        self.pending.lock().expect("the mutex is not poisoned").clear();
    }
}

/// The error of a page that an event reports. Failed network requests do not count.
fn page_error(event: &Value) -> Option<String> {
    let (parameters, entry) = (&event["params"], &event["params"]["entry"]);
    match event["method"].as_str()? {
        "Runtime.exceptionThrown" => Some(parameters["exceptionDetails"].to_string()),
        "Log.entryAdded" if entry["level"] == "error" && entry["source"] != "network" => {
            Some(entry.to_string())
        }
        _ => None,
    }
}
