//! The brake works alone: switches act on the line while DynamoDB is away, and the table follows when it returns.

use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use vestibule_admin::Admin;
use vestibule_domain::settings::Entrance;
use vestibule_tests::{
    network::{Network, NetworkState},
    servers,
    waiting::wait_until,
};

use crate::{
    console::{create_queue, map, text},
    deployment::{BOUND, Deployment, run_command},
};

/// How long a command may take while DynamoDB is away. An operator waits for it.
const COMMAND_TIME_MAX: Duration = Duration::from_secs(10);

/// A deployment whose way to DynamoDB can be cut. The emulator goes on, because it keeps its tables in memory.
struct Outage {
    deployment: Deployment,
    network: Network,
    admin: Admin,
}

impl Outage {
    async fn with_queue(settings: Value) -> Self {
        let mut deployment = create_queue(settings).await;
        let emulator = servers::dynamodb_url();
        let address = emulator
            .trim_start_matches("http://")
            .parse()
            .expect("an address");
        let network = Network::open_before(address).await;
        deployment.dynamodb_url = format!("http://{}", network.address);
        let admin = deployment.admin().await;
        Self {
            deployment,
            network,
            admin,
        }
    }

    fn begin(&self) {
        self.network.set_state(NetworkState::Cut);
    }

    fn end(&self) {
        self.network.set_state(NetworkState::Open);
    }

    async fn run(&self, op: &str) -> Value {
        let queue = self.deployment.queue.as_str();
        let mut command = json!({ "op": op, "queue": queue });
        if ["drain", "close", "finish"].contains(&op) {
            (command["confirm"], command["epoch"]) = (json!(queue), json!(1));
        }
        let answer = timeout(COMMAND_TIME_MAX, run_command(&self.admin, command));
        answer.await.expect("an answer in time")
    }

    /// The switches that the table has.
    async fn stored(&self) -> (bool, String) {
        let item = self.deployment.read_settings_item().await;
        let settings = item["settings"].as_m().expect("a map");
        let is_paused = settings
            .get("paused")
            .is_some_and(|value| *value.as_bool().expect("a flag"));
        let entrance = settings
            .get("entrance")
            .map_or("open", |value| value.as_s().expect("a text"));
        (is_paused, entrance.to_owned())
    }
}

#[tokio::test]
async fn a_pause_without_the_table_acts_at_once_and_stays() {
    let outage = Outage::with_queue(json!({ "capacity": 7 })).await;
    let line = outage.deployment.line().await;
    let promoter = outage.deployment.promoter().await;
    let operator = async {
        outage.begin();
        let paused = outage.run("pause").await;
        assert_eq!(
            (&paused["changed"], &paused["stored"]),
            (&json!(true), &json!(false)),
            "{paused}"
        );
        assert!(outage.deployment.settings_in_force(&line).await.paused);
        let stats = outage.run("stats").await;
        assert_eq!(
            (&stats["state"], &stats["unsaved_switches"]),
            (&json!("paused"), &json!(["paused"]))
        );
        // The promoter tries to sync meanwhile.
        sleep(Duration::from_secs(4)).await;
        assert_eq!(outage.stored().await, (false, "open".to_owned()));
        outage.end();
        wait_until(BOUND, "the table says so", async || outage.stored().await.0).await;
        for _ in 0..10 {
            assert!(
                outage.deployment.settings_in_force(&line).await.paused,
                "the queue stays paused"
            );
            sleep(Duration::from_millis(500)).await;
        }
        assert_eq!(outage.run("stats").await["unsaved_switches"], json!([]));

        // A later edit by hand wins.
        let resumed = Some(AttributeValue::Bool(false));
        outage
            .deployment
            .edit("SET #settings.#paused = :value", resumed)
            .await;
        wait_until(BOUND, "the edit is in force", async || {
            !outage.deployment.settings_in_force(&line).await.paused
        })
        .await;
    };
    promoter.run(operator).await;
}

