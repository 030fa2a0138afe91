//! The commands `block` and `unblock`.

use serde_json::{Value, json};
use vestibule_domain::settings::{BLOCKS_MAX, BlockTarget};

use super::{AdminFixture, queue};

#[tokio::test]
async fn blocks_are_kept_until_their_end() {
    let desk = AdminFixture::with_queue(json!({})).await;
    let source = desk.source("203.0.113.7").await;
    let visitor = desk.entry_id("ada").await;
    let blocked = desk
        .run(json!({ "op": "block", "queue": "q", "visitor": "ada" }))
        .await;
    assert_eq!(blocked["blocked"], json!([{ "token": visitor.to_string() }]));
    assert_eq!(blocked["changed"], true);
    let now_ms = vestibule_telemetry::clock::now_ms();
    let blocked = desk
        .run(json!({ "op": "block", "queue": "q", "source": source.to_string() }))
        .await;
    let until_ms = blocked["blocked"][1]["until_ms"]
        .as_u64()
        .expect("an hour by default");
    assert!((now_ms + 3_600_000..now_ms + 3_700_000).contains(&until_ms));
    let shown = desk.run(json!({ "op": "sources", "queue": "q" })).await;
    assert_eq!(shown["sources"], json!([]));
    let in_force = json!([
        { "token": visitor.to_string() },
        { "source": source.to_string(), "until_ms": until_ms },
    ]);
    assert_eq!(desk.setting_in_force("blocked").await, in_force);

    // Another update keeps the blocks, and cannot replace them by an old list.
    desk.run(json!({ "op": "update", "queue": "q", "settings": { "batch": 3 } }))
        .await;
    assert_eq!(desk.setting_in_force("blocked").await, in_force);
    for order in [
        json!({ "op": "update", "queue": "q", "settings": { "batch": 4, "blocked": [] } }),
        json!({ "op": "create", "queue": "p", "settings": { "blocked": [] } }),
    ] {
        let problem = desk.run_refused(order).await;
        assert_eq!(
            (&problem["code"], &problem["field"]),
            (&json!("invalid-setting"), &json!("blocked"))
        );
    }
    let ended = desk
        .run(json!({ "op": "unblock", "queue": "q", "source": source.to_string() }))
        .await;
    assert_eq!(ended["blocked"], json!([{ "token": visitor.to_string() }]));
    let again = desk
        .run(json!({ "op": "unblock", "queue": "q", "source": source.to_string() }))
        .await;
    assert_eq!(again["changed"], false);
}

#[tokio::test]
async fn block_works_while_another_stored_setting_is_invalid() {
    let desk = AdminFixture::with_queue(json!({})).await;
    desk.replace_stored_settings(json!({ "batch": 0 })).await;
    let source = desk.source("203.0.113.7").await;
    desk.run(json!({ "op": "block", "queue": "q", "source": source.to_string() }))
        .await;
    let view = desk.line().queue_view(&queue()).await.expect("a view");
    let blocked = &view.configuration.settings.blocked;
    assert!(blocked.contains(BlockTarget::Source(source), view.now_ms));
}

#[tokio::test]
async fn two_operators_do_not_lose_each_others_blocks() {
    let desk = AdminFixture::with_queue(json!({})).await;
    let block = |number: u32| {
        let visitor = format!("bot{number}");
        desk.run(json!({ "op": "block", "queue": "q", "visitor": visitor }))
    };
    futures_util::future::join_all((0..4).map(block)).await;
    let blocked = desk.setting_in_force("blocked").await;
    assert_eq!(blocked.as_array().map(Vec::len), Some(4), "{blocked}");
}

#[tokio::test]
async fn a_full_list_of_blocks_drops_those_that_have_ended() {
    let desk = AdminFixture::with_queue(json!({})).await;
    let mut full = Vec::new();
    for number in 0..BLOCKS_MAX {
        let token = desk.entry_id(&format!("bot{number}")).await.to_string();
        full.push(json!({ "token": token }));
    }
    desk.replace_stored_settings(json!({ "blocked": full })).await;
    let order = json!({ "op": "block", "queue": "q", "visitor": "one more" });
    let problem = desk.run_refused(order.clone()).await;
    assert_eq!(problem["field"], "blocked", "{problem}");
    full[0]["until_ms"] = json!(1);
    desk.replace_stored_settings(json!({ "blocked": full })).await;
    let blocked = desk.run(order).await;
    assert_eq!(blocked["blocked"].as_array().map(Vec::len), Some(BLOCKS_MAX));
}

