//! Commands that act on a whole queue.

use serde_json::{Value, json};
use vestibule_backup::QueueMetadata;
use vestibule_domain::settings::FIELDS;
use vestibule_engine::sync::SettingsPolicy;
use vestibule_line::{EntryLookup, Line, LineError};

use super::{AdminFixture, queue, switches};
use crate::OPERATIONS;

fn create(settings: &Value) -> Value {
    json!({ "op": "create", "queue": "q", "settings": settings })
}

#[tokio::test]
async fn create_writes_line_and_backup_and_is_idempotent() {
    let desk = AdminFixture::new();
    let created = desk.run(create(&json!({ "capacity": 7 }))).await;
    assert_eq!(
        (&created["created"], &created["epoch"], &created["generation"]),
        (&json!(true), &json!(1), &json!(1))
    );
    assert_eq!(created["settings"]["capacity"], 7);
    assert_eq!(created["settings"]["batch"], 10, "the default");
    let QueueMetadata {
        epoch, generation, ..
    } = desk.stored_queue().await.metadata;
    assert_eq!((epoch, generation), (1, 1));
    let view = desk.line().queue_view(&queue()).await.expect("in the line");
    assert_eq!(created["revision"], view.configuration.revision.as_str());
    assert!(view.bucket.credit > 0, "one batch may go at once");

    let again = desk.run(create(&json!({ "capacity": 7 }))).await;
    assert_eq!(again["created"], false);
    let other = desk.run_refused(create(&json!({ "capacity": 8 }))).await;
    assert_eq!(
        (&other["status"], &other["code"]),
        (&json!(409), &json!("queue-exists"))
    );
    assert_eq!(desk.setting_in_force("capacity").await, 7);
}

#[tokio::test]
async fn queues_get_different_salts() {
    let desk = AdminFixture::with_queue(json!({})).await;
    desk.run(json!({ "op": "create", "queue": "p" })).await;
    let other = desk
        .backup()
        .read_queue(&"p".parse().expect("an id"))
        .await
        .expect("read")
        .expect("is there");
    assert_ne!(desk.stored_queue().await.metadata.salt, other.metadata.salt);
}

#[tokio::test]
async fn repeated_create_restores_a_lost_queue() {
    let mut desk = AdminFixture::with_queue(json!({ "paused": true })).await;
    let id = desk.enter("ada").await;
    let before = desk.line().status(&queue(), id).await.expect("answered");
    desk.admin.line = Line::in_process();
    assert!(matches!(
        desk.line().queue_view(&queue()).await,
        Err(LineError::QueueNotFound)
    ));

    desk.run(create(&json!({ "paused": true }))).await;

    assert_eq!(desk.line().status(&queue(), id).await.expect("answered"), before);
    assert!(matches!(before, EntryLookup::Found(_)));
}

#[tokio::test]
async fn invalid_settings_are_refused_by_name() {
    let desk = AdminFixture::with_queue(json!({})).await;
    for (settings, field) in [
        (json!({ "capacity": 0 }), "capacity"),
        (json!({ "batsh": 1 }), "batsh"),
        (
            json!({ "trust_client_visitor_id": true }),
            "trust_client_visitor_id",
        ),
    ] {
        for order in [
            create(&settings),
            json!({ "op": "update", "queue": "q", "settings": settings }),
        ] {
            let problem = desk.run_refused(order).await;
            assert_eq!(
                (&problem["code"], &problem["field"]),
                (&json!("invalid-setting"), &json!(field)),
                "{problem}"
            );
        }
    }
}

#[tokio::test]
async fn trusted_callers_need_a_policy_that_allows_them() {
    let mut desk = AdminFixture::new();
    desk.admin.policy = SettingsPolicy {
        trust_client_visitor_id: true,
        ..SettingsPolicy::default()
    };
    let created = desk
        .run(create(&json!({ "trust_client_visitor_id": true })))
        .await;
    assert_eq!(created["settings"]["trust_client_visitor_id"], true);
}

#[tokio::test]
async fn update_changes_only_the_given_settings() {
    let desk = AdminFixture::with_queue(json!({ "capacity": 7 })).await;
    let update = json!({ "op": "update", "queue": "q", "settings": { "batch": "3", "message": "soon" } });
    let updated = desk.run(update.clone()).await;
    assert_eq!(updated["changed"], true);
    let settings = &updated["settings"];
    assert_eq!(
        (&settings["capacity"], &settings["batch"], &settings["message"]),
        (&json!(7), &json!(3), &json!("soon"))
    );
    assert_eq!(desk.setting_in_force("batch").await, 3);
    assert_eq!(desk.stored_queue().await.settings.to_value()["batch"], 3);
    assert_eq!(desk.run(update).await["changed"], false, "again is harmless");
}

