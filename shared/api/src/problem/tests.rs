use serde_json::{Value, json};

use super::*;
use crate::queue::QueueLookupError;

#[test]
fn problem_body_follows_rfc_9457() {
    let body = Problem::invalid_field("batch", "must be a number").body("r1", None);
    let expected = json!({
        "type": "urn:problem-type:vestibule:invalid-field", "title": "The request is invalid",
        "status": 400, "code": "invalid-field", "detail": "must be a number", "field": "batch",
        "request_id": "r1",
    });
    assert_eq!(serde_json::from_str::<Value>(&body).expect("JSON"), expected);
}

#[test]
fn internal_cause_never_reaches_the_body() {
    for problem in [
        Problem::internal("redis://10.0.0.1 refused the connection"),
        Problem::line_unavailable("10.0.0.1:6379"),
        Problem::backup_unavailable(&BackupError::Unavailable("10.0.0.1 throttles".to_owned())),
        Problem::from(QueueLookupError::Protocol("10.0.0.1".to_owned())),
    ] {
        assert!(!problem.body("r1", None).contains("10.0.0.1"), "{problem:?}");
    }
}

#[test]
fn only_an_unavailable_store_asks_to_retry() {
    let seconds = |problem: &Problem| problem.retry_after_min_seconds();
    assert_eq!(seconds(&Problem::line_unavailable("no answer")), Some(2));
    assert_eq!(seconds(&Problem::recovering("lost")), Some(2));
    assert_eq!(seconds(&Problem::backup_behind()), Some(10));
    assert_eq!(seconds(&Problem::unknown_entry()), None);
    assert_eq!(seconds(&Problem::internal("a fault")), None);
}
