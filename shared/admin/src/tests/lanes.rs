//! The commands `lane` and `promote` for one entry.

use serde_json::{Value, json};
use vestibule_domain::{id::EntryId, state::EntryState};

use super::{AdminFixture, entry_partition};

/// A queue with two slots and one promotion an hour, and the entries of three visitors in line.
async fn desk_with_line() -> (AdminFixture, Vec<EntryId>) {
    let settings = json!({ "capacity": 2, "batch": 1, "interval_seconds": 3600, "paused": true });
    let desk = AdminFixture::with_queue(settings).await;
    let mut ids = Vec::new();
    for visitor in ["ada", "bob", "carl"] {
        ids.push(desk.enter(visitor).await);
    }
    desk.run(json!({ "op": "resume", "queue": "q" })).await;
    (desk, ids)
}

fn lane(by: &str, value: impl Into<Value>, lane: u8) -> Value {
    let mut command = json!({ "op": "lane", "queue": "q", "lane": lane });
    command[by] = value.into();
    command
}

fn promote(id: EntryId, over_pace: bool) -> Value {
    json!({ "op": "promote", "queue": "q", "token": id.to_string(), "over_pace": over_pace })
}

#[tokio::test]
async fn lane_moves_an_entry_in_line_and_backup() {
    let (desk, ids) = desk_with_line().await;
    for (command, id) in [
        (lane("token", ids[2].to_string(), 1), ids[2]),
        (lane("visitor", "bob", 1), ids[1]),
    ] {
        let moved = desk.run(command.clone()).await;
        assert_eq!(moved["token"], id.to_string());
        assert_eq!(
            (&moved["lane"], &moved["from_lane"], &moved["position"]),
            (&json!(1), &json!(4), &json!(1)),
            "bob joined before carl: {moved}"
        );
        assert_eq!(moved["durable"], true);
        let record = desk.backup().read_entry(&entry_partition(), id).await;
        let record = record.expect("read").expect("is there");
        let place = record.score.expect("a place");
        assert_eq!((place.lane(), record.fact.visit), (1, place.visit()));
        assert!(record.fact.step_ms > 0, "the fact has the time of the move");
        let again = desk.run(command).await;
        assert_eq!(
            (&again["from_lane"], &again["durable"]),
            (&json!(1), &json!(true))
        );
    }
    let shown = desk
        .run(json!({ "op": "inspect", "queue": "q", "visitor": "bob" }))
        .await;
    assert_eq!(
        (&shown["place"]["lane"], &shown["place"]["position"]),
        (&json!(1), &json!(1))
    );
    let shown = desk
        .run(json!({ "op": "inspect", "queue": "q", "visitor": "ada" }))
        .await;
    assert_eq!(
        (&shown["place"]["position"], &shown["place"]["rank_in_line"]),
        (&json!(1), &json!(3)),
        "the first of lane 4 is told 1, and stands behind two of lane 1"
    );
}

#[tokio::test]
async fn lane_and_promote_refuse_what_they_cannot_do() {
    let (desk, ids) = desk_with_line().await;
    for wrong in [json!(8), json!(-1), json!("1"), Value::Null] {
        let command = json!({ "op": "lane", "queue": "q", "visitor": "ada", "lane": wrong });
        desk.expect_refused_field(command, "lane").await;
    }
    desk.expect_refused_field(json!({ "op": "lane", "queue": "q", "lane": 1 }), "token")
        .await;
    let over_pace = json!({ "op": "promote", "queue": "q", "count": 1, "over_pace": true });
    desk.expect_refused_field(over_pace, "over_pace").await;
    let mut both = promote(ids[0], false);
    both["count"] = json!(1);
    desk.expect_refused_field(both, "count").await;

    let unknown = desk.run_refused(lane("visitor", "dora", 1)).await;
    assert_eq!(unknown["code"], "unknown-entry");
    desk.run(promote(ids[0], false)).await;
    for command in [lane("visitor", "ada", 1), promote(ids[0], true)] {
        let refused = desk.run_refused(command).await;
        assert_eq!(
            (&refused["code"], &refused["state"]),
            (&json!("not-waiting"), &json!("ready"))
        );
    }
}

#[tokio::test]
async fn promote_of_one_entry_says_what_limits_it() {
    let (desk, ids) = desk_with_line().await;
    desk.run(json!({ "op": "pause", "queue": "q" })).await;
    let limited_by = async |command| {
        let refused = desk.run_refused(command).await;
        assert_eq!(refused["code"], "not-promoted", "{refused}");
        refused["limited_by"].clone()
    };
    assert_eq!(limited_by(promote(ids[2], true)).await, "switch");
    desk.run(json!({ "op": "resume", "queue": "q" })).await;

    let promoted = desk.run(promote(ids[2], false)).await;
    assert_eq!(
        (&promoted["promoted"], &promoted["durable"]),
        (&json!(1), &json!(true))
    );
    let record = desk.backup().read_entry(&entry_partition(), ids[2]).await;
    assert_eq!(record.expect("read").expect("is there").state, EntryState::Ready);
    assert_eq!(
        limited_by(promote(ids[1], false)).await,
        "pace",
        "it took the token"
    );
    desk.run(promote(ids[1], true)).await;
    assert_eq!(limited_by(promote(ids[0], true)).await, "capacity");
}

#[tokio::test]
async fn a_moved_entry_stays_moved_after_a_restore() {
    let (desk, ids) = desk_with_line().await;
    desk.run(lane("visitor", "carl", 0)).await;
    let restore = json!({ "op": "restore", "queue": "q", "confirm": "q", "epoch": 1 });
    desk.run(restore).await;
    let shown = desk
        .run(json!({ "op": "inspect", "queue": "q", "visitor": "carl" }))
        .await;
    assert_eq!(
        (&shown["place"]["lane"], &shown["place"]["position"]),
        (&json!(0), &json!(1))
    );
    assert_eq!(shown["token"], ids[2].to_string());
}

/// The sample in `infra/events` that is not named after its operation.
#[tokio::test]
async fn sample_event_promotes_one_entry() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../infra/events/promote-one-entry.json"
    );
    let text = std::fs::read_to_string(path).expect("the sample");
    let mut event: Value = serde_json::from_str(&text).expect("JSON");
    event["queue"] = json!("q");
    let (desk, ids) = desk_with_line().await;
    let promoted = desk.run(event).await;
    assert_eq!(
        (&promoted["token"], &promoted["over_pace"]),
        (&json!(ids[0].to_string()), &json!(true))
    );
}
