//! The follower decides as `web/client/src/follower.ts` does: these are cases of
//! `web/client/tests/follower.test.ts`, with random times.

use serde_json::{Value, json};

use vestibule_wire::{Entry, PublicDocument};

use super::{Failure, Follower, RequestKind};

fn entry(changes: &Value) -> Entry {
    let mut entry = json!({
        "queue": "q", "queue_state": "open", "degraded": false, "token": "t", "visit": 1, "state": "waiting", "place": 130_000, "lane": 0, "position": 4_000,
        "gone_ahead": 1_000, "look_after_ms": 600_000, "retry_after_ms": 40_000,
        "estimated_wait_seconds": { "low": 380, "high": 420 },
    });
    merge(&mut entry, changes);
    serde_json::from_value(entry).expect("an entry")
}

fn document(now_ms: u64, lane_changes: &Value) -> PublicDocument {
    let mut lane = json!({ "promoted_through": 100_000, "check_in_through": 101_000, "passed_through": 100_000, "gone_ahead": 1_000, "speed": 10.0 });
    merge(&mut lane, lane_changes);
    let changes = json!({
        "now_ms": now_ms, "lanes": { "0": lane },
        "estimated_waits": [{ "position": 2_000, "low": 150, "high": 250 }, { "position": 4_000, "low": 350, "high": 450 }],
    });
    document_of(&changes)
}

/// The document of an open queue without visitors.
fn document_of(changes: &Value) -> PublicDocument {
    let mut document = json!({
        "queue": "q", "state": "open", "epoch": 1, "generation": 1, "now_ms": 1_000, "refresh_near_ms": 3_000,
        "refresh_far_ms": 60_000, "resync_ms": 0, "lanes": {}, "waiting": 0, "full": false, "rate": null, "estimated_waits": [],
        "paused": false, "mode": "queue", "entrance": "open", "min_epoch": 0,
    });
    merge(&mut document, changes);
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
    assert_eq!(
        next.kind,
        RequestKind::Document,
        "no Retry-After is longer than ten minutes"
    );
    follower.receive_failure(document_outage, next.at_ms);
    let next = follower.next_request();
    assert!(matches!(next.kind, RequestKind::Status { .. }), "{next:?}");
    assert!((next.at_ms - 1_200_000.0).abs() < 1.0, "{next:?}");
}

#[test]
fn no_retry_after_costs_a_turn_or_silences_a_follower() {
    let month = |kind| Failure {
        kind,
        status: 503,
        retry_after_ms: 2_592_000_000.0,
    };
    let status = RequestKind::Status { hold_seconds: 0 };
    let longest_pause = |follower: &mut Follower, kind| {
        let pauses = (0..20).map(|_| {
            follower.receive_failure(month(kind), 1_000.0);
            follower.next_request().at_ms - 1_000.0
        });
        pauses.fold(0.0, f64::max)
    };
    // The shortest `claim_seconds` is 10, and `retry_after_ms` is at most two thirds of the real one.
    for (state, retry_after_ms, kind, longest_ms) in [
        ("waiting", 2_000, status, 6_667.0),
        ("waiting", 20_000, status, 20_000.0),
        ("ready", 1_000, RequestKind::Claim, 6_667.0),
        ("active", 60_000, status, 600_000.0),
    ] {
        let mut follower = Follower::new(false, 0.0);
        follower.receive_entry(
            entry(&json!({ "state": state, "retry_after_ms": retry_after_ms })),
            0.0,
        );
        let pause_ms = longest_pause(&mut follower, kind);
        assert!(pause_ms <= longest_ms, "{state}: {pause_ms} ms");
    }
    let newcomer_ms = longest_pause(&mut Follower::new(true, 0.0), RequestKind::Enter);
    assert!((580_000.0..=600_000.0).contains(&newcomer_ms), "{newcomer_ms} ms");
    let document_ms = longest_pause(&mut far_follower(), RequestKind::Document);
    assert!(document_ms <= 600_000.0, "{document_ms} ms");
    let mut follower = Follower::new(false, 0.0);
    follower.receive_entry(entry(&json!({ "state": "ready" })), 0.0);
    let refused = Failure {
        status: 409,
        ..month(RequestKind::Claim)
    };
    follower.receive_failure(refused, 1_000.0);
    assert!(
        follower.next_request().at_ms <= 8_000.0,
        "{:?}",
        follower.next_request()
    );
}

#[test]
fn no_interval_of_the_server_silences_a_follower_or_lets_it_ask_without_a_pause() {
    let assert_pause = |follower: &Follower, what: &str| {
        let pause_ms = follower.next_request().at_ms - 1_000.0;
        assert!((200.0..=600_000.0).contains(&pause_ms), "{what}: {pause_ms} ms");
    };
    for value in [0, 1, u64::MAX] {
        for name in ["look_after_ms", "retry_after_ms"] {
            for reads_documents in [true, false] {
                let mut follower = Follower::new(reads_documents, 0.0);
                follower.receive_entry(entry(&json!({ name: value })), 1_000.0);
                assert_pause(&follower, &format!("{name} {value}"));
            }
        }
        for name in ["refresh_near_ms", "refresh_far_ms"] {
            let mut follower = far_follower();
            follower.receive_document(document_of(&json!({ name: value })), 1_000.0);
            assert_pause(&follower, &format!("{name} {value}"));
        }
    }
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
