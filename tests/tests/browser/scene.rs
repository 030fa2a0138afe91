//! A runner with one queue, and a browser.

use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use uuid::Uuid;
use vestibule_tests::runner::Runner;

use crate::{chromium::Chromium, proxy::Proxy, tab::Tab};

const QUEUE: &str = "q";

/// The runner, the proxy and the browser of one test.
pub(crate) struct Scene {
    /// Dropped first, so that the browser sends no requests while the runner ends.
    browser: Chromium,
    pub(crate) proxy: Proxy,
    runner: Option<Runner>,
    folder: TempDir,
}

/// A visitor in the queue without a browser.
pub(crate) struct OtherVisitor {
    pub(crate) visitor: String,
    pub(crate) entry: Value,
}

impl Scene {
    /// Creates a queue with these settings and one active visitor.
    pub(crate) async fn with_one_active(settings: Value) -> (Self, OtherVisitor) {
        let folder = tempfile::tempdir().expect("a folder");
        let runner = start_runner(&folder, 0);
        let create = json!({ "op": "create", "queue": QUEUE, "settings": settings });
        let (browser, _) = tokio::join!(Chromium::start(), runner.run_command(create));
        let scene = Self {
            browser,
            proxy: Proxy::start(runner.url("")).await,
            runner: Some(runner),
            folder,
        };
        let first = scene.enter().await;
        assert_eq!(first.entry["state"], json!("active"));
        (scene, first)
    }

    /// Opens a tab with the waiting page.
    pub(crate) async fn open_page(&self) -> Tab {
        self.open_page_at(&self.proxy.url("")).await
    }

    /// Opens a tab with the waiting page, without the proxy.
    pub(crate) async fn open_page_directly(&self) -> Tab {
        self.open_page_at(&self.runner().url("")).await
    }

    /// Opens an empty tab, which hides the others.
    pub(crate) async fn open_empty_tab(&self) -> Tab {
        self.browser.open_tab().await
    }

    async fn open_page_at(&self, address: &str) -> Tab {
        let tab = self.browser.open_tab().await;
        tab.visit(&format!("{address}/?queue={QUEUE}")).await;
        tab
    }

    /// Enters the queue as another visitor.
    pub(crate) async fn enter(&self) -> OtherVisitor {
        let visitor = Uuid::new_v4().to_string();
        let entry = self.runner().enter(QUEUE, &visitor).await;
        OtherVisitor { visitor, entry }
    }

    /// Enters the queue again as the same visitor.
    pub(crate) async fn enter_again(&self, other: &OtherVisitor) -> Value {
        self.runner().enter(QUEUE, &other.visitor).await
    }

    /// Leaves the queue as this visitor.
    pub(crate) async fn leave(&self, other: &OtherVisitor) {
        let runner = self.runner();
        let request = runner
            .http()
            .delete(runner.url(&format!("/queues/{QUEUE}/entries/{}", other.token())))
            .header("X-Visitor-Id", &other.visitor)
            .json(&json!({}));
        let answer = request.send().await.expect("answered");
        assert!(answer.status().is_success(), "{}", answer.status());
    }

    /// Completes a visitor as the protected service.
    pub(crate) async fn complete(&self, other: &OtherVisitor) {
        self.call_as_service(other.token(), "complete", json!({})).await;
    }

    /// Validates a pass as the protected service.
    pub(crate) async fn validate(&self, token: &str, pass: &str) -> Value {
        self.call_as_service(token, "validate", json!({ "pass": pass }))
            .await
    }

    async fn call_as_service(&self, token: &str, verb: &str, body: Value) -> Value {
        let runner = self.runner();
        let url = runner.url(&format!("/queues/{QUEUE}/entries/{token}/{verb}"));
        let answer = runner
            .http()
            .post(url)
            .json(&body)
            .send()
            .await
            .expect("answered");
        assert!(answer.status().is_success(), "{}", answer.status());
        answer.json().await.unwrap_or_default()
    }

    /// Reads the status of an entry.
    pub(crate) async fn entry_status(&self, token: &str) -> Value {
        self.runner().entry_status(QUEUE, token).await.expect("answered")
    }

    /// Runs a command of an operator on the queue.
    pub(crate) async fn run_command(&self, op: &str) -> Value {
        self.runner()
            .run_command(json!({ "op": op, "queue": QUEUE }))
            .await
    }

    /// Changes settings as an operator.
    pub(crate) async fn update_settings(&self, settings: Value) {
        let command = json!({ "op": "update", "queue": QUEUE, "settings": settings });
        self.runner().run_command(command).await;
    }

    /// The token that the browser received.
    pub(crate) fn browser_token(&self) -> String {
        let calls = self.proxy.calls();
        let entered = calls
            .iter()
            .find(|call| call.is_enter())
            .expect("the page has entered");
        entered.body["token"].as_str().expect("a token").to_owned()
    }

    /// Kills the runner and remembers its port.
    pub(crate) async fn kill_runner(&mut self) -> KilledRunner {
        let mut runner = self.runner.take().expect("the runner is running");
        let port = runner
            .host_and_port()
            .rsplit(':')
            .next()
            .and_then(|port| port.parse().ok());
        runner.signal("KILL");
        runner.wait_for_exit(Duration::from_secs(10)).await;
        KilledRunner {
            port: port.expect("a port"),
        }
    }

    /// Starts the runner again on its old port.
    pub(crate) fn restart_runner(&mut self, killed: &KilledRunner) {
        self.runner = Some(start_runner(&self.folder, killed.port));
    }

    /// Asserts that the page reported no error.
    pub(crate) fn assert_no_page_errors(self) {
        assert_eq!(self.browser.page_errors(), Vec::<String>::new());
    }

    fn runner(&self) -> &Runner {
        self.runner.as_ref().expect("the runner is running")
    }
}

/// The port of a killed runner.
pub(crate) struct KilledRunner {
    port: u16,
}

impl OtherVisitor {
    pub(crate) fn token(&self) -> &str {
        self.entry["token"].as_str().expect("a token")
    }
}

fn start_runner(folder: &TempDir, port: u16) -> Runner {
    Runner::start_on(folder.path(), port, &["--demo-visitors", "0", "--quiet"]).expect("the runner starts")
}
