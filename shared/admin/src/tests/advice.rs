//! What a refusal advises helps: an operator does what it says, and the command is accepted.

use serde_json::{Value, json};
use vestibule_domain::load::LoadReport;

use super::{AdminFixture, queue};

const HOUR_MS: u64 = 3_600_000;

fn order(op: &str) -> Value {
    json!({ "op": op, "queue": "q" })
}

fn confirmed(op: &str) -> Value {
    json!({ "op": op, "queue": "q", "confirm": "q", "epoch": 1 })
}

fn update(settings: &Value) -> Value {
    json!({ "op": "update", "queue": "q", "settings": settings })
}

impl AdminFixture {
    /// The command is refused with these words of advice.
    async fn expect_advice(&self, command: &Value, words: &str) -> Value {
        let problem = self.run_refused(command.clone()).await;
        let detail = problem["detail"].as_str().expect("a text");
        assert!(detail.contains(words), "{command}: {detail}");
        problem
    }

    /// The command is refused with these words of advice, and accepted after the advised one.
    async fn expect_help(&self, command: &Value, words: &str, advised: Value) {
        self.expect_advice(command, words).await;
        self.run(advised).await;
        self.run(command.clone()).await;
    }
}

/// A queue with one slot and one promotion an hour, in which a visitor waits, and the command that promotes the visitor.
async fn desk_with_line(settings: Value) -> (AdminFixture, Value) {
    let desk = AdminFixture::with_queue(json!({ "fast_track": false, "interval_seconds": 3_600 })).await;
    desk.run(update(&settings)).await;
    let id = desk.enter("ada").await;
    let promote = json!({ "op": "promote", "queue": "q", "token": id.to_string() });
    (desk, promote)
}

#[tokio::test]
async fn advice_of_what_stops_a_promotion_lets_it_happen() {
    let later = vestibule_telemetry::clock::now_ms() + HOUR_MS;
    let open_now = update(&json!({ "opens_at_ms": null }));
    let (desk, promote) = desk_with_line(json!({ "opens_at_ms": later })).await;
    desk.expect_help(&promote, "\"opens_at_ms\": null", open_now)
        .await;

    let (desk, promote) = desk_with_line(json!({ "paused": true })).await;
    desk.expect_help(&promote, "the command resume", order("resume"))
        .await;

    // One switch after the other is named.
    let (desk, promote) = desk_with_line(json!({ "paused": true })).await;
    desk.run(confirmed("close")).await;
    desk.expect_advice(&promote, "the command open").await;
    desk.run(order("open")).await;
    desk.expect_help(&promote, "the command resume", order("resume"))
        .await;

    let (desk, promote) = desk_with_line(json!({ "capacity": 1 })).await;
    let other = desk.enter("bob").await;
    desk.run(json!({ "op": "promote", "queue": "q", "token": other.to_string() }))
        .await;
    let more = update(&json!({ "capacity": 2, "batch": 2, "interval_seconds": 1 }));
    desk.expect_help(&promote, "raise the capacity", more).await;

    let (desk, mut promote) = desk_with_line(json!({ "batch": 1 })).await;
    desk.run(json!({ "op": "promote", "queue": "q", "token": desk.enter("bob").await.to_string() }))
        .await;
    desk.expect_advice(&promote, "\"over_pace\": true").await;
    promote["over_pace"] = json!(true);
    desk.run(promote).await;

    let adaptive = json!({ "adaptive": true, "batch_min": 1, "batch_max": 9, "load_low": 1, "load_high": 9 });
    let (desk, promote) = desk_with_line(adaptive).await;
    let down = LoadReport {
        tps: None,
        latency_ms: None,
        healthy: false,
    };
    desk.line().record_load(&queue(), &down).await.expect("kept");
    let fixed = update(&json!({ "adaptive": false }));
    desk.expect_help(&promote, "set adaptive to false", fixed).await;
}

#[tokio::test]
async fn advice_to_reset_allows_what_was_refused() {
    let later = vestibule_telemetry::clock::now_ms() + HOUR_MS;
    let to_later = update(&json!({ "opens_at_ms": later }));
    let to_draw = update(&json!({ "before_opening": "draw", "draw_anyone": true }));
    let to_fifo = update(&json!({ "before_opening": "fifo" }));
    let drawing = json!({ "before_opening": "draw", "draw_anyone": true, "opens_at_ms": later });
    for (settings, refused) in [(json!({}), to_later), (json!({}), to_draw), (drawing, to_fifo)] {
        let desk = AdminFixture::with_queue(settings).await;
        desk.enter("ada").await;
        desk.expect_help(&refused, "the command reset", confirmed("reset"))
            .await;
    }
}

#[tokio::test]
async fn advice_about_a_queue_that_is_over_opens_it() {
    let past = vestibule_telemetry::clock::now_ms() - 1_000;
    for time in ["closes_at_ms", "ends_at_ms"] {
        let desk = AdminFixture::with_queue(json!({ (time): past })).await;
        let advised = update(&json!({ (time): null }));
        desk.expect_help(&order("open"), "null with the command update", advised)
            .await;
    }
    let desk = AdminFixture::new();
    let create = json!({ "op": "create", "queue": "q", "settings": {} });
    desk.expect_help(&order("pause"), "the command create", create.clone())
        .await;
    desk.run(confirmed("delete")).await;
    desk.expect_help(&order("pause"), "the command create", create)
        .await;
}

#[tokio::test]
async fn advice_about_a_command_names_the_right_one() {
    let desk = AdminFixture::with_queue(json!({})).await;
    let other = json!({ "op": "create", "queue": "q", "settings": { "capacity": 7 } });
    let change = update(&json!({ "capacity": 7 }));
    desk.expect_help(&other, "the command update", change).await;

    let id = desk.enter("ada").await;
    let blocked = json!([{ "token": id.to_string() }]);
    desk.expect_advice(
        &update(&json!({ "blocked": blocked })),
        "the commands block and unblock",
    )
    .await;
    for op in ["block", "unblock"] {
        desk.run(json!({ "op": op, "queue": "q", "token": id.to_string() }))
            .await;
    }

    let mut close = order("close");
    let problem = desk.expect_advice(&close, "add the fields").await;
    for (name, value) in problem["expected"].as_object().expect("the fields") {
        close[name] = value.clone();
    }
    desk.run(close).await;

    desk.replace_stored_settings(json!({ "capacity": "many" })).await;
    let corrected = update(&json!({ "capacity": 9 }));
    desk.expect_help(&update(&json!({ "batch": 3 })), "the command update", corrected)
        .await;
}

#[tokio::test]
async fn advice_to_evict_all_evicts_where_presence_is_unknown() {
    let desk = AdminFixture::with_queue(json!({ "presence_seconds": 0, "capacity": 1 })).await;
    let source = desk.source("203.0.113.7").await;
    desk.enter_many_from("visitor", 3, source).await;
    let mut evict = confirmed("evict");
    evict["source"] = json!(source.to_string());
    let problem = desk.run_refused(evict.clone()).await;
    assert_eq!(problem["field"], "all", "{problem}");
    evict["all"] = json!(true);
    assert_eq!(desk.run(evict).await["evicted"], 3);
}
