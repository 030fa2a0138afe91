//! `enter` gave the visitor a place, and the backup refused it because of an earlier visit.

use vestibule_domain::{
    change::{EndReason, Event},
    entry_status::EntryStatus,
    fact::{Fact, Turn},
    record::{EntryRecord, PutDecision},
    score::WaitScore,
    state::EntryState,
};
use vestibule_line::{AdoptBasis, AdoptOutcome, LeaveReason};
use vestibule_tests::lines::{Subject, visitor};

use super::{
    adopt, ended_record, expect_live, live_record, missed_turn, place_before, record_after, stored_fact,
    write,
};
use crate::{
    missing::expect_end,
    restore::PUT_RULES,
    settings::{bounded, two_at_a_time},
};

/// Opens a queue in which visitors 1 to 3 wait, and the line lost an earlier visit of visitor 2. Returns the place that
/// visitor 2 got now.
async fn open_with_provisional_place(subject: &mut Subject) -> WaitScore {
    subject.open(two_at_a_time()).await;
    subject.line_up(1..=3).await;
    match subject.status(visitor(2)).await {
        EntryStatus::Waiting { score, .. } => score,
        other => panic!("not waiting: {other:?}"),
    }
}

async fn adopt_provisional(subject: &Subject, place: WaitScore, record: Option<EntryRecord>) -> AdoptOutcome {
    let grace_seconds = PUT_RULES.grace_seconds;
    let basis = AdoptBasis::Provisional { place, grace_seconds };
    adopt(subject, 2, record, basis).await
}

pub(crate) async fn an_earlier_live_visit_replaces_the_new_place(mut subject: Subject) {
    let place = open_with_provisional_place(&mut subject).await;
    let old_place = place_before(&subject, 10_000);
    let waiting = live_record(&subject, 2, Fact::waiting(old_place.visit(), Turn::First)).await;
    let (status, change, has_adopted) = expect_live(adopt_provisional(&subject, place, Some(waiting)).await);
    let head = EntryStatus::Waiting {
        score: old_place,
        position: 1,
    };
    assert_eq!((status, change, has_adopted), (head, None, true));
    assert_eq!(subject.status(visitor(2)).await, head);
    let view = subject.view().await;
    assert_eq!(
        (view.waiting, view.totals.entered),
        (3, 3),
        "the visitor has one place"
    );
}

pub(crate) async fn an_earlier_turn_replaces_the_new_place(subject: Subject) {
    for turn in [Turn::First, Turn::Second] {
        let mut subject = subject.sibling();
        let place = open_with_provisional_place(&mut subject).await;
        let visit = place_before(&subject, 10_000).visit();
        let ready = Fact::ready(visit, turn, subject.clock.now_ms() - 1);
        let record = live_record(&subject, 2, ready).await;
        let (status, change, _) = expect_live(adopt_provisional(&subject, place, Some(record)).await);
        assert_eq!((status.state(), status.visit()), (EntryState::Ready, visit));
        let fact = change.expect("the claim time begins anew").fact();
        assert_eq!((fact.step, fact.visit), (ready.step, visit));
        assert_eq!(stored_fact(&subject, 2).await, fact);
        let view = subject.view().await;
        assert_eq!((view.waiting, view.ready), (2, 1));
    }
}

pub(crate) async fn a_missed_turn_within_the_grace_is_forgiven(mut subject: Subject) {
    let place = open_with_provisional_place(&mut subject).await;
    let old_place = place_before(&subject, 700_000);
    let grace_ms = u64::from(PUT_RULES.grace_seconds) * 1_000;
    let missed = missed_turn(&subject, old_place.visit(), grace_ms);
    let record = ended_record(&subject, 2, missed, EndReason::NoShow).await;
    let (status, change, has_adopted) =
        expect_live(adopt_provisional(&subject, place, Some(record.clone())).await);
    let head = EntryStatus::Waiting {
        score: old_place,
        position: 1,
    };
    assert_eq!((status, has_adopted), (head, true));
    let change = change.expect("the backup has the missed turn");
    assert_eq!(change.event, Event::CameBack { place: old_place });
    assert_eq!(
        write(Some(&record), &change).fact,
        Fact::waiting(old_place.visit(), Turn::Second)
    );
    assert_eq!(
        stored_fact(&subject, 2).await,
        Fact::waiting(old_place.visit(), Turn::Second)
    );
    let totals = subject.view().await.totals;
    assert_eq!((totals.entered, totals.returned), (2, 1));
}

