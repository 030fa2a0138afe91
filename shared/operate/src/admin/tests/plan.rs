//! The command `plan`.

use serde_json::json;

use super::AdminFixture;

#[tokio::test]
async fn create_accepts_the_settings_of_a_plan() {
    let desk = AdminFixture::new();
    let order =
        json!({ "op": "plan", "tps": 1_000, "calls": 6, "session_seconds": 300, "failure_percent": 15 });
    let planned = desk.run(order).await["settings"].take();
    let expected =
        json!({ "capacity": 43_478, "batch": 1_449, "interval_seconds": 10, "session_seconds": 300 });
    assert_eq!(planned, expected);
    desk.run(json!({ "op": "create", "queue": "q", "settings": planned }))
        .await;
}

#[tokio::test]
async fn plan_takes_parts_of_calls_a_margin_and_a_target_load() {
    let order = json!({
        "op": "plan", "tps": 1_000, "calls": 6.9, "session_seconds": 375, "margin_percent": 20, "target_load": 25,
    });
    let planned = AdminFixture::new().run(order).await["settings"].take();
    let expected =
        json!({ "capacity": 43_478, "batch": 1_739, "interval_seconds": 15, "session_seconds": 375 });
    assert_eq!(planned, expected);
}

#[tokio::test]
async fn impossible_demand_is_refused_by_field_name() {
    let desk = AdminFixture::new();
    let orders = [
        (json!({ "op": "plan", "calls": 6, "session_seconds": 300 }), "tps"),
        (
            json!({ "op": "plan", "tps": 1_000, "session_seconds": 300 }),
            "calls",
        ),
        (
            json!({ "op": "plan", "tps": 1_000, "calls": 6 }),
            "session_seconds",
        ),
        (
            json!({ "op": "plan", "tps": 0, "calls": 6, "session_seconds": 300 }),
            "tps",
        ),
        (
            json!({ "op": "plan", "tps": 4_294_967_296_u64, "calls": 6, "session_seconds": 300 }),
            "tps",
        ),
        (
            json!({ "op": "plan", "tps": 1, "calls": 6, "session_seconds": 1 }),
            "tps",
        ),
        (
            json!({ "op": "plan", "tps": 1, "calls": 6, "session_seconds": 300, "interval_seconds": 1 }),
            "interval_seconds",
        ),
        (
            json!({ "op": "plan", "tps": 1, "calls": 6, "session_seconds": 300, "interval_seconds": 4_294_967_296_u64 }),
            "interval_seconds",
        ),
        (
            json!({ "op": "plan", "tps": 1_000, "calls": 6, "session_seconds": 300, "failure_percent": 0.15 }),
            "failure_percent",
        ),
        (
            json!({ "op": "plan", "tps": 1_000, "calls": 0.0001, "session_seconds": 300 }),
            "calls",
        ),
        (
            json!({ "op": "plan", "tps": 1_000, "calls": "6", "session_seconds": 300 }),
            "calls",
        ),
        (
            json!({ "op": "plan", "tps": 1_000, "calls": 6, "session_seconds": 300, "margin_percent": 100 }),
            "margin_percent",
        ),
        (
            json!({
                "op": "plan", "tps": 1_000, "calls": 6, "session_seconds": 300, "interval_seconds": 10, "target_load": 30,
            }),
            "target_load",
        ),
        (
            json!({ "op": "plan", "tps": 1_000, "calls": 6, "session_seconds": 300, "target_load": 301 }),
            "target_load",
        ),
        (
            json!({ "op": "plan", "tps": 1_000, "calls": 6, "session_seconds": 300, "queue": "q" }),
            "queue",
        ),
    ];
    for (order, field) in orders {
        desk.expect_refused_field(order, field).await;
    }
}
