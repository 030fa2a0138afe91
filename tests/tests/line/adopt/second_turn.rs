//! A visitor who missed the first turn and came back waits at the old place for a second one.

use vestibule_domain::{
    change::{EndReason, Event},
    fact::{Fact, Turn},
    score::WaitScore,
    settings::ReEntry,
    state::EntryState,
};
use vestibule_line::{AdoptBasis, Arrival, EntryLookup, JoinKind, LeaveReason, RestoredEntries};
use vestibule_tests::lines::{Subject, visitor};

use super::{
    adopt, ended_record, expect_live, live_record, missed_turn, place_before, record_after, stored_fact,
};
use crate::{
    missing::expect_end,
    restore::{PUT_RULES, configuration_of_epoch},
    settings::three_a_second,
};

/// Opens a queue in which visitors 1 to 5 wait, and visitor 2 came back. Returns the old place of visitor 2.
async fn open_with_returned_visitor(subject: &mut Subject) -> WaitScore {
    subject.open(three_a_second()).await;
    subject.line_up(1..=5).await;
    let place = stored_fact(subject, 2).await.visit.place();
    let old_place = place_before(subject, 10_000);
    let missed = missed_turn(subject, old_place.visit(), 1_000);
    let record = ended_record(subject, 2, missed, EndReason::NoShow).await;
    let basis = AdoptBasis::Provisional {
        place,
        grace_seconds: PUT_RULES.grace_seconds,
    };
    expect_live(adopt(subject, 2, Some(record), basis).await);
    // The visitor is told to poll at once.
    let polled = subject.line.check_in(&subject.queue, visitor(2)).await;
    polled.expect("an answer");
    old_place
}

pub(crate) async fn a_returned_visitor_gets_a_second_turn(mut subject: Subject) {
    let old_place = open_with_returned_visitor(&mut subject).await;
    let visit = old_place.visit();
    let again = subject.enter(visitor(2)).await;
    assert_eq!(again.kind, JoinKind::Kept);
    let repeated = again.change.map(|change| change.event);
    assert_eq!(repeated, Some(Event::CameBack { place: old_place }));

    let claim_by_ms = subject.clock.now_ms() + 60_000;
    assert_eq!(subject.tick().await.promoted, 3);
    let promoted = subject.journal().await.remove(0).changes;
    let turns: Vec<_> = promoted
        .iter()
        .map(|change| match change.event {
            Event::Promoted { turn, .. } => (change.id, turn),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(turns.len(), 3);
    for (number, turn) in [(2, Turn::Second), (1, Turn::First), (3, Turn::First)] {
        assert!(turns.contains(&(visitor(number), turn)), "{turns:?}");
    }
    let fact = Fact::ready(visit, Turn::Second, claim_by_ms);
    assert_eq!(stored_fact(&subject, 2).await, fact);
    assert_eq!(subject.enter(visitor(2)).await.change, None);

    // The second turn is the last one.
    subject.advance_seconds(60);
    assert_eq!(subject.tick().await.no_shows, 3);
    let end = expect_end(&subject, 2).await;
    assert_eq!(end.fact(), fact.timed_out());
    let entered = subject.enter(visitor(2)).await.change.expect("new");
    let (Event::Entered { after, .. } | Event::FastTracked { after, .. }) = entered.event else {
        panic!("{entered:?}");
    };
    assert_eq!(after, Some(visit), "no one else goes on with the visit");
}

pub(crate) async fn the_longest_wait_ends_no_second_turn(mut subject: Subject) {
    open_with_returned_visitor(&mut subject).await;
    // Another visitor takes the only slot, and all have waited for longer than the new setting allows.
    subject
        .change_settings(|settings| (settings.capacity, settings.waiting_seconds_max) = (1, 5))
        .await;
    let bypass = subject.line.enter(&subject.queue, visitor(9), Arrival::Bypass);
    bypass.await.expect("an answer");
    subject.advance_seconds(20);
    let tick = subject.tick().await;
    assert_eq!((tick.promoted, tick.overlong_waits), (0, 4));
    assert_eq!(subject.state(visitor(2)).await, EntryState::Waiting);
}

pub(crate) async fn a_returned_visitor_may_claim_or_leave(subject: Subject) {
    for has_turn in [false, true] {
        let mut subject = subject.sibling();
        let visit = open_with_returned_visitor(&mut subject).await.visit();
        if has_turn {
            subject.tick().await;
            let (status, change) = subject.claim(visitor(2)).await;
            assert_eq!((status.state(), status.visit()), (EntryState::Active, visit));
            assert_eq!(change.event.visit(), visit);
        }
        let reason = if has_turn {
            LeaveReason::Complete
        } else {
            LeaveReason::Leave
        };
        let end = subject.leave(visitor(2), reason).await;
        assert_eq!(end.fact(), Fact::ended(visit));
        // The next visit begins with its first turn.
        subject.line_up([2]).await;
        let fact = stored_fact(&subject, 2).await;
        assert_eq!(fact, Fact::waiting(fact.visit, Turn::First));
        assert!(fact.visit > visit);
    }
}

pub(crate) async fn requeueing_gives_up_the_second_turn(mut subject: Subject) {
    let old_place = open_with_returned_visitor(&mut subject).await;
    subject
        .change_settings(|settings| settings.re_entry = ReEntry::Requeue)
        .await;
    let moved = subject.enter(visitor(2)).await;
    let Some(Event::Entered { place, after }) = moved.change.map(|change| change.event) else {
        panic!("{moved:?}");
    };
    assert_eq!((moved.kind, after), (JoinKind::Requeued, Some(old_place.visit())));
    assert_eq!(
        stored_fact(&subject, 2).await,
        Fact::waiting(place.visit(), Turn::First)
    );
}

pub(crate) async fn a_restore_keeps_the_second_turn(mut subject: Subject) {
    let old_place = open_with_returned_visitor(&mut subject).await;
    let mut records = Vec::new();
    for number in 1..=5 {
        let fact = stored_fact(&subject, number).await;
        let event = Event::repeat(fact, None).expect("live");
        records.push(record_after(&subject, number, event).await);
    }
    // Visitor 3 has the second turn already.
    let ready = Fact::ready(records[2].visit(), Turn::Second, subject.clock.now_ms());
    records[2] = live_record(&subject, 3, ready).await;
    let rebuilt = subject.sibling();
    let configuration = configuration_of_epoch(&subject, 2);
    let places: RestoredEntries = records.iter().collect();
    rebuilt
        .line
        .restore(&rebuilt.queue, &configuration, 0, places)
        .await
        .expect("restore");
    assert_eq!(
        stored_fact(&rebuilt, 2).await,
        Fact::waiting(old_place.visit(), Turn::Second)
    );
    let claim_by_ms = rebuilt.clock.now_ms() + 60_000;
    assert_eq!(
        stored_fact(&rebuilt, 3).await,
        Fact::ready(ready.visit, Turn::Second, claim_by_ms)
    );
    assert!(matches!(rebuilt.lookup(visitor(1)).await, EntryLookup::Found(_)));
}
