//! A visit lasts from entering to its end. A request that names an earlier visit never touches the next one.

use serde_json::json;
use vestibule_tests::api::{ApiRequest, Backend, Guest, Queue};

crate::cases![
    a_request_that_names_an_earlier_visit_changes_nothing,
    naming_a_visit_that_never_began_changes_nothing,
    an_invalid_visit_number_is_refused
];

/// Leaves and enters again at once. The next visit has a higher number.
async fn enter_for_another_visit(queue: &Queue<'_>, last: &Guest) -> Guest {
    queue.leave(last).await.expect_status(204);
    let entered = queue.enter_again(last).await;
    let next = Guest::from_response(last.id.clone(), entered.expect_status(201));
    assert_eq!(next.token, last.token);
    assert!(next.visit > last.visit);
    next
}

async fn a_request_that_names_an_earlier_visit_changes_nothing(backend: &Backend) {
    let queue = backend
        .create_queue(json!({ "capacity": 1000, "batch": 1000 }))
        .await;
    let (last, first) = queue.enter_and_expect_created().await;
    let current = enter_for_another_visit(&queue, &last).await;
    let before = queue.get_status(&current).await;

    let path = last.path(&format!("?visit={}", last.visit));
    let leave = ApiRequest::delete(path).visitor(&last.id);
    backend.send(leave).await.expect_status(204);
    let complete = json!({ "visit": last.visit });
    let ignored = queue.call_as_service("complete", &last, &complete).await;
    ignored.expect_status(204);
    let extend = json!({ "visit": last.visit, "seconds": 2000 });
    queue.extend(&last, &extend).await.expect_status(204);
    let consume = json!({ "visitor": last.id, "consume": true, "visit": last.visit });
    let refused = queue.call_as_service("validate", &last, &consume).await;
    refused.expect_problem(410, "other-visit");
    let earlier_pass = json!({ "pass": first.text("pass"), "consume": true });
    let refused = queue.call_as_service("validate", &last, &earlier_pass).await;
    refused.expect_problem(410, "other-visit");

    let after = queue.get_status(&current).await;
    for field in ["state", "visit", "expires_at_ms"] {
        assert_eq!(
            after.expect_status(200).body[field],
            before.body[field],
            "{field}"
        );
    }
    let complete = json!({ "visit": current.visit });
    let completed = queue.call_as_service("complete", &current, &complete).await;
    completed.expect_status(204);
    queue.get_status(&current).await.expect_problem(410, "completed");
}

async fn naming_a_visit_that_never_began_changes_nothing(backend: &Backend) {
    let queue = backend.create_queue(json!({})).await;
    let (guest, _) = queue.enter_and_expect_created().await;
    let later_visit = guest.visit + 1;

    let path = guest.path(&format!("?visit={later_visit}"));
    let leave = ApiRequest::delete(path).visitor(&guest.id);
    backend.send(leave).await.expect_status(204);
    let complete = json!({ "visit": later_visit });
    let ignored = queue.call_as_service("complete", &guest, &complete).await;
    ignored.expect_status(204);

    let status = queue.get_status(&guest).await;
    assert_eq!(status.expect_status(200).text("state"), "active");
    assert_eq!(status.number("visit"), guest.visit);
}

async fn an_invalid_visit_number_is_refused(backend: &Backend) {
    let queue = backend.create_queue(json!({})).await;
    let (guest, _) = queue.enter_and_expect_created().await;
    for visit in ["-1", "562949953421312", "x"] {
        let path = guest.path(&format!("?visit={visit}"));
        let refused = backend.send(ApiRequest::delete(path).visitor(&guest.id)).await;
        refused.expect_invalid_field("visit");
    }
    for visit in [json!(-1), json!(1_u64 << 49), json!("1"), json!(1.5)] {
        let body = json!({ "visit": visit });
        let refused = queue.call_as_service("complete", &guest, &body).await;
        refused.expect_invalid_field("visit");
    }
    let status = queue.get_status(&guest).await;
    assert_eq!(status.expect_status(200).text("state"), "active");
}
