//! Commands and settings that end a queue.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use vestibule_domain::state::EntryState;
use vestibule_engine::{flush::flush_journal_until, tick::tick, tick_history::TickHistory};
use vestibule_line::EntryLookup;

use super::{AdminFixture, entry_partition, queue};

fn update(settings: &Value) -> Value {
    json!({ "op": "update", "queue": "q", "settings": settings })
}

fn confirmed(mut order: Value) -> Value {
    (order["confirm"], order["epoch"]) = (json!("q"), json!(1));
    order
}

fn ms_from_now(ms: i64) -> Value {
    json!(vestibule_telemetry::clock::now_ms().saturating_add_signed(ms))
}

/// What `list`, `stats` and `describe` say.
async fn states(desk: &AdminFixture) -> [Value; 3] {
    let list = desk.run(json!({ "op": "list" })).await;
    let stats = desk.run(json!({ "op": "stats", "queue": "q" })).await;
    let described = desk.run(json!({ "op": "describe", "queue": "q" })).await;
    [
        list["queues"][0]["state"].clone(),
        stats["state"].clone(),
        described["state"].clone(),
    ]
}

async fn expect_confirmation_needed(desk: &AdminFixture, settings: Value) {
    let problem = desk.run_refused(update(&settings)).await;
    assert_eq!(problem["code"], "confirmation-needed", "{settings}: {problem}");
    assert_eq!(problem["expected"], json!({ "confirm": "q", "epoch": 1 }));
    let mut wrong = confirmed(update(&settings));
    wrong["epoch"] = json!(7);
    assert_eq!(desk.run_refused(wrong).await["field"], "epoch");
}

#[tokio::test]
async fn an_update_that_ends_a_queue_must_be_confirmed() {
    for (settings, state) in [
        (json!({ "entrance": "closed" }), "closed"),
        (json!({ "entrance": "finished" }), "finished"),
        (json!({ "entrance": "sold_out" }), "finished"),
        (json!({ "ends_at_ms": ms_from_now(-1) }), "finished"),
    ] {
        let desk = AdminFixture::with_queue(json!({})).await;
        expect_confirmation_needed(&desk, settings.clone()).await;
        assert_eq!(
            desk.setting_in_force("entrance").await,
            "open",
            "nothing happened"
        );
        assert_eq!(states(&desk).await, ["open", "open", "open"]);
        desk.run(confirmed(update(&settings))).await;
        assert_eq!(states(&desk).await, [state, state, state], "{settings}");
        // A queue that has this state already loses nothing more.
        desk.run(update(&json!({ "message": "Sold out" }))).await;
    }
    let closed = AdminFixture::with_queue(json!({ "entrance": "closed" })).await;
    expect_confirmation_needed(&closed, json!({ "entrance": "finished" })).await;
}

#[tokio::test]
async fn harmless_updates_need_no_confirmation() {
    let desk = AdminFixture::with_queue(json!({})).await;
    for settings in [
        json!({ "entrance": "draining" }),
        json!({ "entrance": "open", "closes_at_ms": ms_from_now(-1), "ends_at_ms": ms_from_now(3_600_000) }),
    ] {
        desk.run(update(&settings)).await;
        assert_eq!(
            states(&desk).await,
            ["draining", "draining", "draining"],
            "{settings}"
        );
    }
    let list = desk.run(json!({ "op": "list" })).await;
    assert_eq!(list["queues"][0]["entrance"], "draining");
}

#[tokio::test]
async fn times_that_contradict_each_other_are_refused() {
    let desk = AdminFixture::with_queue(json!({ "ends_at_ms": "4000000000000" })).await;
    for (settings, field, other) in [
        (
            json!({ "closes_at_ms": 4_000_000_000_001_u64 }),
            "closes_at_ms",
            "ends_at_ms",
        ),
        (
            json!({ "closes_at_ms": 4_000_000_000_001_u64, "ends_at_ms": 4_000_000_000_000_u64 }),
            "ends_at_ms",
            "closes_at_ms",
        ),
        // A queue that ends when it opens would never be open.
        (
            json!({ "opens_at_ms": 4_000_000_000_000_u64 }),
            "opens_at_ms",
            "ends_at_ms",
        ),
        (
            json!({ "opens_at_ms": 3_000_000_000_000_u64, "closes_at_ms": 3_000_000_000_000_u64 }),
            "closes_at_ms",
            "opens_at_ms",
        ),
        (
            json!({ "closes_at_ms": 1_800_000_000 }),
            "closes_at_ms",
            "Unix milliseconds",
        ),
    ] {
        let problem = desk.run_refused(update(&settings)).await;
        assert_eq!(
            (&problem["code"], &problem["field"]),
            (&json!("invalid-setting"), &json!(field))
        );
        let detail = problem["detail"].as_str().expect("a text");
        assert!(detail.contains(other), "{detail}");
    }
    desk.run(update(&json!({ "closes_at_ms": 4_000_000_000_000_u64 })))
        .await;
    desk.run(update(&json!({ "closes_at_ms": null }))).await;
}

