use std::collections::HashSet;

use serde_json::{Value, json};

use super::*;

const CODES: [Code; 22] = [
    Code::InvalidField,
    Code::BodyTooLarge,
    Code::UnsupportedMediaType,
    Code::UnknownRoute,
    Code::MethodNotAllowed,
    Code::UnknownQueue,
    Code::UnknownEntry,
    Code::TokenOwnerMismatch,
    Code::VisitorRequired,
    Code::ServiceOnly,
    Code::InvalidPass,
    Code::NotYourTurn,
    Code::QueueDraining,
    Code::QueueClosed,
    Code::Completed,
    Code::Left,
    Code::Expired,
    Code::OtherVisit,
    Code::LineUnavailable,
    Code::BackupUnavailable,
    Code::Recovering,
    Code::Internal,
];

#[test]
fn every_code_has_a_unique_name_and_an_error_status() {
    let names: HashSet<_> = CODES.iter().map(|code| code.name()).collect();
    assert_eq!(names.len(), CODES.len());
    for code in CODES {
        assert!(
            code.status().is_client_error() || code.status().is_server_error(),
            "{code:?}"
        );
        assert!(
            code.name().bytes().all(|b| b.is_ascii_lowercase() || b == b'-'),
            "{code:?}"
        );
    }
}

#[test]
fn problem_body_follows_rfc_9457() {
    let body = Problem::invalid_field("batch", "must be a number").body("r1");
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
        Problem::from(&QueueLookupError::Protocol("10.0.0.1".to_owned())),
    ] {
        assert!(!problem.body("r1").contains("10.0.0.1"), "{problem:?}");
    }
}

#[test]
fn unavailable_store_answers_with_retry_after() {
    let away = Problem::line_unavailable("no answer").into_response();
    assert_eq!(away.headers()[header::RETRY_AFTER], "2");
    let refused = Problem::unknown_entry().into_response();
    assert!(!refused.headers().contains_key(header::RETRY_AFTER));
}
