//! The command `entries`: pages are complete and hold no entry twice, also while entries move.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use vestibule_domain::id::EntryId;
use vestibule_line::{LeaveReason, Line};

use super::{AdminFixture, queue};

const VISITORS: usize = 60;

async fn queue_with_visitors() -> (AdminFixture, Vec<EntryId>) {
    let desk = AdminFixture::with_queue(json!({ "capacity": 1000, "batch": 1000, "paused": true })).await;
    let mut ids = Vec::new();
    for number in 0..VISITORS {
        ids.push(desk.enter(&format!("visitor {number}")).await);
    }
    (desk, ids)
}

fn tokens(page: &Value) -> Vec<String> {
    let entries = page["entries"].as_array().expect("a list");
    let tokens = entries
        .iter()
        .map(|entry| entry["token"].as_str().expect("a token"));
    tokens.map(str::to_owned).collect()
}

async fn page(desk: &AdminFixture, state: &str, limit: usize, cursor: &Value) -> Value {
    let order = json!({ "op": "entries", "queue": "q", "state": state, "limit": limit, "cursor": cursor });
    desk.run(order).await
}

/// All tokens of a state, page by page. `between` runs after each page.
async fn page_through(
    desk: &AdminFixture,
    state: &str,
    limit: usize,
    mut between: impl AsyncFnMut(usize),
) -> Vec<String> {
    let (mut all, mut cursor) = (Vec::new(), Value::Null);
    for number in 0.. {
        assert!(number <= VISITORS, "the pages end");
        let page = page(desk, state, limit, &cursor).await;
        let found = tokens(&page);
        assert!(found.len() <= limit, "{page}");
        all.extend(found);
        cursor = page["cursor"].clone();
        if cursor.is_null() {
            break;
        }
        between(number).await;
    }
    all
}

fn texts(ids: impl IntoIterator<Item = EntryId>) -> BTreeSet<String> {
    ids.into_iter().map(|id| id.to_string()).collect()
}

#[tokio::test]
async fn pages_hold_every_entry_of_a_state_once() {
    let (desk, ids) = queue_with_visitors().await;
    for limit in [1, 7, 100] {
        let found = page_through(&desk, "waiting", limit, async |_| {}).await;
        assert_eq!(found.len(), VISITORS);
        assert_eq!(BTreeSet::from_iter(found), texts(ids.clone()));
    }
    assert!(page_through(&desk, "ready", 7, async |_| {}).await.is_empty());
}

#[tokio::test]
async fn pages_hold_no_entry_twice_while_entries_move() {
    let (desk, ids) = queue_with_visitors().await;
    let moving = &ids[..VISITORS / 2];
    // After each page an entry leaves, and one enters again at the back of the line.
    let found = page_through(&desk, "waiting", 5, async |number| {
        if let Some(id) = moving.get(number) {
            let left = desk.line().leave(&queue(), *id, None, LeaveReason::Leave).await;
            left.expect("left");
        }
        if number % 2 == 1 {
            desk.enter(&format!("visitor {}", number - 1)).await;
        }
    })
    .await;
    let distinct = BTreeSet::from_iter(found.clone());
    assert_eq!(distinct.len(), found.len(), "no entry is on two pages");
    let steady = texts(ids[VISITORS / 2..].iter().copied());
    assert!(
        distinct.is_superset(&steady),
        "an entry that stays in the state is on a page"
    );
}

#[tokio::test]
async fn ended_entries_come_from_the_backup() {
    let (mut desk, ids) = queue_with_visitors().await;
    for id in &ids[..10] {
        let order =
            json!({ "op": "evict", "queue": "q", "token": id.to_string(), "confirm": "q", "epoch": 1 });
        desk.run(order).await;
    }
    let evicted = page_through(&desk, "evicted", 3, async |_| {}).await;
    assert_eq!(BTreeSet::from_iter(evicted), texts(ids[..10].iter().copied()));
    let waiting = page_through(&desk, "waiting", 100, async |_| {}).await;
    assert_eq!(waiting.len(), VISITORS - 10);

    // Without a line, the backup alone tells the states.
    desk.admin.line = Line::in_process();
    let shown = page(&desk, "waiting", 100, &Value::Null).await;
    assert_eq!(
        (tokens(&shown).len(), &shown["degraded"]),
        (VISITORS - 10, &json!(true))
    );
}

#[tokio::test]
async fn a_cursor_is_refused_after_a_reset() {
    let (desk, ids) = queue_with_visitors().await;
    let cursor = page(&desk, "waiting", 2, &Value::Null).await["cursor"].clone();
    for wrong in [
        "",
        "1",
        "1/64/",
        "1/0",
        "x/0/",
        &format!("1/{}/{}", (ids[0].shard() + 1) % 64, ids[0]),
    ] {
        let order = json!({ "op": "entries", "queue": "q", "cursor": wrong });
        desk.expect_refused_field(order, "cursor").await;
    }
    desk.expect_refused_field(json!({ "op": "entries", "queue": "q", "state": "gone" }), "state")
        .await;
    desk.run(json!({ "op": "reset", "queue": "q", "confirm": "q", "epoch": 1 }))
        .await;
    let order = json!({ "op": "entries", "queue": "q", "cursor": cursor });
    desk.expect_refused_field(order, "cursor").await;
}
