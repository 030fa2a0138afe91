//! `make watch`: the functions under `cargo lambda watch`. The test compiles them, so it is a long one.

use std::{
    collections::BTreeSet,
    fs::File,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, SystemTime},
};

use futures_util::future::join_all;
use serde_json::{Value, json};
use vestibule_tests::{
    template::{example_path, read_api_document},
    waiting::poll_until,
};

/// The first start compiles the functions.
const START_MAX: Duration = Duration::from_mins(15);
/// A build of one crate and what depends on it, and the restart of all instances.
const RESTART_MAX: Duration = Duration::from_mins(10);
const REQUEST_MAX: Duration = Duration::from_mins(2);
/// As in the workspace's Cargo.toml.
const INSTANCES_MAX: usize = 4;
const VISITOR: &str = "11111111-1111-4111-8111-111111111111";
/// A source of every function.
const SOURCE: &str = "shared/api/src/routes/mod.rs";
const FUNCTIONS: [&str; 5] = ["document", "enter", "claim", "status", "validate"];

/// The functions, served as long as this lives.
struct Watch {
    script: Child,
    /// The command of `infra/watch.sh run` ends with it, so all servers stop even if the test is killed.
    stdin: Option<ChildStdin>,
    url: String,
    http: reqwest::Client,
}

impl Watch {
    fn start() -> Self {
        let mut script = Command::new("infra/watch.sh")
            .args([
                "run",
                "--",
                "bash",
                "-c",
                "echo \"$TEST_API_URL\"; cat >/dev/null",
            ])
            .current_dir(root())
            .env_remove("REDIS_URL")
            .env_remove("AWS_ENDPOINT_URL")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the script can be started");
        let stdout = BufReader::new(script.stdout.take().expect("piped"));
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            stdout
                .lines()
                .map_while(Result::ok)
                .try_for_each(|line| sender.send(line))
        });
        let http = reqwest::Client::builder().timeout(REQUEST_MAX).build();
        let mut watch = Self {
            stdin: script.stdin.take(),
            script,
            url: String::new(),
            http: http.expect("a client"),
        };
        watch.url = lines.recv_timeout(START_MAX).expect("the functions are served");
        watch
    }

    async fn send(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let request = self
            .http
            .request(method.parse().expect("a method"), format!("{}{path}", self.url))
            .header("X-Visitor-Id", VISITOR)
            .json(body);
        let answer = request.send().await.expect("an answer");
        let status = answer.status().as_u16();
        let text = answer.text().await.expect("a text");
        (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
    }

    async fn run_command(&self, command: &Value) -> Value {
        let path = "/2015-03-31/functions/admin/invocations";
        self.send("POST", path, command).await.1
    }

    /// Asks each function of the API for a path that it does not have, in so many requests at once that all instances
    /// run.
    async fn ask_all_instances(&self) {
        for function in FUNCTIONS {
            let path = format!("/lambda-url/{function}/no/such/route");
            let no_body = json!({});
            let requests = (0..INSTANCES_MAX * 4).map(|_| self.send("GET", &path, &no_body));
            for (_, answer) in join_all(requests).await {
                assert_eq!(answer["code"], "unknown-route", "{function}: {answer}");
            }
        }
    }

    fn lambda_pid(&self) -> String {
        let port = self.url.rsplit(':').next().expect("a port");
        let end = format!("--invoke-port {port}");
        let of_this_port = |line: &[String]| line.join(" ").ends_with(&end);
        let processes = processes(["pid=", "args="]);
        let found = processes.iter().find(|line| of_this_port(line));
        found.expect("cargo lambda runs")[0].clone()
    }

    /// The processes of the functions.
    fn function_pids(&self) -> BTreeSet<String> {
        let parent = self.lambda_pid();
        processes(["ppid=", "pid="])
            .into_iter()
            .filter(|line| line[0] == parent)
            .map(|line| line[1].clone())
            .collect()
    }

    /// How many files and folders each watcher watches.
    #[cfg(target_os = "linux")]
    fn watch_counts(&self) -> Vec<usize> {
        let folder = format!("/proc/{}/fdinfo", self.lambda_pid());
        std::fs::read_dir(folder)
            .expect("descriptors")
            .filter_map(|entry| std::fs::read_to_string(entry.ok()?.path()).ok())
            .map(|text| text.lines().filter(|line| line.starts_with("inotify")).count())
            .filter(|count| *count > 0)
            .collect()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        drop(self.stdin.take());
        // Waits until the servers are stopped.
        let _ = self.script.wait();
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a parent")
}

/// Two columns of all processes, as words.
fn processes([first, second]: [&str; 2]) -> Vec<Vec<String>> {
    let output = Command::new("ps")
        .args(["-A", "-o", first, "-o", second])
        .output();
    let output = String::from_utf8(output.expect("ps can be started").stdout).expect("text");
    let lines = output
        .lines()
        .map(|line| line.split_whitespace().map(str::to_owned).collect());
    lines.collect()
}

#[tokio::test]
async fn each_route_reaches_its_function_and_all_restart() {
    let watch = Watch::start();
    for (path, item) in read_api_document()["paths"].as_object().expect("paths") {
        for method in ["GET", "POST", "DELETE"] {
            if item.get(method.to_lowercase()).is_some() {
                let (status, answer) = watch.send(method, &example_path(path), &json!({})).await;
                let code = answer["code"].as_str();
                let is_served = status < 400 || code.is_some_and(|code| code != "unknown-route");
                assert!(is_served, "{method} {path} was answered with {status} {answer}");
            }
        }
    }

    let created = watch
        .run_command(&json!({ "op": "create", "queue": "demo:1" }))
        .await;
    assert_eq!(created["ok"], true, "{created}");
    let (status, entry) = watch.send("POST", "/queues/demo:1/entries", &json!({})).await;
    assert_eq!((status, &entry["state"]), (201, &json!("active")), "{entry}");
    let path = format!(
        "/queues/demo:1/entries/{}",
        entry["token"].as_str().expect("a token")
    );
    let (status, extended) = watch
        .send("POST", &format!("{path}/extend"), &json!({ "seconds": 60 }))
        .await;
    assert_eq!(status, 200, "{extended}");
    let (status, validated) = watch
        .send(
            "POST",
            &format!("{path}/validate"),
            &json!({ "visitor": VISITOR }),
        )
        .await;
    assert_eq!((status, &validated["valid"]), (200, &json!(true)), "{validated}");

    // The code stays the same, and cargo takes the file for a changed one.
    watch.ask_all_instances().await;
    let old = watch.function_pids();
    assert!(old.len() > FUNCTIONS.len(), "{old:?}");
    #[cfg(target_os = "linux")]
    assert!(
        watch.watch_counts().iter().all(|count| *count == 1),
        "{:?}",
        watch.watch_counts()
    );
    let source = File::options().append(true).open(root().join(SOURCE));
    source
        .and_then(|source| source.set_modified(SystemTime::now()))
        .expect("the file can be touched");
    poll_until(
        RESTART_MAX,
        async || watch.function_pids(),
        |new| new.is_disjoint(&old),
    )
    .await;
    watch.ask_all_instances().await;
}
