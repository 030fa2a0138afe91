//! Scheduling a queue by commands.

use serde_json::{Value, json};

use super::AdminFixture;

fn update(settings: &Value) -> Value {
    json!({ "op": "update", "queue": "q", "settings": settings })
}

fn ms_from_now(ms: u64) -> u64 {
    vestibule_telemetry::clock::now_ms() + ms
}

fn ms_ago(ms: u64) -> u64 {
    vestibule_telemetry::clock::now_ms() - ms
}

async fn state(desk: &AdminFixture) -> Value {
    desk.run(json!({ "op": "describe", "queue": "q" })).await["state"].clone()
}

#[tokio::test]
async fn an_opening_moves_until_it_has_come() {
    let desk = AdminFixture::with_queue(json!({ "opens_at_ms": ms_from_now(3_600_000) })).await;
    desk.enter("ada").await;
    assert_eq!(state(&desk).await, "scheduled");
    let later = update(&json!({ "opens_at_ms": ms_from_now(7_200_000) }));
    desk.run(later.clone()).await;
    assert_eq!(state(&desk).await, "scheduled");
    // `null` opens at once, and `open` does not.
    desk.run(json!({ "op": "open", "queue": "q" })).await;
    assert_eq!(state(&desk).await, "scheduled");
    desk.run(update(&json!({ "opens_at_ms": null }))).await;
    assert_eq!(state(&desk).await, "open");

    let problem = desk.run_refused(later.clone()).await;
    assert_eq!(
        (&problem["code"], &problem["field"]),
        (&json!("invalid-setting"), &json!("opens_at_ms"))
    );
    assert!(
        problem["detail"].as_str().expect("a text").contains("reset"),
        "{problem}"
    );
    // A new generation has not opened.
    desk.run(json!({ "op": "reset", "queue": "q", "confirm": "q", "epoch": 1 }))
        .await;
    desk.run(later).await;
    assert_eq!(state(&desk).await, "scheduled");
}

#[tokio::test]
async fn an_opening_may_be_moved_until_a_visitor_comes() {
    let desk = AdminFixture::with_queue(json!({})).await;
    // A time that has passed, as after a typo and after a reset of a queue that had opened.
    desk.run(update(&json!({ "opens_at_ms": ms_ago(5_000) }))).await;
    assert_eq!(state(&desk).await, "open");
    let later = update(&json!({ "opens_at_ms": ms_from_now(3_600_000) }));
    desk.run(later.clone()).await;
    assert_eq!(state(&desk).await, "scheduled");
    desk.run(update(&json!({ "opens_at_ms": ms_ago(5_000) }))).await;
    desk.enter("ada").await;
    let problem = desk.run_refused(later.clone()).await;
    assert_eq!(problem["field"], "opens_at_ms");
    desk.run(json!({ "op": "reset", "queue": "q", "confirm": "q", "epoch": 1 }))
        .await;
    desk.run(later).await;
    assert_eq!(state(&desk).await, "scheduled");
}

#[tokio::test]
async fn a_draw_neither_ends_with_visitors_in_line_nor_begins_after_the_opening() {
    let draw = update(&json!({ "before_opening": "draw", "draw_anyone": true }));
    let in_turn = update(&json!({ "before_opening": "fifo" }));
    let desk = AdminFixture::with_queue(json!({ "opens_at_ms": ms_from_now(3_600_000) })).await;
    for order in [&draw, &in_turn, &draw] {
        desk.run(order.clone()).await;
    }
    desk.enter("ada").await;
    assert_eq!(desk.run_refused(in_turn).await["field"], "before_opening");

    let desk = AdminFixture::with_queue(json!({})).await;
    desk.enter("ada").await;
    assert_eq!(desk.run_refused(draw).await["field"], "before_opening");
}

#[tokio::test]
async fn a_draw_needs_one_chance_per_person_unless_meant() {
    let desk = AdminFixture::with_queue(json!({})).await;
    let draw = json!({ "before_opening": "draw" });
    let problem = desk.run_refused(update(&draw)).await;
    assert_eq!(problem["field"], "before_opening");
    let detail = problem["detail"].as_str().expect("a text");
    assert!(
        detail.contains("visitors") && detail.contains("draw_anyone"),
        "{detail}"
    );
    desk.run(update(&json!({ "before_opening": "draw", "draw_anyone": true })))
        .await;
    let problem = desk.run_refused(update(&json!({ "draw_anyone": false }))).await;
    assert_eq!(problem["code"], "invalid-setting");
}

const EIGHT_IN_SEOUL: &str = "2046-12-24T20:00:00+09:00";
const EIGHT_IN_SEOUL_MS: u64 = 2_429_262_000_000;

