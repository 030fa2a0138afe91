//! The test events that are delivered for the console's Test tab. Each must do what its name says.

use std::{collections::BTreeSet, fs, path::PathBuf};

use serde_json::{Value, json};

use super::{AdminFixture, queue};
use crate::OPERATIONS;

const PREFIX: &str = "admin-";

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../infra/events")
}

fn event(op: &str) -> Value {
    let path = folder().join(format!("{PREFIX}{op}.json"));
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).expect("an event is JSON")
}

#[test]
fn test_events_and_operations_match() {
    let names = fs::read_dir(folder()).expect("the folder").map(|file| {
        let name = file.expect("readable").file_name();
        name.into_string().expect("UTF-8")
    });
    let events: BTreeSet<_> = names
        .filter_map(|name| Some(name.strip_prefix(PREFIX)?.strip_suffix(".json")?.to_owned()))
        .collect();
    let operations: BTreeSet<_> = OPERATIONS
        .iter()
        .map(|operation| operation.name.to_owned())
        .collect();
    assert_eq!(events, operations);
    for op in operations {
        assert_eq!(event(&op)["op"], op);
    }
}

/// Sends every event in a realistic order. Only the queue's name is replaced by the name that the
/// tests use.
#[tokio::test]
async fn every_test_event_succeeds() {
    let desk = AdminFixture::new();
    let named = |op: &str| {
        let mut event = event(op);
        if event.get("queue").is_some() {
            event["queue"] = json!(queue().as_str());
        }
        if event.get("confirm").is_some() {
            event["confirm"] = json!(queue().as_str());
        }
        event
    };
    let mut sent: BTreeSet<&str> = BTreeSet::new();
    for op in ["create", "describe", "list", "pause"] {
        desk.run(named(op)).await;
        sent.insert(op);
    }
    assert_eq!(desk.setting_in_force("paused").await, true);
    let in_line = desk.enter("ada").await;
    let mut results = Vec::new();
    for op in [
        "inspect", "lane", "resume", "promote", "update", "stats", "check", "open",
    ] {
        results.push((op, desk.run(named(op)).await));
        sent.insert(op);
    }
    let result = |op: &str| &results.iter().find(|(of, _)| *of == op).expect("sent").1;
    assert_eq!(result("inspect")["token"], in_line.to_string());
    assert_eq!(result("lane")["lane"], event("lane")["lane"]);
    assert_eq!(result("promote")["promoted"], 1);
    assert_eq!(result("stats")["ready"], 1);
    assert_eq!(
        desk.setting_in_force("batch").await,
        event("update")["settings"]["batch"]
    );

    for op in ["evict", "restore", "reset", "drain", "close", "finish"] {
        // The event in the file does no harm, because the operator must look up the epoch first.
        let mut order = named(op);
        let problem = desk.run_refused(order.clone()).await;
        assert_eq!(problem["field"], "epoch", "{problem}");
        let described = desk.run(named("describe")).await;
        order["epoch"] = described["epoch"].clone();
        desk.run(order).await;
        sent.insert(op);
    }
    assert_eq!(desk.setting_in_force("entrance").await, "finished");
    // Operations that need no queue are sent as well.
    for operation in OPERATIONS {
        if !sent.contains(operation.name) && operation.name != "delete" {
            desk.run(named(operation.name)).await;
        }
    }
    let mut delete = named("delete");
    assert_eq!(desk.run_refused(delete.clone()).await["field"], "epoch");
    delete["epoch"] = desk.run(named("describe")).await["epoch"].clone();
    assert_eq!(desk.run(delete).await["deleted"], true);
}
