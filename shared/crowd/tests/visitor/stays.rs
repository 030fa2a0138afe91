//! What happens after the turn: checks, a session that is made longer, and the end.

use vestibule_crowd::{
    record::VisitEnd,
    temper::{Stay, StayEnd, Temper},
};
use vestibule_wire::Code;

use crate::{
    STAY_MS, assert_near, crowd,
    door::{Script, end_of_visit, unavailable},
    honest, visit, with_stay_end,
};

fn with_checks(checks: u32) -> Temper {
    Temper {
        stay: Stay {
            checks,
            ..honest().stay
        },
        ..honest()
    }
}

#[tokio::test(start_paused = true)]
async fn checks_are_spread_over_the_stay() {
    let visited = visit(with_checks(3), Script::default()).await;
    assert_eq!(visited.door().times_of("validate"), [15_000, 20_000, 25_000]);
    assert_eq!(visited.door().times_of("complete"), [30_000]);
    assert_eq!(visited.record.validations, 3);
}

#[tokio::test(start_paused = true)]
async fn a_stay_without_length_is_checked_before_it_ends() {
    let mut temper = with_checks(1);
    temper.stay.length_ms = 0.0;
    let visited = visit(temper, Script::default()).await;
    let requests = visited.door().requests();
    assert_eq!(
        requests[requests.len() - 2..],
        [(10_000, "validate"), (10_000, "complete")]
    );
}

#[tokio::test(start_paused = true)]
async fn a_check_without_an_answer_ends_no_visit() {
    let script = Script {
        refuse: |name, number| (name == "validate" && number == 0).then(unavailable),
        ..Script::default()
    };
    let record = visit(with_checks(2), script).await.record;
    assert_eq!((record.validations, record.end), (1, Some(VisitEnd::Completed)));
}

#[tokio::test(start_paused = true)]
async fn a_check_that_is_refused_ends_the_visit() {
    for (code, end) in [
        (Code::Expired, VisitEnd::SessionExpired),
        (Code::Evicted, VisitEnd::Lost("evicted".to_owned())),
    ] {
        let script = Script {
            refuse: match code {
                Code::Expired => |name, _| (name == "validate").then(|| end_of_visit(Code::Expired)),
                _ => |name, _| (name == "validate").then(|| end_of_visit(Code::Evicted)),
            },
            ..Script::default()
        };
        let visited = visit(with_checks(1), script).await;
        assert_eq!(visited.record.end, Some(end));
        assert!(visited.door().times_of("complete").is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn a_short_session_is_made_longer_before_it_ends() {
    let script = Script {
        session_ms: 8_000,
        ..Script::default()
    };
    let visited = visit(honest(), script).await;
    assert_eq!(visited.door().times_of("extend"), [15_000, 20_000, 25_000]);
    assert_eq!(visited.record.end, Some(VisitEnd::Completed));
}

#[tokio::test(start_paused = true)]
async fn a_very_short_session_is_made_longer_at_half_its_time() {
    let script = Script {
        session_ms: 2_000,
        ..Script::default()
    };
    let visited = visit(honest(), script).await;
    assert_eq!(visited.record.end, Some(VisitEnd::Completed));
    assert_eq!(visited.door().times_of("extend").len(), 20);
}

#[tokio::test(start_paused = true)]
async fn a_session_that_does_not_grow_is_left_to_end() {
    let script = Script {
        session_ms: 8_000,
        session_max_ms: 12_000,
        ..Script::default()
    };
    let visited = visit(honest(), script).await;
    assert_eq!(visited.record.end, Some(VisitEnd::SessionExpired));
    assert_eq!(visited.door().times_of("extend"), [15_000, 19_000]);
    // The visitor learns of the end a moment later, and the slot is free by then.
    let (_, until_ms) = visited.record.slot_ms.expect("a slot");
    assert_near(visited.after_ms(until_ms), 21_000.0);
}

#[tokio::test(start_paused = true)]
async fn a_session_stays_as_it_is_if_the_visitor_does_not_extend_it() {
    let script = Script {
        session_ms: 8_000,
        ..Script::default()
    };
    let mut temper = honest();
    temper.stay.extends = false;
    let visited = visit(temper, script).await;
    assert!(visited.door().times_of("extend").is_empty());
    assert_eq!(visited.record.end, Some(VisitEnd::SessionExpired));
}

#[tokio::test(start_paused = true)]
async fn a_stay_ends_as_the_temper_says() {
    for (stay_end, request, end) in [
        (StayEnd::Completes, "complete", VisitEnd::Completed),
        (StayEnd::Leaves, "leave", VisitEnd::LeftSlot),
    ] {
        let visited = visit(with_stay_end(stay_end), Script::default()).await;
        assert_eq!(visited.door().requests().last(), Some(&(30_000, request)));
        assert_eq!(visited.record.end, Some(end));
    }
    let script = Script {
        session_ms: 40_000,
        ..Script::default()
    };
    let mut expiring = with_stay_end(StayEnd::Expires);
    expiring.stay.extends = false;
    let visited = visit(expiring, script).await;
    assert_eq!(visited.record.end, Some(VisitEnd::SessionExpired));
    let names: Vec<_> = visited
        .door()
        .requests()
        .iter()
        .map(|request| request.1)
        .collect();
    assert!(
        !names.contains(&"leave") && !names.contains(&"complete"),
        "{names:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_request_that_ends_the_visit_is_repeated_with_growing_pauses() {
    for (stay_end, request) in [(StayEnd::Completes, "complete"), (StayEnd::Leaves, "leave")] {
        let script = Script {
            refuse: |name, number| (matches!(name, "complete" | "leave") && number < 4).then(unavailable),
            ..Script::default()
        };
        let visited = visit(with_stay_end(stay_end), script).await;
        let times = visited.door().times_of(request);
        assert_eq!(times, [30_000, 31_000, 33_000, 36_000, 40_000]);
        assert!(matches!(
            visited.record.end,
            Some(VisitEnd::Completed | VisitEnd::LeftSlot)
        ));
        // From the first attempt on it is not certain that the slot is taken.
        let (_, until_ms) = visited.record.slot_ms.expect("a slot");
        assert_near(visited.after_ms(until_ms), 10_000.0 + STAY_MS);
    }
}

#[tokio::test(start_paused = true)]
async fn the_end_is_unknown_after_five_attempts() {
    let script = Script {
        refuse: |name, _| (name == "complete").then(unavailable),
        ..Script::default()
    };
    let visited = visit(honest(), script).await;
    assert_eq!(visited.door().times_of("complete").len(), 5);
    assert_eq!(visited.record.end, Some(VisitEnd::Unknown));
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_a_server_forgot_comes_again() {
    let crowd = crowd(Script::default());
    let mut visitor = crowd.arrive(vestibule_crowd::door::Caller::anonymous(), honest(), 1);
    while visitor.record.claimed_at_ms.is_none() {
        crowd.step(&mut visitor).await;
    }
    crowd.door.forget_turn(8_000);
    crowd.follow(&mut visitor).await;
    assert_eq!(visitor.record.end, Some(VisitEnd::Completed));
    assert_eq!(crowd.door.times_of("claim"), [10_000, 18_000]);
    assert_eq!(crowd.door.times_of("complete"), [38_000], "the stay begins anew");
    let (from_ms, until_ms) = visitor.record.slot_ms.expect("a slot");
    // The slot that was lost does not count any more once the visitor knows.
    assert!(until_ms - from_ms < 8_000.0, "{from_ms} to {until_ms}");
}
