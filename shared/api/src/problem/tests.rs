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
    Code::PassRefused,
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
fn every_code_has_a_name_and_an_error_status_of_its_own() {
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
fn the_body_is_problem_details() {
    let body = Problem::field("batch", "must be a number").body("r1");
    let expected = json!({
        "type": "urn:problem-type:vestibule:invalid-field", "title": "The request is invalid",
        "status": 400, "code": "invalid-field", "detail": "must be a number", "field": "batch",
        "request_id": "r1",
    });
    assert_eq!(serde_json::from_str::<Value>(&body).expect("JSON"), expected);
}

#[test]
fn nothing_from_inside_shows() {
    for problem in [
        Problem::internal("redis://10.0.0.1 refused the connection"),
        Problem::line_away("10.0.0.1:6379"),
        Problem::backup_away(&BackupError::Unavailable("10.0.0.1 throttles".to_owned())),
        Problem::from(&Absence::Nonsense("10.0.0.1".to_owned())),
    ] {
        assert!(!problem.body("r1").contains("10.0.0.1"), "{problem:?}");
    }
}

#[test]
fn what_is_away_says_when_to_come_back() {
    let away = Problem::line_away("no answer").into_response();
    assert_eq!(away.headers()[header::RETRY_AFTER], "2");
    let refused = Problem::unknown_entry().into_response();
    assert!(!refused.headers().contains_key(header::RETRY_AFTER));
}
