//! A headless Chromium as a process, spoken to by its own debugging protocol over two pipes.
//!
//! Whatever becomes of the test, the pipes close with its process, and the browser ends when they do.

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

/// A browser answers, or ends, within this, also where the machine is busy.
const ANSWER: Duration = Duration::from_mins(1);
const END: Duration = Duration::from_secs(5);

/// The browser reads orders from descriptor 3 and answers on 4; `exec` keeps its process ours.
const ON_PIPES: &str = r#"exec "$0" "$@" 3<&0 4>&1 </dev/null >&2"#;

const ARGUMENTS: [&str; 11] = [
    "--headless=new",
    "--remote-debugging-pipe",
    // Containers have root alone, and no namespaces to spare: the page is our own.
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    // Nothing but the page is asked for, and nobody but this machine.
    "--no-proxy-server",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
];

/// A running browser; closed when dropped.
pub(crate) struct Chromium {
    wire: Arc<Wire>,
    child: Child,
    folder: TempDir,
}

/// What is said to the browser, and what it answers.
pub(crate) struct Wire {
    orders: Mutex<Option<ChildStdin>>,
    number: AtomicU64,
    /// Who waits for the answer of that number.
    waiting: Mutex<HashMap<u64, oneshot::Sender<Value>>>,
    faults: Mutex<Vec<String>>,
}

impl Chromium {
    /// Starts a browser with a fresh profile.
    pub(crate) async fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let log = File::create(folder.path().join("log")).expect("a file");
        let program = std::env::var_os("VESTIBULE_CHROMIUM").map_or_else(|| "chromium".into(), PathBuf::from);
        let mut child = Command::new("sh")
            .args(["-c", ON_PIPES])
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
        let wire = Arc::new(Wire {
            orders: Mutex::new(child.stdin.take()),
            number: AtomicU64::new(0),
            waiting: Mutex::default(),
            faults: Mutex::default(),
        });
        let answers = child.stdout.take().expect("piped");
        thread::spawn({
            let wire = wire.clone();
            move || wire.read(answers)
        });
        let this = Self { wire, child, folder };
        if this
            .wire
            .ask(None, "Browser.getVersion", json!({}))
            .await
            .is_none()
        {
            let log = fs::read_to_string(this.folder.path().join("log")).unwrap_or_default();
            panic!("no Chromium: install it, or name it in VESTIBULE_CHROMIUM\n{log}");
        }
        this
    }

    /// Opens a tab in front of the others.
    pub(crate) async fn tab(&self) -> Tab {
        Tab::open(self.wire.clone()).await
    }

    /// What pages threw, or did against their policy.
    pub(crate) fn faults(&self) -> Vec<String> {
        self.wire.faults.lock().expect("no panic").clone()
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        // No more orders: the browser closes, and leaves nothing behind.
        self.wire.orders.lock().expect("no panic").take();
        let started = Instant::now();
        while started.elapsed() < END {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Wire {
    /// Carries an order out.
    ///
    /// Panics where the browser refuses it.
    pub(crate) async fn order(&self, session: Option<&str>, method: &str, parameters: Value) -> Value {
        let mut answer = self
            .ask(session, method, parameters)
            .await
            .expect("the browser runs");
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].take()
    }

    /// The same, answered with the whole message; with nothing where the browser has ended.
    pub(crate) async fn ask(&self, session: Option<&str>, method: &str, parameters: Value) -> Option<Value> {
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = oneshot::channel();
        self.waiting.lock().expect("no panic").insert(number, sender);
        let mut order = json!({ "id": number, "method": method, "params": parameters });
        if let Some(session) = session {
            order["sessionId"] = json!(session);
        }
        // Short enough for the pipe. Where it is broken, nobody answers.
        let _ = (self.orders.lock().expect("no panic").as_mut())
            .expect("open until dropped")
            .write_all(format!("{order}\0").as_bytes());
        timeout(ANSWER, receiver)
            .await
            .unwrap_or_else(|_| panic!("the browser did not answer {method}"))
            .ok()
    }

    fn read(&self, answers: ChildStdout) {
        for message in BufReader::new(answers).split(0).map_while(Result::ok) {
            let message: Value = serde_json::from_slice(&message).expect("JSON");
            if let Some(number) = message["id"].as_u64() {
                let waiting = self.waiting.lock().expect("no panic").remove(&number);
                // Whoever gave up does not mind.
                let _ = waiting.map(|sender| sender.send(message));
            } else if let Some(fault) = fault(&message) {
                self.faults.lock().expect("no panic").push(fault);
            }
        }
        self.waiting.lock().expect("no panic").clear();
    }
}

/// What an event says of a page that did wrong. Answers that did not come are no fault of the page.
fn fault(event: &Value) -> Option<String> {
    let (parameters, entry) = (&event["params"], &event["params"]["entry"]);
    match event["method"].as_str()? {
        "Runtime.exceptionThrown" => Some(parameters["exceptionDetails"].to_string()),
        "Log.entryAdded" if entry["level"] == "error" && entry["source"] != "network" => {
            Some(entry.to_string())
        }
        _ => None,
    }
}