#[tokio::test]
async fn switches_change_their_setting_and_are_idempotent() {
    let desk = AdminFixture::with_queue(json!({})).await;
    for (order, field, value) in switches() {
        assert_eq!(desk.run(order.clone()).await["settings"][field], value, "{order}");
        assert_eq!(desk.setting_in_force(field).await, value, "{order}");
        assert_eq!(
            desk.stored_queue().await.settings.to_value()[field],
            value,
            "{order}"
        );
        assert_eq!(
            desk.run(order.clone()).await["changed"],
            false,
            "{order}: again is harmless"
        );
    }
}

#[tokio::test]
async fn describe_with_help_lists_settings_and_commands() {
    let desk = AdminFixture::with_queue(json!({})).await;
    let without = desk.run(json!({ "op": "describe", "queue": "q" })).await;
    assert!(without.get("fields").is_none() && without.get("commands").is_none());
    let with = desk
        .run(json!({ "op": "describe", "queue": "q", "help": true }))
        .await;
    let fields = with["fields"].as_array().expect("a list");
    assert_eq!(fields.len(), FIELDS.len());
    assert_eq!(
        fields[0],
        json!({
            "name": "capacity", "unit": "entries", "takes": { "min": 1, "max": 10_000_000 }, "default": "100",
            "meaning": "The most slots that may be taken at once: by entries that are ready or active, and held ones.",
        })
    );
    let commands = with["commands"].as_array().expect("a list");
    assert_eq!(commands.len(), OPERATIONS.len());
    assert_eq!(
        commands[0],
        json!({
            "op": "create", "arguments": ["queue", "queues", "settings"], "needs_confirmation": false,
            "right": "operate",
            "meaning":
                "Creates a queue, or each of up to 1,000, with these settings and the defaults of its prefix.",
        })
    );
}

#[tokio::test]
async fn list_includes_a_queue_that_the_line_lost() {
    let mut desk = AdminFixture::with_queue(json!({ "paused": true })).await;
    desk.enter("ada").await;
    desk.run(json!({ "op": "create", "queue": "a" })).await;
    let listed = desk.run(json!({ "op": "list" })).await;
    let rows = listed["queues"].as_array().expect("a list");
    assert_eq!(
        rows.iter().map(|row| row["queue"].clone()).collect::<Vec<_>>(),
        ["a", "q"]
    );
    assert_eq!(
        (&rows[1]["waiting"], &rows[1]["ready"], &rows[1]["active"]),
        (&json!(1), &json!(0), &json!(0))
    );

    desk.admin.line = Line::in_process();
    let listed = desk.run(json!({ "op": "list" })).await;
    assert!(listed["queues"][1]["problem"].is_string(), "{listed}");
    assert_eq!(
        desk.run_refused(json!({ "op": "stats", "queue": "q" })).await["code"],
        "recovering"
    );
}

#[tokio::test]
async fn stats_show_the_numbers_of_a_queue() {
    let desk = AdminFixture::with_queue(json!({ "capacity": 1, "batch": 2 })).await;
    for visitor in ["a", "b"] {
        desk.enter(visitor).await;
    }
    let stats = desk.run(json!({ "op": "stats", "queue": "q" })).await;
    assert_eq!(
        (&stats["waiting"], &stats["active"], &stats["capacity"]),
        (&json!(1), &json!(1), &json!(1))
    );
    assert_eq!(
        (&stats["totals"]["entered"], &stats["totals"]["fast_tracked"]),
        (&json!(2), &json!(1))
    );
    assert_eq!(
        (&stats["bucket_tokens"], &stats["journal"]),
        (&json!(1), &json!(0))
    );
    assert_eq!(
        stats["journal_limits"],
        json!({ "newcomers": 100_000, "promotions": 200_000 })
    );
    assert_eq!(
        (&stats["heartbeat_age_ms"], &stats["served_per_second"]),
        (&Value::Null, &Value::Null)
    );
}

#[tokio::test]
async fn a_list_has_a_prefix_and_goes_on_after_a_queue() {
    let desk = AdminFixture::new();
    let names = ["TICKET:a", "TICKET:b", "FLASH:a"];
    desk.run(json!({ "op": "create", "queues": names })).await;
    let list = async |fields: Value| {
        let mut order = fields;
        order["op"] = json!("list");
        let listed = desk.run(order).await;
        let rows = listed["queues"].as_array().expect("a list").iter();
        let queues: Vec<_> = rows
            .map(|row| row["queue"].as_str().expect("a text").to_owned())
            .collect();
        (queues, listed["after"].clone())
    };
    assert_eq!(
        list(json!({})).await,
        (
            vec!["FLASH:a".to_owned(), "TICKET:a".to_owned(), "TICKET:b".to_owned()],
            Value::Null
        )
    );
    assert_eq!(
        list(json!({ "prefix": "TICKET:*" })).await.0,
        ["TICKET:a", "TICKET:b"]
    );
    assert_eq!(
        list(json!({ "prefix": "TICKET:", "after": "TICKET:a" })).await.0,
        ["TICKET:b"]
    );
}
