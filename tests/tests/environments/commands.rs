//! The commands of operators, in the process of the function `admin`.

use std::{cell::RefCell, collections::BTreeSet};

use serde_json::{Value, json};
use vestibule_admin::OPERATIONS;
use vestibule_backup::Backup;
use vestibule_domain::right::Right;
use vestibule_tests::{entries::now_ms, functions::DeploymentConfig, lambda::Order};

use crate::Stage;

/// A deployment whose operator gives one command after the other.
struct Operator {
    stage: Stage,
    given: RefCell<BTreeSet<String>>,
}

impl Operator {
    async fn run(&self, op: &str, arguments: Value) -> Value {
        self.given.borrow_mut().insert(op.to_owned());
        self.stage.run_command(op, arguments).await
    }

    /// Runs a command that is about no queue.
    async fn run_alone(&self, op: &str, arguments: Value) -> Value {
        self.given.borrow_mut().insert(op.to_owned());
        let mut command = arguments;
        command["op"] = json!(op);
        let mut answer = self.stage.deployment.run_command(&command).await;
        assert_eq!(answer["ok"], true, "{command}: {answer}");
        answer["result"].take()
    }

    async fn run_confirmed(&self, op: &str) {
        self.given.borrow_mut().insert(op.to_owned());
        self.stage.run_confirmed(op).await;
    }

    async fn expect_defaults_kept(&self) {
        let defaults = json!({ "prefix": "test:many:*", "settings": { "batch": 3 } });
        self.run_alone("defaults", defaults).await;
        let many = json!({ "queues": ["test:many:1", "test:many:2"], "settings": {} });
        self.run_alone("create", many).await;
        let described = self
            .run_alone("describe", json!({ "queue": "test:many:1" }))
            .await;
        assert_eq!(described["settings"]["batch"], 3, "{described}");
        let removed = self.run_alone("defaults", json!({ "prefix": "test:many:*", "settings": null }));
        assert_eq!(removed.await["removed"], true);
        assert_eq!(
            self.run_alone("list", json!({})).await["queues"]
                .as_array()
                .map(Vec::len),
            Some(3)
        );
    }

    async fn manage_entries(&self) {
        let (waiting, evicted, active) = {
            let (active, _) = self.stage.enter().await;
            let (waiting, _) = self.stage.enter().await;
            (waiting, self.stage.enter().await.0, active)
        };
        self.run("lane", json!({ "token": waiting.token, "lane": 0 }))
            .await;
        self.run("block", json!({ "token": waiting.token, "for_seconds": 60 }))
            .await;
        self.run("unblock", json!({ "token": waiting.token })).await;
        let epoch = self.stage.view().await.configuration.epoch;
        let confirmed =
            json!({ "token": evicted.token, "confirm": self.stage.queue.as_str(), "epoch": epoch });
        self.run("evict", confirmed).await;
        let inspected = self.run("inspect", json!({ "token": active.token })).await;
        assert!(inspected.to_string().contains("active"), "{inspected}");
        self.run("promote", json!({ "count": 1 })).await;
        let page = self.run("entries", json!({})).await;
        assert_eq!(page["entries"].as_array().map(Vec::len), Some(3), "{page}");
        for op in ["sources", "check", "stats"] {
            self.run(op, json!({})).await;
        }
    }

    /// The report is of the generation that ends with the reset.
    async fn begin_anew(&self) {
        self.run_confirmed("restore").await;
        self.run_confirmed("reset").await;
        let report = self.run("report", json!({ "generation": 1 })).await;
        assert_eq!(report["totals"]["entered"], 3, "{report}");
        self.run("report", json!({})).await;
    }
}

/// Every command is given once, so that a new one is given here, too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_command_is_carried_out_by_the_function() {
    let config = DeploymentConfig {
        secrets: true,
        ..DeploymentConfig::default()
    };
    let operator = Operator {
        stage: Stage::open(config, json!({ "capacity": 1, "batch": 1 })).await,
        given: RefCell::default(),
    };
    operator.expect_defaults_kept().await;
    operator
        .run(
            "update",
            json!({ "settings": { "batch": 2, "claim_seconds": 10 } }),
        )
        .await;
    for op in ["pause", "resume"] {
        operator.run(op, json!({})).await;
    }
    operator.run_confirmed("drain").await;
    operator.run("open", json!({})).await;
    operator.manage_entries().await;
    operator
        .run_alone(
            "plan",
            json!({ "tps": 1_000, "calls": 6, "session_seconds": 300 }),
        )
        .await;
    let preflight = operator.run_alone("preflight", json!({})).await;
    assert!(!preflight.to_string().contains("\"fault\""), "{preflight}");
    operator.run_alone("rotate", json!({})).await;
    operator.begin_anew().await;
    for op in ["close", "finish", "delete"] {
        operator.run_confirmed(op).await;
    }
    let all = OPERATIONS.iter().map(|operation| operation.name.to_owned());
    assert_eq!(operator.given.into_inner(), all.collect());
}

/// Both items were deleted by hand, and no promoter ran. The command that creates the queue again writes the tombstone first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queue_deleted_by_hand_can_be_created_again() {
    let stage = Stage::open(DeploymentConfig::default(), json!({})).await;
    let (visitor, _) = stage.enter().await;
    stage.delete_items_by_hand().await;
    stage.run_command("create", json!({ "settings": {} })).await;
    assert!(stage.view().await.configuration.generation > 1);
    let status = stage.get_status(&visitor).await;
    assert_ne!(status.status, 200, "{status:?}");
}

/// No tick has noticed the opening. A command that changes a setting stores it in the table. An operator opens the queue, so
/// that the function that entered the visitor cannot have noticed it first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changed_setting_records_that_the_queue_has_opened() {
    let stage = Stage::open(
        DeploymentConfig::default(),
        json!({ "opens_at_ms": now_ms() + 3_600_000 }),
    )
    .await;
    stage.enter().await;
    for settings in [json!({ "opens_at_ms": now_ms() }), json!({ "batch": 2 })] {
        stage.run_command("update", json!({ "settings": settings })).await;
    }
    let stored = stage.deployment.backup.read_queue(&stage.queue).await;
    let metadata = stored.expect("the table answers").expect("the queue").metadata;
    assert!(metadata.opened_at_ms.is_some());
}

/// IAM lets an operator invoke an alias, and the function goes by the alias alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_invoked_alias_decides_what_a_caller_may_order() {
    let stage = Stage::open(DeploymentConfig::default(), json!({})).await;
    for operation in OPERATIONS {
        let command = json!({ "op": operation.name, "queue": "none" });
        for (alias, right) in [
            ("look", Right::Look),
            ("operate", Right::Operate),
            ("end", Right::End),
        ] {
            let order = Order {
                payload: command.to_string().into(),
                alias: Some(alias),
                ..Order::default()
            };
            let answer = stage
                .deployment
                .lambda
                .invoke_with("admin", order)
                .await
                .expect("an answer");
            let code = answer["problem"]["code"].as_str();
            if code == Some("invalid-command") {
                continue;
            }
            let is_too_little = right < operation.right;
            assert_eq!(
                code == Some("right-needed"),
                is_too_little,
                "{alias} {}: {answer}",
                operation.name
            );
        }
    }
}
