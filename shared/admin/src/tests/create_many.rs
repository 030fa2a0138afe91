//! Orders that create many queues.

use std::sync::Arc;

use serde_json::{Value, json};
use vestibule_domain::id::QueueId;
use vestibule_faults::{Fault, Faults};
use vestibule_line::Line;

use super::AdminFixture;

fn order(queues: &Value) -> Value {
    json!({ "op": "create", "queues": queues, "settings": { "capacity": 7 } })
}

fn counts(answer: &Value) -> [&Value; 3] {
    [&answer["created"], &answer["existing"], &answer["failed"]]
}

#[tokio::test]
async fn a_thousand_queues_are_created_in_one_order() {
    let desk = AdminFixture::new();
    let names: Vec<_> = (1..=1_000).map(|n| format!("TICKET:{n}")).collect();
    let answer = desk.run(order(&json!(names))).await;
    assert_eq!(counts(&answer), [1_000, 0, 0]);
    let rows = answer["queues"].as_array().expect("rows");
    let named: Vec<_> = rows
        .iter()
        .map(|row| row["queue"].as_str().expect("a name"))
        .collect();
    assert_eq!(named, names, "in the order of the command");
    assert!(
        answer.to_string().len() < 1_000_000,
        "far below the limit of an answer"
    );
    assert_eq!(desk.backup().list_queues().await.expect("listed").len(), 1_000);
    let last: QueueId = "TICKET:1000".parse().expect("a queue id");
    let view = desk.line().queue_view(&last).await.expect("in the line");
    assert_eq!(view.configuration.settings.capacity, 7);
    assert_eq!(rows[999]["revision"], view.configuration.revision.as_str());
}

#[tokio::test]
async fn repeated_order_tells_which_queues_exist() {
    let desk = AdminFixture::new();
    desk.run(order(&json!(["a", "b"]))).await;
    desk.run(json!({ "op": "update", "queue": "b", "settings": { "capacity": 8 } }))
        .await;
    let answer = desk.run(order(&json!(["a", "b", "c"]))).await;
    assert_eq!(counts(&answer), [1, 1, 1]);
    let rows = &answer["queues"];
    assert_eq!(
        (&rows[0]["created"], &rows[2]["created"]),
        (&json!(false), &json!(true))
    );
    assert_eq!(
        rows[1]["problem"]["code"], "queue-exists",
        "its settings were changed, and the order does not undo that"
    );
}

#[tokio::test]
async fn one_bad_name_does_not_stop_the_others() {
    let desk = AdminFixture::new();
    let answer = desk.run(order(&json!(["a", "b{c}", 7, "d", "a"]))).await;
    assert_eq!(
        counts(&answer),
        [2, 0, 2],
        "a name that is given twice counts once"
    );
    let rows = answer["queues"].as_array().expect("rows");
    for (row, name) in [(&rows[1], json!("b{c}")), (&rows[2], json!(7))] {
        assert_eq!(
            (&row["queue"], &row["problem"]["field"]),
            (&name, &json!("queues"))
        );
        assert!(row.get("created").is_none(), "{row}");
    }
    let mut listed = desk.backup().list_queues().await.expect("listed");
    listed.sort();
    assert_eq!(listed.iter().map(QueueId::as_str).collect::<Vec<_>>(), ["a", "d"]);
}

#[tokio::test]
async fn queue_may_be_named_beside_the_list() {
    let desk = AdminFixture::new();
    let answer = desk
        .run(json!({ "op": "create", "queue": "a", "queues": ["b", "a"] }))
        .await;
    assert_eq!(counts(&answer), [2, 0, 0]);
    assert_eq!(answer["queues"][0]["queue"], "a");
}

#[tokio::test]
async fn order_with_bad_settings_is_refused_as_a_whole() {
    let desk = AdminFixture::new();
    let problem = desk
        .run_refused(json!({ "op": "create", "queues": ["a", "b{", "c"], "settings": { "capacity": 0 } }))
        .await;
    assert_eq!(
        (&problem["code"], &problem["field"]),
        (&json!("invalid-setting"), &json!("capacity"))
    );
    assert!(desk.backup().list_queues().await.expect("listed").is_empty());
}

/// A queue that could not be put in the line fails alone, and the repeated order completes it.
#[tokio::test]
async fn repeated_order_completes_what_failed() {
    let mut desk = AdminFixture::new();
    let faults = Faults::default();
    faults.fail_for_queue("configure", "b", Fault::Unavailable);
    desk.admin.line = Line::in_process().with_tap(Arc::new(faults));
    let answer = desk.run(order(&json!(["a", "b", "c"]))).await;
    assert_eq!(counts(&answer), [2, 0, 1]);
    assert_eq!(answer["queues"][1]["problem"]["code"], "line-unavailable");
    desk.admin.line = Line::in_process();
    let answer = desk.run(order(&json!(["a", "b", "c"]))).await;
    assert_eq!(counts(&answer), [0, 3, 0]);
    let queue: QueueId = "b".parse().expect("a queue id");
    desk.line().queue_view(&queue).await.expect("in the line");
}

/// The sample in `infra/events` that is not named after its operation.
#[tokio::test]
async fn sample_event_creates_its_queues() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../infra/events/create-many-queues.json"
    );
    let event: Value =
        serde_json::from_str(&std::fs::read_to_string(path).expect("the sample")).expect("JSON");
    let desk = AdminFixture::new();
    let answer = desk.run(event.clone()).await;
    let named = event["queues"].as_array().expect("a list").len();
    assert_eq!(answer["created"], named);
}
