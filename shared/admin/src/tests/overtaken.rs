//! Two operators change the settings of one queue.

use serde_json::{Value, json};

use super::AdminFixture;

async fn revision(desk: &AdminFixture) -> Value {
    desk.run(json!({ "op": "describe", "queue": "q" })).await["revision"].take()
}

fn update(settings: &Value, revision: &Value, caller: &str) -> Value {
    json!({ "op": "update", "queue": "q", "settings": settings, "revision": revision, "caller": caller })
}

#[tokio::test]
async fn an_update_is_refused_if_its_setting_has_changed_since() {
    let desk = AdminFixture::with_queue(json!({ "capacity": 10, "batch": 5 })).await;
    let seen = revision(&desk).await;
    let raised = desk.run(update(&json!({ "capacity": 20 }), &seen, "ada")).await;
    assert_eq!(raised["settings_before"], json!({ "capacity": 10 }));
    assert_eq!(raised["revision"], revision(&desk).await);

    let problem = desk
        .run_refused(update(&json!({ "capacity": 30, "batch": 6 }), &seen, "bob"))
        .await;
    assert_eq!(
        (&problem["status"], &problem["code"]),
        (&json!(409), &json!("settings-changed"))
    );
    assert_eq!(problem["field"], "capacity");
    let changed = &problem["changed"][0];
    assert_eq!((&changed["value"], &changed["by"]), (&json!(20), &json!("ada")));
    assert!(changed["at_ms"].is_u64(), "{problem}");
    let detail = problem["detail"].as_str().expect("a text");
    assert!(
        detail.starts_with("capacity is 20 now, changed by ada at 20"),
        "{detail}"
    );
    assert_eq!(desk.setting_in_force("batch").await, 5, "nothing of it was done");

    // What no one else has touched may change, and what is so already is no change.
    desk.run(update(&json!({ "batch": 6 }), &seen, "bob")).await;
    let repeated = desk.run(update(&json!({ "capacity": 20 }), &seen, "ada")).await;
    assert_eq!(
        (&repeated["changed"], &repeated["settings_before"]),
        (&json!(false), &json!({}))
    );
    desk.run(update(&json!({ "capacity": 30 }), &repeated["revision"], "bob"))
        .await;
}

#[tokio::test]
async fn an_edit_by_hand_overtakes_an_update_as_well() {
    let desk = AdminFixture::with_queue(json!({ "capacity": 10 })).await;
    desk.run(json!({ "op": "update", "queue": "q", "settings": { "capacity": 11 }, "caller": "ada" }))
        .await;
    let seen = revision(&desk).await;
    desk.replace_stored_settings(json!({ "capacity": 12, "message": "By hand" }))
        .await;
    let problem = desk
        .run_refused(update(&json!({ "capacity": 13, "message": null }), &seen, "bob"))
        .await;
    let by: Vec<_> = [0, 1].map(|at| &problem["changed"][at]["by"]).into();
    assert_eq!(by, ["by hand in the table"; 2], "{problem}");
    assert_eq!(problem["changed"][0]["at_ms"], Value::Null);
}

#[tokio::test]
async fn a_change_is_set_back_unless_a_colleague_has_changed_it_since() {
    let desk = AdminFixture::with_queue(json!({ "capacity": 10, "message": "Hello" })).await;
    desk.run(json!({ "op": "update", "queue": "q", "settings": { "capacity": 2, "message": null }, "caller": "ada" }))
        .await;
    desk.run(json!({ "op": "pause", "queue": "q" })).await;
    let report = desk.run(json!({ "op": "report", "queue": "q" })).await;
    let [slip, pause] = [1, 2].map(|at| report["orders"][at].clone());
    assert_eq!(
        slip["settings_before"],
        json!({ "capacity": 10, "message": "Hello" })
    );
    assert_eq!(pause["settings_before"], json!({ "paused": false }));

    let set_back = |order: &Value| update(&order["settings_before"], &order["revision"], "ada");
    desk.run(set_back(&slip)).await;
    let settings = desk.run(json!({ "op": "describe", "queue": "q" })).await["settings"].take();
    assert_eq!(
        (&settings["capacity"], &settings["message"], &settings["paused"]),
        (&json!(10), &json!("Hello"), &json!(true))
    );
    desk.run(json!({ "op": "resume", "queue": "q" })).await;
    desk.run(json!({ "op": "pause", "queue": "q" })).await;
    desk.run(set_back(&pause)).await;
    assert_eq!(desk.setting_in_force("paused").await, false);

    desk.run(json!({ "op": "update", "queue": "q", "settings": { "capacity": 7 }, "caller": "kim" }))
        .await;
    let problem = desk.run_refused(set_back(&slip)).await;
    assert_eq!(problem["changed"][0]["by"], "kim", "{problem}");
}

#[tokio::test]
async fn a_revision_is_one_that_describe_shows() {
    let desk = AdminFixture::with_queue(json!({})).await;
    for wrong in [json!("abcde"), json!("a b c d "), json!(7), json!("")] {
        let command = update(&json!({ "batch": 1 }), &wrong, "ada");
        desk.expect_refused_field(command, "revision").await;
    }
}