#[tokio::test]
async fn a_time_may_be_a_text_with_its_offset() {
    let desk = AdminFixture::with_queue(json!({})).await;
    let described = desk.run(update(&json!({ "opens_at": EIGHT_IN_SEOUL }))).await;
    assert_eq!(described["settings"]["opens_at_ms"], EIGHT_IN_SEOUL_MS);
    assert_eq!(
        described["settings"].get("opens_at"),
        None,
        "the settings can be given back"
    );
    let stored = desk.stored_queue().await.settings.to_value();
    assert_eq!(
        (&stored["opens_at_ms"], stored.get("opens_at")),
        (&json!(EIGHT_IN_SEOUL_MS), None)
    );
    let described = desk.run(json!({ "op": "describe", "queue": "q" })).await;
    assert_eq!(described["opens_at"], "2046-12-24T11:00:00Z");
    desk.run(update(&json!({ "opens_at": null }))).await;
    assert_eq!(desk.setting_in_force("opens_at_ms").await, Value::Null);

    for op in ["create", "defaults", "update"] {
        for (settings, field, words) in [
            (
                json!({ "ends_at": "2046-12-24T20:00:00" }),
                "ends_at",
                "lacks its offset",
            ),
            (
                json!({ "ends_at": "tomorrow" }),
                "ends_at",
                "2026-12-24T20:00:00+09:00",
            ),
            (
                json!({ "ends_at": EIGHT_IN_SEOUL_MS }),
                "ends_at",
                "must be a time with its offset",
            ),
            (
                json!({ "ends_at": EIGHT_IN_SEOUL, "ends_at_ms": null }),
                "ends_at",
                "together with ends_at_ms",
            ),
            (
                json!({ "ends_at_ms": EIGHT_IN_SEOUL }),
                "ends_at_ms",
                "or give ends_at as a text",
            ),
            (
                json!({ "closes_at": EIGHT_IN_SEOUL, "opens_at": EIGHT_IN_SEOUL }),
                "closes_at_ms",
                "2046-12-24T11:00:00Z",
            ),
        ] {
            let mut order = json!({ "op": op, "settings": settings });
            match op {
                "defaults" => order["prefix"] = json!("Q*"),
                "create" => order["queue"] = json!("new"),
                _ => order["queue"] = json!("q"),
            }
            let refused = desk.run_refused(order.clone()).await;
            assert_eq!(
                (&refused["code"], &refused["field"]),
                (&json!("invalid-setting"), &json!(field)),
                "{order}: {refused}"
            );
            assert!(
                refused["detail"].as_str().expect("a text").contains(words),
                "{refused}"
            );
        }
    }
}

/// An operator who has only the console of AWS edits the table.
#[tokio::test]
async fn a_time_in_the_table_may_be_a_text() {
    let desk = AdminFixture::with_queue(json!({})).await;
    desk.replace_stored_settings(json!({ "opens_at": EIGHT_IN_SEOUL, "batch": "7" }))
        .await;
    let changed = desk.run(update(&json!({ "batch": 8 }))).await;
    assert_eq!(changed["settings"]["opens_at_ms"], EIGHT_IN_SEOUL_MS);
    assert_eq!(state(&desk).await, "scheduled");
    let stored = desk.stored_queue().await.settings.to_value();
    assert_eq!(
        (&stored["opens_at_ms"], stored.get("opens_at")),
        (&json!(EIGHT_IN_SEOUL_MS), None)
    );

    // Vestibule has stored each setting, so those that are not set are there as null.
    let mut stored = stored;
    stored["closes_at"] = json!("2046-12-24T21:00:00+09:00");
    desk.replace_stored_settings(stored.clone()).await;
    let changed = desk.run(update(&json!({ "batch": 9 }))).await;
    assert_eq!(changed["settings"]["closes_at_ms"], EIGHT_IN_SEOUL_MS + 3_600_000);
    stored["closes_at_ms"] = json!(EIGHT_IN_SEOUL_MS);
    desk.replace_stored_settings(stored).await;
    let described = desk.run(json!({ "op": "describe", "queue": "q" })).await;
    let wrong = described["stored_settings_problem"].as_str().expect("a problem");
    assert!(
        wrong.contains("closes_at") && wrong.contains("remove one"),
        "{wrong}"
    );

    desk.replace_stored_settings(json!({ "opens_at": "at eight", "batch": 8 }))
        .await;
    let described = desk.run(json!({ "op": "describe", "queue": "q" })).await;
    let wrong = described["stored_settings_problem"].as_str().expect("a problem");
    assert!(wrong.contains("opens_at") && wrong.contains("offset"), "{wrong}");
    // An update corrects the setting under either name.
    desk.run(update(&json!({ "opens_at_ms": EIGHT_IN_SEOUL_MS })))
        .await;
    assert_eq!(desk.setting_in_force("opens_at_ms").await, EIGHT_IN_SEOUL_MS);
}
