//! A runner, one queue in it, and a browser.

use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use uuid::Uuid;
use vestibule_tests::runner::Runner;

use crate::{chromium::Chromium, front::Front, tab::Tab};

const QUEUE: &str = "q";

/// All that a test needs.
pub(crate) struct Scene {
    /// Dropped first: nobody asks any more when the runner ends.
    browser: Chromium,
    pub(crate) front: Front,
    runner: Option<Runner>,
    folder: TempDir,
}

/// Somebody in the queue without a browser.
pub(crate) struct Other {
    pub(crate) visitor: String,
    pub(crate) entry: Value,
}

impl Scene {
    /// A queue of these settings, with one session that runs.
    pub(crate) async fn with_one_let_in(settings: Value) -> (Self, Other) {
        let folder = tempfile::tempdir().expect("a folder");
        let runner = start(&folder, 0);
        let create = json!({ "op": "create", "queue": QUEUE, "settings": settings });
        let (browser, _) = tokio::join!(Chromium::start(), runner.order(create));
        let scene = Self {
            browser,
            front: Front::before(runner.url("")).await,
            runner: Some(runner),
            folder,
        };
        let first = scene.enter().await;
        assert_eq!(first.entry["state"], json!("active"));
        (scene, first)
    }

    /// A tab at the waiting page.
    pub(crate) async fn visit(&self) -> Tab {
        self.visit_at(&self.front.url("")).await
    }

    /// The same without anything before the runner.
    pub(crate) async fn visit_runner(&self) -> Tab {
        self.visit_at(&self.runner().url("")).await
    }

    /// An empty tab, which hides the others.
    pub(crate) async fn empty_tab(&self) -> Tab {
        self.browser.tab().await
    }

    async fn visit_at(&self, address: &str) -> Tab {
        let tab = self.browser.tab().await;
        tab.visit(&format!("{address}/?queue={QUEUE}")).await;
        tab
    }

    /// Somebody else enters.
    pub(crate) async fn enter(&self) -> Other {
        let visitor = Uuid::new_v4().to_string();
        let entry = self.runner().enter(QUEUE, &visitor).await;
        Other { visitor, entry }
    }

    /// The same one enters again.
    pub(crate) async fn enter_again(&self, other: &Other) -> Value {
        self.runner().enter(QUEUE, &other.visitor).await
    }

    /// Somebody leaves.
    pub(crate) async fn leave(&self, other: &Other) {
        let runner = self.runner();
        let leaving = runner
            .http()
            .delete(runner.url(&format!("/queues/{QUEUE}/entries/{}", other.token())))
            .header("X-Visitor-Id", &other.visitor)
            .json(&json!({}));
        let answer = leaving.send().await.expect("answered");
        assert!(answer.status().is_success(), "{}", answer.status());
    }

    /// The protected service is done with somebody.
    pub(crate) async fn complete(&self, other: &Other) {
        self.service(other.token(), "complete", json!({})).await;
    }

    /// What the protected service is told of a pass.
    pub(crate) async fn validate(&self, token: &str, pass: &str) -> Value {
        self.service(token, "validate", json!({ "pass": pass })).await
    }

    async fn service(&self, token: &str, verb: &str, body: Value) -> Value {
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

    /// Where an entry stands.
    pub(crate) async fn status(&self, token: &str) -> Value {
        self.runner().status(QUEUE, token, 0).await.expect("answered")
    }

    /// An operator's word on the queue.
    pub(crate) async fn order(&self, op: &str) -> Value {
        self.runner().order(json!({ "op": op, "queue": QUEUE })).await
    }

    /// An operator changes settings.
    pub(crate) async fn update(&self, settings: Value) {
        let order = json!({ "op": "update", "queue": QUEUE, "settings": settings });
        self.runner().order(order).await;
    }

    /// The token that the browser was given.
    pub(crate) fn token(&self) -> String {
        let calls = self.front.calls();
        let entered = calls
            .iter()
            .find(|call| call.is_enter())
            .expect("the page has entered");
        entered.body["token"].as_str().expect("a token").to_owned()
    }

    /// Kills the runner.
    pub(crate) async fn kill(&mut self) -> Killed {
        let mut runner = self.runner.take().expect("it runs");
        let port = runner
            .host()
            .rsplit(':')
            .next()
            .and_then(|port| port.parse().ok());
        runner.signal("KILL");
        runner.ended(Duration::from_secs(10)).await;
        Killed {
            port: port.expect("a port"),
        }
    }

    /// Starts it again where it was.
    pub(crate) fn start_again(&mut self, killed: &Killed) {
        self.runner = Some(start(&self.folder, killed.port));
    }

    /// Nothing on the page has gone wrong unseen.
    pub(crate) fn end(self) {
        assert_eq!(self.browser.faults(), Vec::<String>::new());
    }

    fn runner(&self) -> &Runner {
        self.runner.as_ref().expect("it runs")
    }
}

/// Where a killed runner was.
pub(crate) struct Killed {
    port: u16,
}

impl Other {
    pub(crate) fn token(&self) -> &str {
        self.entry["token"].as_str().expect("a token")
    }
}

fn start(folder: &TempDir, port: u16) -> Runner {
    Runner::start_on(folder.path(), port, &["--demo-visitors", "0", "--quiet"]).expect("it starts")
}
