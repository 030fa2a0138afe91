//! The follower decides as `web/client/src/follower.ts` does: these are cases of
//! `web/client/tests/follower.test.ts`, with random times.

use serde_json::{Value, json};

use super::{Document, EntryAnswer, Failure, Follower, RequestKind};

fn entry(changes: &Value) -> EntryAnswer {
    let mut entry = json!({
        "token": "t", "visit": 1, "state": "waiting", "place": 130_000, "lane": 0, "position": 4_000,
        "gone_ahead": 1_000, "look_after_ms": 600_000, "retry_after_ms": 40_000,
        "estimated_wait_seconds": { "low": 380, "high": 420 },
    });
    merge(&mut entry, changes);
    serde_json::from_value(entry).expect("an entry")
}

fn document(now_ms: u64, lane_changes: &Value) -> Document {
    let mut lane =
        json!({ "check_in_through": 101_000, "passed_through": 100_000, "gone_ahead": 1_000, "speed": 10.0 });
    merge(&mut lane, lane_changes);
    let document = json!({
        "generation": 1, "epoch": 1, "now_ms": now_ms, "lanes": { "0": lane }, "state": "open",
        "estimated_waits": [{ "position": 2_000, "low": 150, "high": 250 }, { "position": 4_000, "low": 350, "high": 450 }],
        "refresh_near_ms": 3_000, "refresh_far_ms": 60_000,
    });
    serde_json::from_value(document).expect("a document")
}

fn merge(value: &mut Value, changes: &Value) {
    for (name, change) in changes.as_object().expect("an object") {
        value[name] = change.clone();
    }
}

fn far_follower() -> Follower {
    let mut follower = Follower::new(true, 0.0);
    assert_eq!(follower.next_request().kind, RequestKind::Enter);
    follower.receive_entry(entry(&json!({})), 0.0);
    follower
}

#[test]
fn a_far_entry_is_not_asked_before_the_document_calls_it() {
    let mut follower = far_follower();
    let next = follower.next_request();
    assert_eq!(next.kind, RequestKind::Document);
    // A sixth of 400 s is more than the longest interval.
    assert!((51_000.0..=69_000.0).contains(&next.at_ms), "{next:?}");
    assert!(follower.receive_document(document(1_000, &json!({ "check_in_through": 129_999 })), 60_000.0));
    assert_eq!(follower.next_request().kind, RequestKind::Document);
    assert!(!follower.receive_document(document(999, &json!({ "check_in_through": 130_000 })), 61_000.0));
    assert_eq!(
        follower.next_request().kind,
        RequestKind::Document,
        "an older copy"
    );
    assert!(follower.receive_document(document(2_000, &json!({ "check_in_through": 130_000 })), 90_000.0));
    let next = follower.next_request();
    assert_eq!(next.kind, RequestKind::Status { hold_seconds: 5 });
    assert!(next.at_ms <= 90_000.0, "{next:?}");

    let near = json!({ "look_after_ms": null, "gone_ahead": null, "retry_after_ms": 5_000 });
    follower.receive_entry(entry(&near), 90_100.0);
    let next = follower.next_request();
    assert_eq!(
        (next.kind, next.at_ms),
        (RequestKind::Status { hold_seconds: 5 }, 95_100.0)
    );
}

#[test]
fn a_client_that_ignores_the_document_polls_when_told() {
    let mut follower = Follower::new(false, 0.0);
    follower.receive_entry(entry(&json!({})), 0.0);
    let next = follower.next_request();
    assert_eq!(
        (next.kind, next.at_ms),
        (RequestKind::Status { hold_seconds: 5 }, 40_000.0)
    );
}

#[test]
fn the_shown_position_never_rises_and_the_unclamped_one_may() {
    let mut follower = far_follower();
    for (now_ms, gone_ahead, unclamped, shown) in [
        (1_000, 1_400, 3_600, 3_600),
        (2_000, 1_300, 3_700, 3_600),
        (3_000, 2_000, 3_000, 3_000),
        (4_000, 99_999, -94_999, 1),
    ] {
        follower.receive_document(document(now_ms, &json!({ "gone_ahead": gone_ahead })), 1.0);
        assert_eq!(follower.unclamped_position(), Some(unclamped));
        assert_eq!(follower.shown_position(), Some(shown));
    }
}

#[test]
fn a_refusal_is_a_floor_and_a_ready_entry_is_claimed_at_once() {
    let mut follower = far_follower();
    follower.receive_entry(entry(&json!({ "state": "ready" })), 1_000.0);
    let next = follower.next_request();
    assert_eq!((next.kind, next.at_ms), (RequestKind::Claim, 1_000.0));
    let refusal = |status| Failure {
        kind: RequestKind::Claim,
        status,
        retry_after_ms: 3_000.0,
    };
    follower.receive_failure(refusal(503), 1_000.0);
    let next = follower.next_request();
    assert_eq!(next.kind, RequestKind::Claim);
    assert!((4_000.0..=5_000.0).contains(&next.at_ms), "{next:?}");
    follower.receive_failure(refusal(409), 5_000.0);
    let next = follower.next_request();
    assert!((next.at_ms - 8_000.0).abs() < 1.0);
    assert!(matches!(next.kind, RequestKind::Status { .. }), "{next:?}");
}

#[test]
fn a_failed_look_of_a_far_entry_is_repeated_late() {
    let mut follower = far_follower();
    follower.receive_document(document(1_000, &json!({})), 590_000.0);
    let unavailable = |kind| Failure {
        kind,
        status: 503,
        retry_after_ms: 5_000.0,
    };
    follower.receive_failure(unavailable(RequestKind::Status { hold_seconds: 0 }), 600_000.0);
    let document_outage = Failure {
        retry_after_ms: 3_600_000.0,
        ..unavailable(RequestKind::Document)
    };
    follower.receive_failure(document_outage, 600_000.0);
    let next = follower.next_request();
    assert!(matches!(next.kind, RequestKind::Status { .. }), "{next:?}");
    assert!((next.at_ms - 1_200_000.0).abs() < 1.0, "{next:?}");
}

#[test]
fn the_estimate_follows_the_document_and_its_age() {
    let mut follower = far_follower();
    let shown = |follower: &Follower, now_ms| {
        let range = follower.shown_estimate(now_ms).expect("an estimate");
        (range.low, range.high)
    };
    assert_eq!(shown(&follower, 10_000.0), (370, 410), "ten seconds later");
    follower.receive_document(document(20_000, &json!({ "gone_ahead": 2_000 })), 20_000.0);
    assert_eq!(
        shown(&follower, 20_000.0),
        (250, 350),
        "halfway between two positions"
    );
    follower.receive_document(document(30_000, &json!({ "gone_ahead": 4_000 })), 38_000.0);
    assert_eq!(
        shown(&follower, 38_000.0),
        (67, 117),
        "a cache kept the document for 8 s"
    );
}
