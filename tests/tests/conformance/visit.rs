//! A visit is one stay: what is meant for the last one never touches the next.

use serde_json::json;
use vestibule_tests::{
    api::{Backend, Guest, Queue},
    edge::Ask,
};

crate::cases![
    what_names_another_visit_does_nothing,
    what_names_no_visit_is_refused
];

/// Enters once more until the number differs: it is a part of the time.
async fn another_visit(queue: &Queue<'_>, last: &Guest) -> Guest {
    loop {
        queue.leaves(last).await.is(204);
        let entered = queue.backend.send(queue.entering().visitor(&last.id)).await;
        assert_eq!(entered.is(201).text("token"), last.token);
        if entered.number("visit") != last.visit {
            return Guest {
                visit: entered.number("visit"),
                ..last.clone()
            };
        }
    }
}

async fn what_names_another_visit_does_nothing(backend: &Backend) {
    let queue = backend.queue(json!({ "capacity": 1000, "batch": 1000 })).await;
    let (last, first) = queue.enters().await;
    let this = another_visit(&queue, &last).await;
    let before = queue.looks(&this).await;

    let late = Ask::delete(queue.of(&last, &format!("?visit={}", last.visit))).visitor(&last.id);
    backend.send(late).await.is(204);
    queue
        .service("complete", &last, &json!({ "visit": last.visit }))
        .await
        .is(204);
    let ask = Ask::post(queue.of(&last, "/extend")).visitor(&last.id);
    let late = ask.json(&json!({ "visit": last.visit, "seconds": 2000 }));
    backend.send_as_service(late).await.is(204);
    let used_up = json!({ "visitor": last.id, "consume": true, "visit": last.visit });
    queue
        .service("validate", &last, &used_up)
        .await
        .is_problem(410, "other-visit");
    let late_pass = json!({ "pass": first.text("pass"), "consume": true });
    queue
        .service("validate", &last, &late_pass)
        .await
        .is_problem(403, "invalid-pass");

    let after = queue.looks(&this).await;
    for field in ["state", "visit", "expires_at_ms"] {
        assert_eq!(after.is(200).body[field], before.body[field], "{field}");
    }
    queue
        .service("complete", &this, &json!({ "visit": this.visit }))
        .await
        .is(204);
    queue.looks(&this).await.is_problem(410, "completed");
}

async fn what_names_no_visit_is_refused(backend: &Backend) {
    let queue = backend.queue(json!({})).await;
    let (guest, _) = queue.enters().await;
    for visit in ["-1", "4096", "x"] {
        let ask = Ask::delete(queue.of(&guest, &format!("?visit={visit}"))).visitor(&guest.id);
        backend.send(ask).await.refuses("visit");
    }
    for visit in [json!(-1), json!(4096), json!("1"), json!(1.5)] {
        let body = json!({ "visit": visit });
        queue.service("complete", &guest, &body).await.refuses("visit");
    }
    assert_eq!(queue.looks(&guest).await.is(200).text("state"), "active");
}
