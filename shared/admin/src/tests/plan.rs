//! The command `plan`.

use serde_json::{Value, json};

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

fn crowd(changes: Value) -> Value {
    let mut order = json!({
        "op": "plan", "visitors": 1_000_000, "arrival_seconds": 1_800, "wait_minutes": 30, "cache": "node",
    });
    let (order_fields, changes) = (order.as_object_mut().expect("an object"), changes);
    order_fields.extend(changes.as_object().expect("an object").clone());
    order
}

#[tokio::test]
async fn plan_of_a_crowd_says_what_each_part_needs_and_what_it_costs() {
    let desk = AdminFixture::new();
    let plan = desk.run(crowd(json!({ "checks": 6 }))).await;
    assert_eq!(plan["wait_minutes_mean"], 30.0, "{plan}");
    let parts = plan["parts"].as_array().expect("parts");
    let shares: Vec<_> = parts.iter().filter_map(|part| part["share"].as_f64()).collect();
    assert!(
        shares.is_sorted_by(|a, b| a >= b),
        "the fullest part comes first: {shares:?}"
    );
    assert_eq!(parts[0]["part"], "Validate", "{plan}");
    let remedy = parts[0]["remedy"].as_str().expect("a remedy");
    assert!(remedy.contains("ValidateConcurrency"), "{remedy}");
    assert!(
        plan["cost"]["total"].as_f64().expect("a number") > 100.0,
        "{plan}"
    );
    assert_eq!(plan["cost"]["prices_of"], "2026-11");
    desk.run(json!({ "op": "create", "queue": "q", "settings": plan["settings"] }))
        .await;
}

#[tokio::test]
async fn plan_refuses_a_crowd_that_comes_faster_than_the_line_takes_it_in() {
    let desk = AdminFixture::new();
    let problem = desk
        .run_refused(crowd(json!({ "arrival_seconds": 60, "cache": "serverless" })))
        .await;
    assert_eq!(problem["field"], "arrival_seconds", "{problem}");
    let detail = problem["detail"].as_str().expect("a detail");
    assert!(detail.contains("before_opening: draw"), "{detail}");
}

#[tokio::test]
async fn plan_says_what_it_assumes_of_a_crowd() {
    let desk = AdminFixture::new();
    assert_eq!(
        desk.run(crowd(json!({ "session_seconds": 60 }))).await["assumed"],
        json!({})
    );
    let plan = desk
        .run(json!({ "op": "plan", "visitors": 10_000, "session_seconds": 60 }))
        .await;
    assert_eq!(
        plan["assumed"],
        json!({ "arrival_seconds": 1_800, "wait_minutes": 30 }),
        "{plan}"
    );
    // A crowd that no line takes in so fast comes as fast as the line can.
    let plan = desk.run(json!({ "op": "plan", "visitors": 10_000_000 })).await;
    let arrival_seconds = plan["assumed"]["arrival_seconds"].as_u64().expect("a number");
    assert!(arrival_seconds > 1_800, "{plan}");
    let order = json!({ "op": "plan", "visitors": 10_000_000, "arrival_seconds": arrival_seconds - 60 });
    assert_eq!(desk.run_refused(order).await["field"], "arrival_seconds");
}

#[tokio::test]
async fn plan_is_for_a_service_or_for_a_crowd() {
    let desk = AdminFixture::new();
    desk.expect_refused_field(crowd(json!({ "tps": 1_000 })), "tps")
        .await;
    desk.expect_refused_field(crowd(json!({ "cache": "disk" })), "cache")
        .await;
    let service = json!({ "op": "plan", "tps": 1_000, "calls": 6, "session_seconds": 300, "checks": 6 });
    desk.expect_refused_field(service, "checks").await;
}