pub(crate) async fn the_old_place_is_the_one_of_the_record(mut subject: Subject) {
    let place = open_with_provisional_place(&mut subject).await;
    let old_place = place_before(&subject, 100_000);
    let missed = missed_turn(&subject, old_place.visit(), 1_000);
    let mut record = ended_record(&subject, 2, missed, EndReason::NoShow).await;
    // The visitor was in another lane, behind all of this one.
    let moved = WaitScore::from_raw(old_place.raw() | 1 << 50).expect("a place of lane 1");
    record.score = Some(moved);
    let (status, change, _) = expect_live(adopt_provisional(&subject, place, Some(record)).await);
    let last = EntryStatus::Waiting {
        score: moved,
        position: 3,
    };
    assert_eq!(status, last);
    assert_eq!(
        change.map(|change| change.event),
        Some(Event::CameBack { place: moved })
    );
}

pub(crate) async fn without_a_visit_that_goes_on_the_place_stands(mut subject: Subject) {
    let place = open_with_provisional_place(&mut subject).await;
    let before = subject.view().await;
    assert_eq!(
        adopt_provisional(&subject, place, None).await,
        AdoptOutcome::Stands { after: None }
    );
    let visit = place_before(&subject, 900_000).visit();
    let grace_ms = u64::from(PUT_RULES.grace_seconds) * 1_000;
    let second_turn = Fact::ready(visit, Turn::Second, subject.clock.now_ms()).timed_out();
    for (fact, how) in [
        (Fact::ended(visit), EndReason::Left),
        (missed_turn(&subject, visit, grace_ms + 1), EndReason::NoShow),
        (second_turn, EndReason::NoShow),
        (
            Fact::active(visit, subject.clock.now_ms()).timed_out(),
            EndReason::Expired,
        ),
    ] {
        let record = ended_record(&subject, 2, fact, how).await;
        assert_eq!(
            adopt_provisional(&subject, place, Some(record)).await,
            AdoptOutcome::Stands { after: Some(visit) },
            "{fact:?}"
        );
    }
    // The session ran out, although the backup does not have that yet.
    let record = live_record(&subject, 2, Fact::active(visit, subject.clock.now_ms())).await;
    assert_eq!(
        adopt_provisional(&subject, place, Some(record)).await,
        AdoptOutcome::Stands { after: Some(visit) }
    );
    assert_eq!(subject.view().await, before);
}

pub(crate) async fn an_end_that_the_backup_lacks_counts_as_well(mut subject: Subject) {
    let place = open_with_provisional_place(&mut subject).await;
    subject.leave(visitor(2), LeaveReason::Leave).await;
    let EntryStatus::Waiting { score, .. } = subject.enter(visitor(2)).await.status else {
        panic!("not waiting");
    };
    // The backup still shows the first visit as live.
    let record = live_record(&subject, 2, Fact::waiting(place.visit(), Turn::First)).await;
    assert_eq!(
        adopt_provisional(&subject, score, Some(record)).await,
        AdoptOutcome::Stands {
            after: Some(place.visit())
        }
    );
}

pub(crate) async fn a_later_visit_that_ended_needs_a_new_place(mut subject: Subject) {
    let place = open_with_provisional_place(&mut subject).await;
    // The number of the lost visit is higher, because it is from a server whose clock was ahead.
    let lost = WaitScore::next(0, subject.clock.now_ms() + 5_000).visit();
    let record = ended_record(&subject, 2, Fact::ended(lost), EndReason::Completed).await;
    assert_eq!(
        adopt_provisional(&subject, place, Some(record)).await,
        AdoptOutcome::EnterAgain
    );
    let view = subject.view().await;
    assert_eq!((view.waiting, view.totals.entered), (2, 2));
    assert_eq!(expect_end(&subject, 2).await.fact().visit, lost);
    let again = subject.enter(visitor(2)).await.status;
    assert!(again.visit() > lost, "{again:?}");
    assert_eq!(subject.position(visitor(2)).await, 3);
}

