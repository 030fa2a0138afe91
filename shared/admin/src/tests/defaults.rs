//! The command `defaults`, and what `create` makes of the stored defaults.

use serde_json::{Map, Value, json};
use vestibule_engine::sync::SettingsPolicy;

use super::AdminFixture;

impl AdminFixture {
    async fn set_defaults(&self, prefix: &str, settings: Value) -> Value {
        self.run(json!({ "op": "defaults", "prefix": prefix, "settings": settings }))
            .await
    }

    /// Writes defaults like an operator who edits the table, without any validation.
    async fn store_raw_defaults(&self, prefix: &str, settings: Value) {
        let settings: Map<String, Value> = serde_json::from_value(settings).expect("an object");
        let pattern = prefix.parse().expect("a pattern");
        let replaced = self.backup().replace_defaults(&pattern, Some(&settings)).await;
        replaced.expect("written");
    }

    async fn create_named(&self, queue: &str, settings: Value) -> Value {
        self.run(json!({ "op": "create", "queue": queue, "settings": settings }))
            .await
    }
}

#[tokio::test]
async fn longest_prefix_wins_and_own_settings_override() {
    let desk = AdminFixture::new();
    desk.set_defaults("*", json!({ "capacity": 1, "batch": 1 })).await;
    desk.set_defaults("TICKET:*", json!({ "capacity": 20, "message": "soon" }))
        .await;
    desk.set_defaults("TICKET:VIP*", json!({ "capacity": 30 })).await;
    for (queue, pattern, capacity, batch) in [
        ("TICKET:1", "TICKET:*", 20, 10),
        ("TICKET:VIP1", "TICKET:VIP*", 30, 10),
        ("other", "*", 1, 1),
    ] {
        let created = desk.create_named(queue, json!({})).await;
        assert_eq!(created["defaults"], pattern, "{queue}");
        assert_eq!(
            (&created["settings"]["capacity"], &created["settings"]["batch"]),
            (&json!(capacity), &json!(batch)),
            "{queue}: a shorter pattern adds nothing"
        );
    }
    let created = desk.create_named("TICKET:2", json!({ "capacity": 5 })).await;
    assert_eq!(
        (&created["settings"]["capacity"], &created["settings"]["message"]),
        (&json!(5), &json!("soon"))
    );
}

#[tokio::test]
async fn defaults_apply_to_each_queue_of_an_order() {
    let desk = AdminFixture::new();
    desk.set_defaults("TICKET:*", json!({ "capacity": 20 })).await;
    let order = json!({ "op": "create", "queues": ["TICKET:1", "other"], "settings": { "batch": 3 } });
    let rows = desk.run(order).await["queues"].take();
    assert_eq!(
        (&rows[0]["defaults"], &rows[1]["defaults"]),
        (&json!("TICKET:*"), &json!(null))
    );
    for (queue, capacity) in [("TICKET:1", 20), ("other", 100)] {
        let described = desk.run(json!({ "op": "describe", "queue": queue })).await;
        assert_eq!(described["settings"]["capacity"], capacity);
        assert_eq!(described["settings"]["batch"], 3);
    }
}

#[tokio::test]
async fn defaults_are_shown_replaced_and_removed() {
    let desk = AdminFixture::new();
    let show = json!({ "op": "defaults", "prefix": "TICKET:*" });
    let none = json!({ "prefix": "TICKET:*", "settings": null });
    assert_eq!(desk.run(show.clone()).await, none);

    // A console stores numbers as strings. They are kept in their own type.
    let stored = desk.set_defaults("TICKET:*", json!({ "capacity": "20" })).await;
    assert_eq!(
        stored,
        json!({ "prefix": "TICKET:*", "settings": { "capacity": 20 }, "replaced": false })
    );
    let stored = desk.set_defaults("TICKET:*", json!({ "batch": 4 })).await;
    assert_eq!(stored["replaced"], true);
    assert_eq!(
        desk.run(show.clone()).await["settings"],
        json!({ "batch": 4 }),
        "the earlier ones are gone"
    );

    desk.set_defaults("A*", json!({ "batch": 5 })).await;
    let all = desk.run(json!({ "op": "defaults" })).await;
    assert_eq!(
        all["defaults"],
        json!([
            { "prefix": "A*", "settings": { "batch": 5 } },
            { "prefix": "TICKET:*", "settings": { "batch": 4 } },
        ])
    );
    assert_eq!(
        desk.run(json!({ "op": "list" })).await["queues"],
        json!([]),
        "defaults are no queue"
    );

    let removed = desk.set_defaults("TICKET:*", json!(null)).await;
    assert_eq!(
        removed,
        json!({ "prefix": "TICKET:*", "settings": null, "removed": true })
    );
    assert_eq!(desk.set_defaults("TICKET:*", json!(null)).await["removed"], false);
    assert_eq!(desk.run(show).await, none);
}