#[tokio::test]
async fn open_ends_finish_unless_a_time_has_passed() {
    let desk = AdminFixture::with_queue(json!({})).await;
    desk.run(confirmed(json!({ "op": "finish", "queue": "q" }))).await;
    assert_eq!(states(&desk).await, ["finished", "finished", "finished"]);
    desk.run(json!({ "op": "open", "queue": "q" })).await;
    assert_eq!(states(&desk).await, ["open", "open", "open"]);
    for (name, confirmation) in [("closes_at_ms", false), ("ends_at_ms", true)] {
        let passed = update(&json!({ name: ms_from_now(-1) }));
        desk.run(if confirmation { confirmed(passed) } else { passed })
            .await;
        let problem = desk.run_refused(json!({ "op": "open", "queue": "q" })).await;
        assert_eq!(problem["field"], name, "{problem}");
        desk.run(update(&json!({ name: null }))).await;
        assert_eq!(states(&desk).await, ["open", "open", "open"]);
    }
}

#[tokio::test]
async fn finish_has_a_reason_and_a_last_message_in_one_order() {
    let desk = AdminFixture::with_queue(json!({ "message": "Soon" })).await;
    let finish = |more: Value| {
        let mut order = confirmed(json!({ "op": "finish", "queue": "q" }));
        order
            .as_object_mut()
            .expect("an order")
            .extend(more.as_object().expect("fields").clone());
        order
    };
    for (more, entrance, message) in [
        (json!({}), "finished", "Soon"),
        (
            json!({ "reason": "sold_out", "message": { "en": "All gone" } }),
            "sold_out",
            "All gone",
        ),
        (
            json!({ "reason": "cancelled", "message": "The singer is ill" }),
            "cancelled",
            "The singer is ill",
        ),
        (
            json!({ "reason": "over", "message": null }),
            "finished",
            "The singer is ill",
        ),
    ] {
        let settings = desk.run(finish(more.clone())).await["settings"].take();
        let said = settings["message"]
            .as_str()
            .or(settings["message"]["en"].as_str());
        assert_eq!(
            (&settings["entrance"], said),
            (&json!(entrance), Some(message)),
            "{more}"
        );
        assert_eq!(
            states(&desk).await,
            ["finished", "finished", "finished"],
            "{more}"
        );
        assert_eq!(desk.setting_in_force("entrance").await, entrance);
    }
    desk.expect_refused_field(finish(json!({ "reason": "rain" })), "reason")
        .await;
    let refused = desk
        .run_refused(finish(
            json!({ "reason": "sold_out", "message": "x".repeat(501) }),
        ))
        .await;
    assert_eq!(refused["field"], "message", "{refused}");
    assert_eq!(
        desk.setting_in_force("entrance").await,
        "finished",
        "nothing happened"
    );
    // A reason is no part of a queue that goes on.
    desk.run(json!({ "op": "open", "queue": "q" })).await;
    desk.run(confirmed(update(&json!({ "ends_at_ms": ms_from_now(-1) }))))
        .await;
    assert_eq!(desk.setting_in_force("entrance").await, "open");
}

#[tokio::test]
async fn finish_ends_waits_in_line_and_backup() {
    let desk = AdminFixture::with_queue(json!({ "capacity": 1, "batch": 1 })).await;
    let active = desk.enter("ada").await;
    let waiting = desk.enter("bob").await;
    desk.run(confirmed(json!({ "op": "finish", "queue": "q" }))).await;
    let ticked = tick(desk.line(), &queue(), None, &TickHistory::default()).await;
    assert_eq!(ticked.expect("a tick").waiting, 0);
    let until = Instant::now() + Duration::from_secs(30);
    let flushed = flush_journal_until(desk.line(), desk.backup(), &entry_partition(), until).await;
    flushed.expect("flushed");
    assert_eq!(desk.state_in_backup(waiting).await, EntryState::Dismissed);
    assert_eq!(desk.state_in_backup(active).await, EntryState::Active);
    let lookup = desk.line().status(&queue(), active).await.expect("an answer");
    assert!(matches!(lookup, EntryLookup::Found(status) if status.state() == EntryState::Active));
    let stats = desk.run(json!({ "op": "stats", "queue": "q" })).await;
    assert_eq!(
        (&stats["totals"]["dismissed"], &stats["totals"]["no_shows"]),
        (&json!(1), &json!(0))
    );
}
