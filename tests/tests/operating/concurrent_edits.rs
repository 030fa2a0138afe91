//! Edits in the AWS console while commands change the same queue.

use std::{collections::HashMap, time::Duration};

use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::json;
use tokio::time::sleep;
use vestibule_tests::waiting::wait_until;

use crate::{
    console::{create_queue, map, text},
    deployment::{BOUND, run_command},
};

/// The form of the console changes one attribute, while commands change others at the same time.
#[tokio::test]
async fn concurrent_edits_and_commands_lose_nothing() {
    let deployment = create_queue(json!({ "capacity": 7 })).await;
    let (line, admin, promoter) = (
        deployment.line().await,
        deployment.admin().await,
        deployment.promoter().await,
    );
    let queue = deployment.queue.as_str();
    let commands = async {
        for round in 1..=12_u32 {
            let digits = round.to_string();
            let edit = async {
                // Edit at a different moment of the commands in every round.
                sleep(Duration::from_millis(u64::from(round) * 2)).await;
                let set = "SET #settings.#batch = :value";
                deployment.edit(set, Some(text(&digits))).await;
            };
            let update = json!({ "op": "update", "queue": queue, "settings": { "session_seconds": round } });
            let switch_command =
                json!({ "op": if round % 2 == 0 { "resume" } else { "pause" }, "queue": queue });
            tokio::join!(
                edit,
                run_command(&admin, update),
                run_command(&admin, switch_command)
            );
            let AttributeValue::M(stored) = deployment
                .read_settings_item()
                .await
                .remove("settings")
                .expect("the settings")
            else {
                panic!("the settings are not a map")
            };
            let plain: HashMap<_, _> = stored
                .iter()
                .map(|(name, value)| match value {
                    AttributeValue::S(text) | AttributeValue::N(text) => (name.as_str(), text.clone()),
                    other => (name.as_str(), format!("{other:?}")),
                })
                .collect();
            assert_eq!(
                (&plain["batch"], &plain["session_seconds"], &plain["paused"]),
                (&digits, &digits, &format!("Bool({})", round % 2 == 1))
            );
            wait_until(BOUND, "all three changes are in force", async || {
                let settings = deployment.settings_in_force(&line).await;
                (settings.batch, settings.session_seconds, settings.paused) == (round, round, round % 2 == 1)
            })
            .await;
        }
    };
    Box::pin(promoter.run(commands)).await;
}

/// The JSON view of the console saves the item as it was when it was opened. The saved item counts, and later commands
/// work on it.
#[tokio::test]
async fn saving_an_item_opened_earlier_overwrites_a_command() {
    let deployment = create_queue(json!({ "capacity": 7 })).await;
    let (line, admin, promoter) = (
        deployment.line().await,
        deployment.admin().await,
        deployment.promoter().await,
    );
    let command = |op: &str| json!({ "op": op, "queue": deployment.queue.as_str() });
    let operator = async {
        let mut opened = deployment.read_settings_item().await;
        run_command(&admin, command("pause")).await;
        opened.insert("settings".to_owned(), map([("capacity", text("8"))]));
        deployment.put_item(opened).await;
        wait_until(BOUND, "the saved settings are in force", async || {
            let settings = deployment.settings_in_force(&line).await;
            (settings.capacity, settings.paused) == (8, false)
        })
        .await;
        run_command(&admin, command("pause")).await;
        let settings = deployment.settings_in_force(&line).await;
        assert_eq!((settings.capacity, settings.paused), (8, true));
    };
    promoter.run(operator).await;
}