#[tokio::test]
async fn every_switch_works_and_other_edits_are_kept() {
    let outage = Outage::with_queue(json!({ "capacity": 7 })).await;
    let (line, promoter) = (outage.deployment.line().await, outage.deployment.promoter().await);
    let operator = async {
        outage.begin();
        for (op, entrance) in [
            ("drain", Entrance::Draining),
            ("open", Entrance::Open),
            ("finish", Entrance::Finished),
            ("close", Entrance::Closed),
        ] {
            outage.run(op).await;
            let settings = outage.deployment.settings_in_force(&line).await;
            assert_eq!(settings.entrance, entrance, "{op}");
        }
        // A message needs the table.
        let queue = outage.deployment.queue.as_str();
        let finish = json!({ "op": "finish", "queue": queue, "confirm": queue, "epoch": 1, "reason": "sold_out", "message": "Bye" });
        let finished = run_command(&outage.admin, finish).await;
        assert_eq!(
            (&finished["stored"], &finished["left_out"]),
            (&json!(false), &json!(["message"]))
        );
        let settings = &finished["settings"];
        assert_eq!(
            (&settings["entrance"], &settings["message"]),
            (&json!("sold_out"), &Value::Null)
        );
        outage.run("close").await;
        outage.run("pause").await;
        outage.run("resume").await;
        let unconfirmed = json!({ "op": "close", "queue": outage.deployment.queue.as_str() });
        let refused = outage.admin.handle(unconfirmed).await;
        assert_eq!(refused["problem"]["code"], "confirmation-needed");
        let update = json!({
            "op": "update", "queue": outage.deployment.queue.as_str(), "settings": { "capacity": 9 },
        });
        let refused = outage.admin.handle(update).await;
        assert_eq!(refused["problem"]["code"], "backup-unavailable");
        // An operator edits another setting by hand. The console reaches the table.
        let capacity = Some(AttributeValue::N("8".to_owned()));
        outage
            .deployment
            .edit("SET #settings.#capacity = :value", capacity)
            .await;
        outage.end();
        wait_until(BOUND, "both have all of it", async || {
            let settings = outage.deployment.settings_in_force(&line).await;
            let in_force = (settings.capacity, settings.entrance, settings.paused);
            in_force == (8, Entrance::Closed, false) && outage.stored().await == (false, "closed".to_owned())
        })
        .await;
    };
    promoter.run(operator).await;
}

#[tokio::test]
async fn the_next_command_after_the_outage_keeps_the_pause() {
    let outage = Outage::with_queue(json!({ "capacity": 7 })).await;
    let line = outage.deployment.line().await;
    outage.begin();
    outage.run("pause").await;
    outage.end();
    // No promoter has stored the pause yet.
    let queue = outage.deployment.queue.as_str();
    let update = json!({ "op": "update", "queue": queue, "settings": { "capacity": 9 } });
    run_command(&outage.admin, update).await;
    let settings = outage.deployment.settings_in_force(&line).await;
    assert_eq!((settings.capacity, settings.paused), (9, true));
    assert_eq!(outage.stored().await, (true, "open".to_owned()));

    outage.begin();
    outage.run("resume").await;
    outage.run("pause").await;
    outage.end();
    let restore = json!({ "op": "restore", "queue": queue, "confirm": queue, "epoch": 1 });
    run_command(&outage.admin, restore).await;
    assert!(
        outage.deployment.settings_in_force(&line).await.paused,
        "a restore keeps it, too"
    );
}

#[tokio::test]
async fn a_source_is_blocked_without_the_table() {
    let outage = Outage::with_queue(json!({})).await;
    let (line, promoter) = (outage.deployment.line().await, outage.deployment.promoter().await);
    let operator = async {
        outage.begin();
        let block =
            json!({ "op": "block", "queue": outage.deployment.queue.as_str(), "source": "k3rT0pW9x_Q" });
        let blocked = run_command(&outage.admin, block).await;
        assert_eq!(blocked["changed"], true, "{blocked}");
        outage.end();
        wait_until(BOUND, "the table has the block", async || {
            let item = outage.deployment.read_settings_item().await;
            let settings = item["settings"].as_m().expect("a map");
            settings
                .get("blocked")
                .is_some_and(|blocks| *blocks != AttributeValue::L(vec![]))
        })
        .await;
        let settings = outage.deployment.settings_in_force(&line).await;
        assert_ne!(settings.to_map()["blocked"], json!([]));
    };
    promoter.run(operator).await;
}

/// The stored settings are invalid when DynamoDB returns. The brake still acts, and only the switch is written.
#[tokio::test]
async fn a_pause_is_stored_beside_an_invalid_edit() {
    let outage = Outage::with_queue(json!({ "capacity": 7 })).await;
    let (line, promoter) = (outage.deployment.line().await, outage.deployment.promoter().await);
    let operator = async {
        outage.begin();
        outage.run("pause").await;
        let invalid = Some(map([("batsh", text("5"))]));
        outage.deployment.edit("SET #settings = :value", invalid).await;
        outage.end();
        wait_until(BOUND, "the table has the pause", async || outage.stored().await.0).await;
        let item = outage.deployment.read_settings_item().await;
        let settings = item["settings"].as_m().expect("a map");
        assert!(
            settings.contains_key("batsh"),
            "its author corrects the rest: {settings:?}"
        );
        let settings = outage.deployment.settings_in_force(&line).await;
        assert_eq!((settings.paused, settings.capacity), (true, 7));
    };
    promoter.run(operator).await;
}
