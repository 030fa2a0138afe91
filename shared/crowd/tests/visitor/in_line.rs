//! Each conduct from entering to the turn, or to the end without one.

use vestibule_crowd::{record::VisitEnd, temper::Conduct};
use vestibule_wire::Code;

use crate::{
    assert_near,
    door::{Script, end_of_visit, unavailable},
    honest, visit, with_conduct,
};

#[tokio::test(start_paused = true)]
async fn an_honest_visitor_claims_at_the_turn_and_is_completed() {
    let visited = visit(honest(), Script::default()).await;
    let record = &visited.record;
    assert_eq!(record.end, Some(VisitEnd::Completed));
    let names: Vec<_> = visited
        .door()
        .requests()
        .iter()
        .map(|request| request.1)
        .collect();
    assert_eq!((names[0], names[1]), ("enter", "poll"));
    assert_eq!(visited.door().times_of("claim"), [10_000]);
    assert_eq!(visited.door().times_of("complete"), [30_000]);
    assert_eq!((record.wait_ms(), record.is_claimed()), (Some(10_000), true));
    let (from_ms, until_ms) = record.slot_ms.expect("a slot");
    assert_near(visited.after_ms(from_ms), 10_000.0);
    assert_near(visited.after_ms(until_ms), 30_000.0);
    // Each request but that of the service is the visitor's.
    assert_eq!(record.requests, names.len() as u64 - 1);
    assert_eq!((record.failures, record.rises.answered), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_visitor_who_is_let_in_at_once_has_no_wait() {
    let script = Script {
        turn_after_ms: 0,
        ..Script::default()
    };
    let record = visit(honest(), script).await.record;
    assert!(record.is_fast_tracked && !record.is_promoted && !record.is_claimed());
    assert_eq!(
        (record.wait_ms(), &record.end),
        (None, &Some(VisitEnd::Completed))
    );
    assert_eq!(
        record.admitted_at_ms(),
        Some(0),
        "the admission counts for the pace"
    );
}

#[tokio::test(start_paused = true)]
async fn a_leaver_leaves_when_the_patience_ends() {
    // A poll that the server holds is not given up.
    let leaver = with_conduct(Conduct::Leaves { after_ms: 3_000.0 });
    let visited = visit(leaver, Script::default()).await;
    assert_eq!(visited.record.end, Some(VisitEnd::LeftLine));
    let left_ms = visited.door().times_of("leave");
    assert!(
        left_ms.len() == 1 && (3_000..8_000).contains(&left_ms[0]),
        "{left_ms:?}"
    );
    assert!(!visited.record.is_promoted && visited.record.slot_ms.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_leaver_whose_turn_comes_first_stays() {
    let leaver = with_conduct(Conduct::Leaves { after_ms: 12_000.0 });
    let visited = visit(leaver, Script::default()).await;
    assert_eq!(visited.record.end, Some(VisitEnd::Completed));
    assert!(visited.door().times_of("leave").is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_vanisher_sends_nothing_more() {
    for after_ms in [3_000.0, 15_000.0] {
        let visited = visit(with_conduct(Conduct::Vanishes { after_ms }), Script::default()).await;
        assert_eq!(visited.record.end, Some(VisitEnd::Vanished));
        let last = visited.door().requests().last().copied().expect("a request");
        assert!(
            last.0 < 15_000 && last.1 != "leave" && last.1 != "complete",
            "{last:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_no_show_looks_until_the_server_ends_the_turn() {
    let visited = visit(with_conduct(Conduct::NoShow), Script::default()).await;
    let record = &visited.record;
    assert_eq!(record.end, Some(VisitEnd::NoShow));
    assert!(record.is_promoted && !record.is_claimed());
    assert!(visited.door().times_of("claim").is_empty());
    assert_eq!(visited.door().requests().last(), Some(&(30_000, "poll")));
    // The server may give the slot to another one at the deadline.
    let (from_ms, until_ms) = record.slot_ms.expect("a slot");
    assert_near(visited.after_ms(from_ms), 10_000.0);
    assert_near(visited.after_ms(until_ms), 29_000.0);
}

#[tokio::test(start_paused = true)]
async fn looks_after_a_turn_that_never_ends_are_bounded() {
    let script = Script {
        ends_turns: false,
        ..Script::default()
    };
    let visited = visit(with_conduct(Conduct::NoShow), script).await;
    assert_eq!(visited.record.end, Some(VisitEnd::Unknown));
    let requests = visited.door().requests();
    let looks: Vec<_> = requests.iter().filter(|(at_ms, _)| *at_ms >= 30_000).collect();
    assert_eq!(
        (looks.len(), looks[29].0),
        (30, 59_000),
        "one a second: {looks:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_no_show_whose_entry_is_unknown_has_lost_it() {
    let script = Script {
        refuse: |name, number| (name == "poll" && number >= 2).then(unknown_entry),
        ..Script::default()
    };
    let record = visit(with_conduct(Conduct::NoShow), script).await.record;
    assert_eq!(record.end, Some(VisitEnd::Lost("unknown-entry".to_owned())));
}

fn unknown_entry() -> vestibule_crowd::rules::Refusal {
    vestibule_crowd::rules::Refusal {
        status: 404,
        ..end_of_visit(Code::UnknownEntry)
    }
}

#[tokio::test(start_paused = true)]
async fn a_fake_is_silent_until_it_is_told_to_end() {
    let visited = visit(with_conduct(Conduct::Fake), Script::default()).await;
    let (mut visitor, crowd) = (visited.visitor, visited.crowd);
    assert!(visitor.is_silent() && visitor.record.end.is_none());
    assert_eq!(crowd.door.requests(), [(0, "enter")]);
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    visitor.break_silence(crowd.clock.now_ms());
    crowd.follow(&mut visitor).await;
    assert_eq!(crowd.door.requests()[1..], [(5_000, "poll"), (5_000, "leave")]);
    assert_eq!(visitor.record.end, Some(VisitEnd::LeftLine));
}

#[tokio::test(start_paused = true)]
async fn a_fake_learns_at_the_end_what_became_of_its_place() {
    for (after_s, turn_after_ms, session_ms, end) in [
        (15, 10_000, 300_000, VisitEnd::LeftSlot),
        (31, 10_000, 300_000, VisitEnd::Lapsed),
        (31, 0, 300_000, VisitEnd::LeftSlot),
        (31, 0, 10_000, VisitEnd::SessionExpired),
    ] {
        let script = Script {
            turn_after_ms,
            session_ms,
            ..Script::default()
        };
        let visited = visit(with_conduct(Conduct::Fake), script).await;
        let (mut visitor, crowd) = (visited.visitor, visited.crowd);
        tokio::time::sleep(std::time::Duration::from_secs(after_s)).await;
        visitor.break_silence(crowd.clock.now_ms());
        crowd.follow(&mut visitor).await;
        assert_eq!(visitor.record.end, Some(end));
        let has_learnt = (turn_after_ms > 0 && after_s == 15).then_some(10_000);
        assert_eq!(visitor.record.wait_ms(), has_learnt);
    }
}

#[tokio::test(start_paused = true)]
async fn a_sleeper_sends_nothing_meanwhile_and_goes_on() {
    let sleeper = Conduct::Sleeps {
        from_ms: 1_000.0,
        until_ms: 25_000.0,
    };
    let visited = visit(with_conduct(sleeper), Script::default()).await;
    assert!(visited.record.has_come_back);
    let asleep: Vec<_> = visited.door().requests();
    let asleep: Vec<_> = asleep
        .iter()
        .filter(|(at_ms, _)| (1_000..25_000).contains(at_ms))
        .collect();
    assert_eq!(asleep, Vec::<&(u64, &str)>::new());
    assert_eq!(visited.door().times_of("claim").len(), 1);
    assert_eq!(visited.record.end, Some(VisitEnd::Completed));
}

#[tokio::test(start_paused = true)]
async fn the_service_completes_a_visitor_whose_phone_sleeps() {
    let sleeper = with_conduct(Conduct::Sleeps {
        from_ms: 1_000.0,
        until_ms: 60_000.0,
    });
    let script = Script {
        turn_after_ms: 0,
        ..Script::default()
    };
    let visited = visit(sleeper, script).await;
    assert_eq!(visited.door().times_of("complete"), [20_000]);
    assert_eq!(visited.record.end, Some(VisitEnd::Completed));
}

#[tokio::test(start_paused = true)]
async fn an_oversleeper_wakes_after_the_expected_turn() {
    let oversleeper = Conduct::Oversleeps {
        from_share: 0.1,
        by_ms: 5_000.0,
    };
    let visited = visit(with_conduct(oversleeper), Script::default()).await;
    let requests = visited.door().requests();
    assert!(requests.iter().all(|(at_ms, _)| !(1_000..15_000).contains(at_ms)));
    assert_near(
        visited.after_ms(visited.record.called_at_ms.expect("a turn")),
        15_000.0,
    );
}

#[tokio::test(start_paused = true)]
async fn one_who_sleeps_when_called_wakes_once() {
    let sleeper = Conduct::SleepsWhenCalled { for_ms: 4_000.0 };
    let visited = visit(with_conduct(sleeper), Script::default()).await;
    let times: Vec<_> = visited
        .door()
        .requests()
        .iter()
        .map(|(at_ms, _)| *at_ms)
        .collect();
    assert_eq!(
        (times[0], times[1]),
        (0, 4_000),
        "near the head from the first answer"
    );
    assert_eq!(visited.record.end, Some(VisitEnd::Completed));
}

#[tokio::test(start_paused = true)]
async fn a_visitor_who_missed_the_turn_comes_back_as_often_as_meant() {
    let sleeper = with_conduct(Conduct::Sleeps {
        from_ms: 1_000.0,
        until_ms: 40_000.0,
    });
    let visited = visit(sleeper.clone(), Script::default()).await;
    assert_eq!(visited.record.end, Some(VisitEnd::Lost("expired".to_owned())));
    let returning = vestibule_crowd::temper::Temper {
        returns: 1,
        ..sleeper
    };
    let visited = visit(returning, Script::default()).await;
    assert_eq!(visited.record.end, Some(VisitEnd::Completed));
    assert_eq!(visited.record.visits, [1, 2]);
}

#[tokio::test(start_paused = true)]
async fn a_pacer_asks_at_its_own_pace() {
    let gaps = async |factor| {
        let visited = visit(with_conduct(Conduct::Paces { factor }), Script::default()).await;
        let polls = visited.door().times_of("poll");
        polls[0]
    };
    assert_eq!(gaps(1.0).await, 2_000);
    assert_eq!(gaps(4.0).await, 500);
    assert_eq!(gaps(0.5).await, 4_000);
}

#[tokio::test(start_paused = true)]
async fn entering_is_tried_again_until_it_is_answered() {
    let script = Script {
        refuse: |name, number| (name == "enter" && number < 3).then(unavailable),
        ..Script::default()
    };
    let record = visit(honest(), script).await.record;
    assert_eq!(record.end, Some(VisitEnd::Completed));
    assert!(record.may_have_entered && record.failures == 3, "{record:?}");
    assert_eq!(record.changes_of_id, 0, "each attempt is of the same visitor");
}

#[tokio::test(start_paused = true)]
async fn a_visitor_whom_the_server_refuses_sends_nothing_more() {
    let script = Script {
        refuse: |name, _| {
            (name == "enter").then(|| vestibule_crowd::rules::Refusal {
                status: 403,
                ..end_of_visit(Code::Blocked)
            })
        },
        ..Script::default()
    };
    let visited = visit(honest(), script).await;
    assert_eq!(visited.record.end, Some(VisitEnd::Refused("blocked".to_owned())));
    assert_eq!(visited.door().requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_visit_that_the_server_ends_is_lost() {
    let script = Script {
        refuse: |name, number| (name == "poll" && number == 1).then(|| end_of_visit(Code::Evicted)),
        ..Script::default()
    };
    let record = visit(honest(), script).await.record;
    assert!(record.is_lost(), "{record:?}");
}