#[tokio::test]
async fn inspect_says_who_blocked_a_visitor_and_until_when() {
    let desk = AdminFixture::with_queue(json!({})).await;
    let inspect = json!({ "op": "inspect", "queue": "q", "visitor": "ada", "kind": "known" });
    assert_eq!(desk.run(inspect.clone()).await["blocked"], Value::Null);
    let block = json!({ "op": "block", "queue": "q", "visitor": "ada", "kind": "known", "for_seconds": 60, "caller": "kim" });
    desk.run(block).await;
    let blocked = desk.run(inspect.clone()).await["blocked"].take();
    assert_eq!(
        (&blocked["by"], &blocked["source"]),
        (&json!("kim"), &Value::Null),
        "{blocked}"
    );
    let left_ms = blocked["until_ms"].as_u64().expect("a time") - blocked["at_ms"].as_u64().expect("a time");
    assert!((59_000..=60_000).contains(&left_ms), "{blocked}");
    desk.run(json!({ "op": "unblock", "queue": "q", "visitor": "ada" }))
        .await;
    assert_eq!(desk.run(inspect.clone()).await["blocked"], Value::Null);
    // An edit that is invalid is not in force, and hides no visitor.
    desk.replace_stored_settings(json!({ "blocked": "everyone" }))
        .await;
    assert_eq!(desk.run(inspect).await["blocked"], Value::Null);
}

/// An operator has the id from a complaint, which may not say of which kind it is.
#[tokio::test]
async fn inspect_looks_for_both_kinds_of_visitor() {
    let desk = AdminFixture::with_queue(json!({})).await;
    let browser = "0f1e2d3c-4b5a-4697-8877-665544332211";
    let anonymous = desk.enter_anonymous(browser).await;
    let found = desk
        .run(json!({ "op": "inspect", "queue": "q", "visitor": browser }))
        .await;
    assert_eq!(
        (&found["token"], &found["kind"]),
        (&json!(anonymous.to_string()), &json!("anon"))
    );
    let known = desk
        .run(json!({ "op": "inspect", "queue": "q", "visitor": browser, "kind": "known" }))
        .await;
    assert_eq!((&known["kind"], &known["place"]), (&json!("known"), &Value::Null));
}

/// No order may concern another visitor than the one whom the operator means.
#[tokio::test]
async fn an_order_without_a_kind_finds_the_only_entry_and_refuses_to_choose_between_two() {
    let browser = "0f1e2d3c-4b5a-4697-8877-665544332211";
    for op in ["evict", "promote", "lane", "block"] {
        let desk = AdminFixture::with_queue(json!({ "fast_track": false })).await;
        let anonymous = desk.enter_anonymous(browser).await;
        let mut command = json!({ "op": op, "queue": "q", "visitor": browser });
        match op {
            "evict" => (command["confirm"], command["epoch"]) = (json!("q"), json!(1)),
            "lane" => command["lane"] = json!(2),
            _ => {}
        }
        // Two visitors whose ids are the same text.
        let known = desk.enter(browser).await;
        let refused = desk.run_refused(command.clone()).await;
        assert_eq!(
            (&refused["code"], &refused["field"]),
            (&json!("invalid-command"), &json!("kind")),
            "{refused}"
        );
        for (kind, id) in [("anon", anonymous), ("known", known)] {
            let mut named = command.clone();
            named["kind"] = json!(kind);
            let done = desk.run(named).await;
            assert!(
                op == "block" || done["token"] == id.to_string(),
                "{op} {kind}: {done}"
            );
        }

        let desk = AdminFixture::with_queue(json!({ "fast_track": false })).await;
        let anonymous = desk.enter_anonymous(browser).await;
        let done = desk.run(command).await;
        let token = if op == "block" {
            &done["blocked"][0]["token"]
        } else {
            &done["token"]
        };
        assert_eq!(*token, anonymous.to_string(), "{op}: {done}");
    }
}

/// A block outlives the entry, so the entry says no more which visitor it concerns.
#[tokio::test]
async fn unblock_finds_the_block_of_either_kind() {
    let browser = "0f1e2d3c-4b5a-4697-8877-665544332211";
    let desk = AdminFixture::with_queue(json!({})).await;
    let block = |kind: &str| json!({ "op": "block", "queue": "q", "visitor": browser, "kind": kind });
    desk.run(block("anon")).await;
    let unblock = json!({ "op": "unblock", "queue": "q", "visitor": browser });
    let ended = desk.run(unblock.clone()).await;
    assert_eq!((&ended["changed"], &ended["blocked"]), (&json!(true), &json!([])));
    for kind in ["anon", "known"] {
        desk.run(block(kind)).await;
    }
    assert_eq!(desk.run_refused(unblock).await["field"], "kind");
}
