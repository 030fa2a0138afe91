//! Invalid settings that an operator has written into the table.

use serde_json::json;
use vestibule_engine::sync::{SyncOutcome, sync_settings};
use vestibule_line::Line;

use super::{AdminFixture, queue, switches};

#[tokio::test]
async fn update_corrects_invalid_stored_settings() {
    let desk = AdminFixture::with_queue(json!({ "capacity": 7 })).await;
    desk.replace_stored_settings(json!({ "capacity": "many", "batsh": 1 }))
        .await;
    let described = desk.run(json!({ "op": "describe", "queue": "q" })).await;
    assert_eq!(described["settings"]["capacity"], 7, "the old ones are in force");
    assert_eq!(described["stored_settings"]["capacity"], "many");
    assert!(described["stored_settings_problem"].is_string(), "{described}");

    let half = json!({ "op": "update", "queue": "q", "settings": { "capacity": 9 } });
    let problem = desk.run_refused(half).await;
    assert_eq!(
        (&problem["code"], &problem["field"]),
        (&json!("invalid-stored-setting"), &json!("batsh"))
    );
    let whole = json!({ "op": "update", "queue": "q", "settings": { "capacity": 9, "batsh": null } });
    desk.run(whole).await;
    assert_eq!(desk.setting_in_force("capacity").await, 9);
}

#[tokio::test]
async fn switches_work_beside_an_invalid_stored_setting() {
    let desk = AdminFixture::with_queue(json!({ "capacity": 7 })).await;
    desk.replace_stored_settings(json!({ "capacity": "many", "batch": 3, "batsh": 1 }))
        .await;
    for (order, field, value) in switches() {
        let done = desk.run(order.clone()).await;
        assert_eq!(
            (&done["settings"][field], &done["changed"]),
            (&value, &json!(true)),
            "{order}"
        );
        let problem = done["stored_settings_problem"].as_str().expect("named");
        assert!(
            problem.contains("batsh") || problem.contains("capacity"),
            "{problem}"
        );
        let synced = sync_settings(desk.line(), desk.backup(), &queue(), desk.admin.policy).await;
        assert!(matches!(synced, Ok(SyncOutcome::Refused { .. })), "{synced:?}");
        assert_eq!(
            desk.setting_in_force(field).await,
            value,
            "{order}: a sync does not undo it"
        );
    }
    assert_eq!(desk.setting_in_force("capacity").await, 7, "nothing else acts");
    assert_eq!(desk.setting_in_force("batch").await, 10, "nothing else acts");
    assert_eq!(
        desk.stored_queue().await.settings.to_value(),
        json!({ "capacity": "many", "batch": 3, "batsh": 1, "paused": false, "entrance": "open" })
    );
}

/// The stored value is not a map. The line keeps its settings, the switches work, and nothing is
/// guessed.
#[tokio::test]
async fn stored_settings_that_are_no_map_are_replaced() {
    let right = json!({ "capacity": 7, "message": "soon" });
    let describe = json!({ "op": "describe", "queue": "q" });
    for (left, reason) in [
        (json!("{\"capacity\": 9}"), "settings: must be a map of settings"),
        (json!([]), "settings: must be a map of settings"),
        (json!(null), "settings: is missing"),
    ] {
        let mut desk = AdminFixture::with_queue(right.clone()).await;
        desk.store_raw_settings(left.clone()).await;
        let described = desk.run(describe.clone()).await;
        assert_eq!(described["stored_settings"], left);
        let problem = described["stored_settings_problem"].as_str().expect("named");
        assert!(problem.starts_with(reason), "{problem}");
        assert_eq!(described["settings"]["capacity"], 7, "the old ones are in force");
        match sync_settings(desk.line(), desk.backup(), &queue(), desk.admin.policy).await {
            Ok(SyncOutcome::Refused { error, .. }) => assert_eq!(error.field, "settings"),
            other => panic!("{other:?}"),
        }
        assert_eq!(desk.setting_in_force("message").await, "soon");

        desk.run(json!({ "op": "pause", "queue": "q" })).await;
        let described = desk.run(describe.clone()).await;
        assert_eq!(described["stored_settings_problem"], json!(null));
        for settings in [&described["settings"], &described["stored_settings"]] {
            assert_eq!(
                (&settings["paused"], &settings["capacity"]),
                (&json!(true), &json!(7))
            );
        }

        desk.store_raw_settings(left.clone()).await;
        desk.admin.line = Line::in_process();
        let lost = desk.run_refused(json!({ "op": "pause", "queue": "q" })).await;
        assert_eq!(
            lost["code"], "invalid-stored-setting",
            "nothing says what was in force"
        );
    }
}
