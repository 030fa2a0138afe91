//! Which events are parsed as commands, and which are refused.

use serde_json::json;

use super::{AdminFixture, refusals::accepted};
use crate::OPERATIONS;

#[tokio::test]
async fn invalid_command_is_refused_by_field_name() {
    let desk = AdminFixture::new();
    for (order, field) in [
        (json!({}), "op"),
        (json!({ "op": 1 }), "op"),
        (json!({ "op": "explode" }), "op"),
        (json!({ "op": "list", "queue": "q" }), "queue"),
        (json!({ "op": "stats" }), "queue"),
        (json!({ "op": "stats", "queue": 7 }), "queue"),
        (json!({ "op": "stats", "queue": "a{b}" }), "queue"),
        (json!({ "op": "stats", "queue": "q", "verbose": true }), "verbose"),
        (json!({ "op": "pause", "queue": "q", "settings": {} }), "settings"),
        (
            json!({ "op": "create", "queue": "q", "settings": [] }),
            "settings",
        ),
        (json!({ "op": "create" }), "queue"),
        (json!({ "op": "create", "queues": [] }), "queues"),
        (json!({ "op": "create", "queues": "a" }), "queues"),
        (json!({ "op": "create", "queues": vec!["a"; 1_001] }), "queues"),
        (
            json!({ "op": "create", "queues": ["a"], "settings": 1 }),
            "settings",
        ),
        (json!({ "op": "defaults", "prefix": "TICKET:" }), "prefix"),
        (json!({ "op": "defaults", "prefix": "T*:1" }), "prefix"),
        (json!({ "op": "defaults", "settings": { "batch": 1 } }), "prefix"),
        (
            json!({ "op": "defaults", "prefix": "a*", "settings": {} }),
            "settings",
        ),
        (json!({ "op": "update", "queue": "q" }), "settings"),
        (
            json!({ "op": "update", "queue": "q", "settings": {} }),
            "settings",
        ),
        (json!({ "op": "describe", "queue": "q", "help": "yes" }), "help"),
        (json!({ "op": "promote", "queue": "q" }), "count"),
        (json!({ "op": "promote", "queue": "q", "count": 0 }), "count"),
        (
            json!({ "op": "promote", "queue": "q", "count": 1_000_001 }),
            "count",
        ),
        (json!({ "op": "promote", "queue": "q", "count": "3" }), "count"),
        (json!({ "op": "close", "queue": "q", "epoch": "1" }), "epoch"),
        (json!({ "op": "inspect", "queue": "q" }), "token"),
        (json!({ "op": "inspect", "queue": "q", "token": "x" }), "token"),
        (json!({ "op": "inspect", "queue": "q", "visitor": "" }), "visitor"),
        (
            json!({ "op": "inspect", "queue": "q", "visitor": "ada", "kind": "anon" }),
            "visitor",
        ),
        (
            json!({ "op": "inspect", "queue": "q", "visitor": "ada", "kind": "vip" }),
            "kind",
        ),
        (
            json!({ "op": "inspect", "queue": "q", "visitor": "ada", "token": "0f8fad5b-d9cb-869f-a165-70867728950e" }),
            "visitor",
        ),
        (
            json!({ "op": "evict", "queue": "q", "token": "0f8fad5b-d9cb-869f-a165-70867728950e", "kind": "known" }),
            "kind",
        ),
    ] {
        desk.expect_refused_field(order, field).await;
    }
    for nothing in [json!(null), json!([]), json!("list")] {
        assert_eq!(desk.run_refused(nothing).await["code"], "invalid-command");
    }
}

#[tokio::test]
async fn check_refuses_an_invalid_first_shard() {
    let desk = AdminFixture::with_queue(json!({})).await;
    for wrong in [json!(64), json!(-1), json!("0")] {
        let order = json!({ "op": "check", "queue": "q", "from_shard": wrong });
        assert_eq!(desk.run_refused(order).await["field"], "from_shard", "{wrong}");
    }
    desk.run(json!({ "op": "check", "queue": "q", "from_shard": 63 }))
        .await;
}

#[tokio::test]
async fn operations_on_an_unknown_queue_are_refused() {
    let desk = AdminFixture::new();
    let of_stored_queue = |op: &&str| {
        !matches!(
            *op,
            "create" | "defaults" | "list" | "plan" | "preflight" | "rotate"
        )
    };
    for op in OPERATIONS
        .iter()
        .map(|operation| operation.name)
        .filter(of_stored_queue)
    {
        let mut order = json!({ "op": op, "queue": "q" });
        match op {
            "update" => order["settings"] = json!({ "batch": 1 }),
            "promote" => order["count"] = json!(1),
            "lane" => (order["visitor"], order["lane"]) = (json!("ada"), json!(1)),
            "evict" | "inspect" | "block" | "unblock" => order["visitor"] = json!("ada"),
            _ => {}
        }
        assert_eq!(desk.run_refused(order).await["code"], "unknown-queue", "{op}");
    }
    assert_eq!(desk.run(json!({ "op": "list" })).await["queues"], json!([]));
}

#[tokio::test]
async fn what_the_table_says_must_be_confirmed_is_not_carried_out_without() {
    let desk = AdminFixture::with_queue(json!({})).await;
    for operation in OPERATIONS.iter().filter(|operation| operation.needs_confirmation) {
        for command in accepted(operation) {
            let problem = desk.run_refused(command).await;
            assert_eq!(problem["code"], "confirmation-needed", "{}", operation.name);
        }
    }
}

#[tokio::test]
async fn destructive_commands_need_confirmation() {
    let desk = AdminFixture::with_queue(json!({})).await;
    let id = desk.enter("ada").await;
    // The last two commands change the epoch.
    for (op, now) in [
        ("evict", 1),
        ("close", 1),
        ("finish", 1),
        ("restore", 1),
        ("reset", 2),
    ] {
        let order = |confirm, epoch| {
            let mut order = json!({ "op": op, "queue": "q", "confirm": confirm, "epoch": epoch });
            if op == "evict" {
                order["token"] = json!(id.to_string());
            }
            order
        };
        for (confirm, epoch, field) in [
            (json!(null), json!(now), "confirm"),
            (json!("p"), json!(now), "confirm"),
            (json!("q"), json!(null), "epoch"),
            (json!("q"), json!(now + 1), "epoch"),
        ] {
            let problem = desk.run_refused(order(confirm, epoch)).await;
            assert_eq!(
                (&problem["code"], &problem["field"]),
                (&json!("confirmation-needed"), &json!(field))
            );
            assert_eq!(problem["expected"], json!({ "confirm": "q", "epoch": now }));
        }
        let described = desk.run(json!({ "op": "describe", "queue": "q" })).await;
        assert_eq!(described["epoch"], now, "nothing happened");
        desk.run(order(json!("q"), json!(now))).await;
    }
}