#[tokio::test]
async fn bad_defaults_are_refused_by_name() {
    let desk = AdminFixture::new();
    for (settings, field) in [
        (json!({ "capacity": 0 }), "capacity"),
        (json!({ "batsh": 1 }), "batsh"),
        (
            json!({ "trust_client_visitor_id": true }),
            "trust_client_visitor_id",
        ),
        (
            json!({ "session_seconds": 60, "session_max_seconds": 30 }),
            "session_max_seconds",
        ),
        (json!({ "visitors": "ticket" }), "visitors"),
        (json!({ "blocked": ["a"] }), "blocked"),
    ] {
        let order = json!({ "op": "defaults", "prefix": "TICKET:*", "settings": settings });
        let problem = desk.run_refused(order).await;
        assert_eq!(
            (&problem["code"], &problem["field"]),
            (&json!("invalid-setting"), &json!(field)),
            "{problem}"
        );
    }
    assert_eq!(desk.run(json!({ "op": "defaults" })).await["defaults"], json!([]));
}

#[tokio::test]
async fn bad_defaults_written_by_hand_are_reported_at_create() {
    let desk = AdminFixture::new();
    desk.store_raw_defaults("TICKET:*", json!({ "capacity": "many" }))
        .await;
    let order = json!({ "op": "create", "queue": "TICKET:1", "settings": { "batch": 3 } });
    let problem = desk.run_refused(order.clone()).await;
    assert_eq!(
        (&problem["code"], &problem["field"], &problem["defaults"]),
        (
            &json!("invalid-stored-setting"),
            &json!("capacity"),
            &json!("TICKET:*")
        )
    );
    assert!(
        problem["detail"].as_str().expect("a text").contains("TICKET:*"),
        "{problem}"
    );
    let shown = desk.run(json!({ "op": "defaults", "prefix": "TICKET:*" })).await;
    assert!(
        shown["problem"].as_str().expect("a text").contains("capacity"),
        "{shown}"
    );

    let many = json!({ "op": "create", "queues": ["TICKET:1", "other"] });
    let rows = desk.run(many).await["queues"].take();
    assert_eq!(rows[0]["problem"]["defaults"], "TICKET:*");
    assert_eq!(rows[1]["created"], true, "the defaults do not match this queue");

    desk.set_defaults("TICKET:*", json!({ "capacity": 20 })).await;
    assert_eq!(desk.run(order).await["created"], true);
}

/// The deployment allows the setting when the defaults are stored, and not any more when a queue is created.
#[tokio::test]
async fn defaults_that_the_deployment_refuses_are_reported() {
    let mut desk = AdminFixture::new();
    desk.admin.policy = SettingsPolicy {
        trust_client_visitor_id: true,
        ..SettingsPolicy::default()
    };
    desk.set_defaults("*", json!({ "trust_client_visitor_id": true }))
        .await;
    desk.admin.policy = SettingsPolicy::default();
    let problem = desk.run_refused(json!({ "op": "create", "queue": "q" })).await;
    assert_eq!(
        (&problem["field"], &problem["defaults"]),
        (&json!("trust_client_visitor_id"), &json!("*"))
    );
    let own = json!({ "trust_client_visitor_id": false });
    assert_eq!(
        desk.create_named("q", own).await["created"],
        true,
        "own settings override"
    );
}

#[tokio::test]
async fn longer_session_of_the_queue_raises_the_maximum_of_the_defaults() {
    let desk = AdminFixture::new();
    desk.set_defaults("*", json!({ "session_seconds": 60, "session_max_seconds": 60 }))
        .await;
    let created = desk.create_named("q", json!({ "session_seconds": 600 })).await;
    assert_eq!(created["settings"]["session_max_seconds"], 600);
}