/// Once its slot is free, the line does not tell of an earlier visit.
pub(crate) async fn a_later_visit_whose_slot_is_held_is_the_last_one(mut subject: Subject) {
    subject.open(two_at_a_time()).await;
    subject.line_up(1..=3).await;
    subject.leave(visitor(2), LeaveReason::Leave).await;
    let EntryStatus::Waiting { score: place, .. } = subject.enter(visitor(2)).await.status else {
        panic!("not waiting");
    };
    let lost = WaitScore::next(0, subject.clock.now_ms() + 5_000).visit();
    let held = Fact::held(lost, subject.clock.now_ms() + 3_000);
    let record = ended_record(&subject, 2, held, EndReason::Left).await;
    assert_eq!(
        adopt_provisional(&subject, place, Some(record)).await,
        AdoptOutcome::EnterAgain
    );
    assert_eq!(expect_end(&subject, 2).await.fact().visit, lost);
    subject.advance_seconds(4);
    subject.tick().await;
    assert_eq!(expect_end(&subject, 2).await.fact().visit, lost);
}

pub(crate) async fn a_later_live_visit_replaces_the_new_place(mut subject: Subject) {
    let place = open_with_provisional_place(&mut subject).await;
    let lost = WaitScore::next(0, subject.clock.now_ms() + 5_000);
    let record = live_record(&subject, 2, Fact::waiting(lost.visit(), Turn::First)).await;
    let (status, change, has_adopted) = expect_live(adopt_provisional(&subject, place, Some(record)).await);
    assert_eq!((status.visit(), change, has_adopted), (lost.visit(), None, true));
    let view = subject.view().await;
    assert_eq!((view.waiting, view.totals.entered), (3, 3));
    assert!(subject.enter(visitor(4)).await.status.visit() > lost.visit());
}

pub(crate) async fn a_place_that_is_confirmed_meanwhile_stays(mut subject: Subject) {
    let place = open_with_provisional_place(&mut subject).await;
    // The record states the new place itself: another request wrote it.
    let entered = Event::Entered { place, after: None };
    let record = record_after(&subject, 2, entered).await;
    let (status, change, has_adopted) = expect_live(adopt_provisional(&subject, place, Some(record)).await);
    assert_eq!(
        (status, change, has_adopted),
        (subject.status(visitor(2)).await, None, false)
    );
    // The visitor was promoted since, so the place is no longer provisional: the greater fact wins.
    subject.tick().await;
    let visit = place_before(&subject, 10_000).visit();
    let record = live_record(&subject, 2, Fact::waiting(visit, Turn::First)).await;
    let (status, change, has_adopted) = expect_live(adopt_provisional(&subject, place, Some(record)).await);
    assert_eq!(
        (status.state(), status.visit(), has_adopted),
        (EntryState::Ready, place.visit(), false)
    );
    assert!(change.is_some());
}

/// A fast-tracked visitor whose process was killed before the put is active in the line only. Two requests may find
/// that at the same time, so none of them may overwrite an earlier visit that the line had lost.
pub(crate) async fn a_repeated_fast_track_stays_provisional_until_claimed(mut subject: Subject) {
    subject.open(bounded(5, 5, 1)).await;
    let entered = subject.enter(visitor(2)).await;
    let Some(Event::FastTracked { place, .. }) = entered.change.map(|change| change.event) else {
        panic!("{entered:?}");
    };
    subject.advance_seconds(1);
    let repeat = subject.enter(visitor(2)).await.change.expect("repeated");
    assert!(repeat.event.is_provisional(), "{repeat:?}");
    assert_eq!(repeat.event.place(), Some(place));
    let compared = adopt(&subject, 2, None, AdoptBasis::Known).await;
    let (_, change, _) = expect_live(compared);
    assert!(change.expect("the backup has nothing").event.is_provisional());

    // An earlier visit that goes on replaces it, and the record of the repeat has the time of admission.
    let record = EntryRecord::of_change(&repeat, PUT_RULES);
    assert_eq!(record.promoted_at_ms, Some(place.joined_at_ms()));
    let old_visit = place_before(&subject, 10_000).visit();
    let active = Fact::active(old_visit, subject.clock.now_ms() + 5_000);
    let earlier = live_record(&subject, 2, active).await;
    assert_eq!(
        EntryRecord::decide_put(Some(&earlier), &repeat, PUT_RULES),
        PutDecision::VisitContinues
    );
    let (status, _, has_adopted) = expect_live(adopt_provisional(&subject, place, Some(earlier)).await);
    assert_eq!((status.visit(), has_adopted), (old_visit, true));

    // A claim is a fact.
    let fast = subject.enter(visitor(3)).await.status.visit();
    let (_, claimed) = subject.claim(visitor(3)).await;
    assert!(!claimed.event.is_provisional(), "{claimed:?}");
    let repeat = subject.enter(visitor(3)).await.change.expect("repeated");
    assert_eq!(repeat.event.visit(), fast);
    assert!(!repeat.event.is_provisional(), "{repeat:?}");
}
