//! What each right lets a caller order, and what must be confirmed because it could flood the protected service.

use serde_json::{Value, json};
use vestibule_domain::right::Right;

use super::{AdminFixture, refusals::accepted};
use crate::{Invocation, OPERATIONS};

impl AdminFixture {
    async fn run_as(&self, right: Right, command: &Value) -> Value {
        let invocation = Invocation {
            right,
            ..Invocation::default()
        };
        self.admin.handle_as(command.clone(), &invocation).await
    }
}

/// A command that is valid is refused for a right that is too little before anything else.
#[tokio::test]
async fn a_right_lets_its_operations_through_and_no_other() {
    let desk = AdminFixture::with_queue(json!({})).await;
    for operation in OPERATIONS {
        let needed = operation.right;
        for command in accepted(operation) {
            for right in Right::ALL {
                let answer = desk.run_as(right, &command).await;
                let is_refused = answer["problem"]["code"] == "right-needed";
                assert_eq!(is_refused, right < needed, "{command}: {answer}");
            }
        }
    }
}

#[tokio::test]
async fn an_update_ends_no_queue_without_the_right_to_end() {
    let desk = AdminFixture::with_queue(json!({})).await;
    for settings in [
        json!({ "entrance": "finished" }),
        json!({ "entrance": "closed" }),
        json!({ "ends_at_ms": 1_000_000_000_000_u64 }),
    ] {
        let update =
            json!({ "op": "update", "queue": "q", "settings": settings, "confirm": "q", "epoch": 1 });
        let refused = desk.run_as(Right::Operate, &update).await;
        assert_eq!(refused["problem"]["needed"], "end", "{refused}");
        assert_eq!(desk.setting_in_force("entrance").await, "open");
    }
    let update = json!({ "op": "update", "queue": "q", "settings": { "batch": 3 } });
    assert_eq!(desk.run_as(Right::Operate, &update).await["ok"], true);
}

#[tokio::test]
async fn what_could_flood_the_service_is_confirmed() {
    let desk = AdminFixture::with_queue(json!({ "capacity": 50 })).await;
    for (settings, what) in [
        (json!({ "capacity": 500 }), "ten times"),
        (json!({ "mode": "passthrough" }), "all visitors pass"),
    ] {
        let mut update = json!({ "op": "update", "queue": "q", "settings": settings });
        let problem = desk.run_refused(update.clone()).await;
        assert_eq!(
            problem["expected"],
            json!({ "confirm": "q", "epoch": 1 }),
            "{problem}"
        );
        assert!(
            problem["detail"].as_str().expect("a text").contains(what),
            "{problem}"
        );
        (update["confirm"], update["epoch"]) = (json!("q"), json!(1));
        desk.run(update).await;
    }
    desk.run(json!({ "op": "update", "queue": "q", "settings": { "capacity": 4_999 } }))
        .await;
    let drain = desk.run_refused(json!({ "op": "drain", "queue": "q" })).await;
    assert_eq!(drain["code"], "confirmation-needed");
}
