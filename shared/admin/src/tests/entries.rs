//! Commands that act on entries.

use serde_json::{Value, json};
use vestibule_domain::state::EntryState;
use vestibule_line::{Arrival, EntryLookup};

use super::{AdminFixture, entry_partition, queue};

#[tokio::test]
async fn manual_promote_spends_the_promoters_tokens() {
    let desk = AdminFixture::with_queue(
        json!({ "capacity": 10, "batch": 3, "interval_seconds": 3600, "paused": true }),
    )
    .await;
    let mut ids = Vec::new();
    for visitor in ["a", "b", "c", "d", "e"] {
        ids.push(desk.enter(visitor).await);
    }
    let promote = |count| json!({ "op": "promote", "queue": "q", "count": count });
    let gate = desk.run(promote(5)).await;
    assert_eq!(
        (&gate["promoted"], &gate["limited_by"]),
        (&json!(0), &json!("switch"))
    );
    desk.run(json!({ "op": "resume", "queue": "q" })).await;

    let first = desk.run(promote(1)).await;
    assert_eq!(
        (&first["promoted"], &first["limited_by"]),
        (&json!(1), &json!("requested"))
    );
    assert_eq!(first["durable"], true);
    let record = desk
        .backup()
        .read_entry(&entry_partition(), ids[0])
        .await
        .expect("read")
        .expect("is there");
    assert_eq!(record.state, EntryState::Ready, "the journal is in the backup");

    let rest = desk.run(promote(9)).await;
    assert_eq!(
        (&rest["promoted"], &rest["limited_by"], &rest["waiting"]),
        (&json!(2), &json!("pace"), &json!(2))
    );
    let stats = desk.run(json!({ "op": "stats", "queue": "q" })).await;
    assert_eq!(stats["bucket_tokens"], 0);
    assert_eq!(
        stats["heartbeat_age_ms"],
        Value::Null,
        "an operator is no driver of the line"
    );
}

#[tokio::test]
async fn evict_removes_the_entry_from_line_and_backup() {
    let desk = AdminFixture::with_queue(json!({ "paused": true })).await;
    let (by_token, by_visitor) = (desk.enter("ada").await, desk.enter("bob").await);
    let evict = |name: &str, value: String| {
        let mut order = json!({ "op": "evict", "queue": "q", "confirm": "q", "epoch": 1 });
        order[name] = value.into();
        order
    };
    for (order, id) in [
        (evict("token", by_token.to_string()), by_token),
        (evict("visitor", "bob".to_owned()), by_visitor),
    ] {
        let evicted = desk.run(order.clone()).await;
        assert_eq!(
            (&evicted["token"], &evicted["state"]),
            (&json!(id.to_string()), &json!("evicted"))
        );
        assert_eq!(evicted["durable"], true);
        let lookup = desk.line().status(&queue(), id).await.expect("answered");
        assert!(matches!(lookup, EntryLookup::NotFound(_)), "{lookup:?}");
        let record = desk
            .backup()
            .read_entry(&entry_partition(), id)
            .await
            .expect("read")
            .expect("is there");
        assert_eq!(record.state, EntryState::Evicted);
        assert_eq!(
            desk.run_refused(order).await["code"],
            "unknown-entry",
            "gone already"
        );
    }
}

#[tokio::test]
async fn inspect_shows_the_entry_and_never_the_visitor_id() {
    let desk = AdminFixture::with_queue(json!({ "paused": true })).await;
    desk.enter("visitor").await;
    let id = desk.enter("ada@example.com").await;
    let by_visitor = json!({ "op": "inspect", "queue": "q", "visitor": "ada@example.com" });
    let by_token = json!({ "op": "inspect", "queue": "q", "token": id.to_string() });

    let shown = desk.run(by_visitor.clone()).await;

    assert_eq!(shown, desk.run(by_token).await);
    assert_eq!(
        (&shown["token"], &shown["kind"]),
        (&json!(id.to_string()), &json!("known"))
    );
    assert_eq!(
        (&shown["place"]["state"], &shown["place"]["position"]),
        (&json!("waiting"), &json!(2))
    );
    assert_eq!(shown["record"]["state"], "waiting");
    assert_eq!(shown["record"]["score"], shown["place"]["score"]);
    assert!(!shown.to_string().contains("example.com"), "{shown}");

    let mut as_anon = by_visitor;
    as_anon["visitor"] = json!("e0a6b0ec-6c5d-4fd6-8a9c-9d1b3f1c2a77");
    as_anon["kind"] = json!("anon");
    let anonymous = desk.run(as_anon).await;
    assert_eq!(
        (&anonymous["kind"], &anonymous["place"], &anonymous["record"]),
        (&json!("anon"), &Value::Null, &Value::Null)
    );
}

#[tokio::test]
async fn check_repairs_and_counts_differences() {
    let desk = AdminFixture::with_queue(json!({ "paused": true })).await;
    for visitor in ["ada", "bob", "eve"] {
        desk.enter(visitor).await;
    }
    let unwritten = [desk.entry_id("dan").await, desk.entry_id("kim").await];
    for id in unwritten {
        desk.admin
            .line
            .enter(&queue(), id, Arrival::Ordinary)
            .await
            .expect("entered");
    }
    let check = json!({ "op": "check", "queue": "q" });
    let first = desk.run(check.clone()).await;
    let counted = |result: &Value, name: &str| result[name].as_u64().expect("a count");
    assert_eq!(
        (counted(&first, "checked_line"), counted(&first, "checked_table")),
        (5, 3)
    );
    assert_eq!((counted(&first, "written"), counted(&first, "skipped")), (2, 0));
    assert_eq!(
        (&first["complete"], &first["next_shard"]),
        (&json!(true), &Value::Null)
    );
    for id in unwritten {
        let record = desk
            .backup()
            .read_entry(&entry_partition(), id)
            .await
            .expect("read");
        assert_eq!(record.expect("written").state, EntryState::Waiting);
    }
    let second = desk.run(check).await;
    assert_eq!(
        (counted(&second, "checked_table"), counted(&second, "written")),
        (5, 0)
    );
    // A check from the last shard on sees only the entries of that shard.
    let rest = desk
        .run(json!({ "op": "check", "queue": "q", "from_shard": 63 }))
        .await;
    assert!(counted(&rest, "checked_line") < 5);
    assert_eq!(rest["complete"], true);
}
