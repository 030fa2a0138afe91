//! Writing a provisional place: the visit that the record shows may go on instead.

use vestibule_backup::{Backup, PutOutcome};
use vestibule_backup_file::FileBackup;
use vestibule_domain::{
    change::{EndReason, Event},
    fact::{Fact, Turn},
    score::{Visit, WaitScore},
    state::EntryState,
};
use vestibule_tests::{
    entries::{change, now_ms},
    servers,
};

use super::{BackedUpEntry, ended, hour_ago_ms, no_show};

on_both_backups! {
    new_place_is_refused_while_a_visit_is_live
    new_place_is_refused_within_the_grace_of_a_missed_turn
    new_place_is_stored_after_an_ended_visit
    new_place_is_stored_if_the_line_knows_of_the_end
    place_below_the_stored_visit_changes_nothing
    visitor_comes_back_once_to_the_old_place
    concurrent_returns_to_the_old_place_are_stored_once
}

/// A visitor who entered an hour ago, and enters again ten seconds after a turn of a minute.
struct EnteringAgain<'a> {
    entry: BackedUpEntry<'a>,
    old: WaitScore,
    new: WaitScore,
}

impl<'a> EnteringAgain<'a> {
    fn new(backup: &'a dyn Backup) -> Self {
        let entered_ms = hour_ago_ms();
        Self {
            entry: BackedUpEntry::new(backup),
            old: WaitScore::next(0, entered_ms),
            new: WaitScore::next(0, entered_ms + 70_000),
        }
    }

    /// The earlier visit after its first turn, which lasts until this time.
    fn ready(&self, turn: Turn) -> Fact {
        Fact::ready(self.old.visit(), turn, self.claim_by_ms())
    }

    fn claim_by_ms(&self) -> u64 {
        self.old.joined_at_ms() + 60_000
    }

    fn missed_turn(&self) -> Event {
        no_show(self.ready(Turn::First))
    }

    /// The two changes that give the new place.
    fn places(&self, after: Option<Visit>) -> [Event; 2] {
        let place = self.new;
        [
            Event::Entered { place, after },
            Event::FastTracked {
                place,
                session_end_ms: place.joined_at_ms() + 300_000,
                after,
                claimed_at_ms: None,
            },
        ]
    }

    /// The events after which the earlier visit is live.
    fn live_events(&self) -> [Event; 5] {
        let (place, visit, claim_by_ms) = (self.old, self.old.visit(), self.claim_by_ms());
        let promoted = |turn| Event::Promoted {
            place,
            turn,
            claim_by_ms,
        };
        [
            Event::Entered { place, after: None },
            promoted(Turn::First),
            Event::CameBack { place },
            promoted(Turn::Second),
            Event::Claimed {
                visit,
                session_end_ms: claim_by_ms,
            },
        ]
    }

    /// The events after which the earlier visit is over for good.
    fn end_events(&self) -> [Event; 5] {
        let expired = Event::Ended {
            fact: Fact::active(self.old.visit(), self.claim_by_ms()).timed_out(),
            how: EndReason::Expired,
        };
        [
            no_show(self.ready(Turn::Second)),
            expired,
            ended(self.old, EndReason::Completed),
            ended(self.old, EndReason::Left),
            ended(self.old, EndReason::Evicted),
        ]
    }
}

async fn new_place_is_refused_while_a_visit_is_live(backup: &dyn Backup) {
    let again = EnteringAgain::new(backup);
    for (v, event) in (1..).zip(again.live_events()) {
        again.entry.put(v, event).await;
        let record = again.entry.record().await.expect("a record");
        // The end of a still earlier visit does not matter.
        for after in [None, Visit::new(1)] {
            for place in again.places(after) {
                assert_eq!(
                    again.entry.put(100, place).await,
                    PutOutcome::VisitContinues(record.clone()),
                    "{event:?}, then {place:?}"
                );
            }
        }
    }
}

async fn new_place_is_refused_within_the_grace_of_a_missed_turn(backup: &dyn Backup) {
    // The grace, when the visitor enters again after the missed turn, and whether the new place is refused. A visitor
    // whom the fast track admits needs no old place.
    let cases = [
        (600, 10_000, true),
        (600, 600_000, true),
        (600, 600_001, false),
        (3_600, 600_001, true),
        (0, 0, false),
        (0, 10_000, false),
    ];
    for (grace_seconds, after_ms, is_refused) in cases {
        for nth in 0..2 {
            let mut again = EnteringAgain::new(backup);
            again.entry.partition.grace_seconds = grace_seconds;
            again.new = WaitScore::next(0, again.claim_by_ms() + after_ms);
            again.entry.put(1, again.missed_turn()).await;
            let outcome = again.entry.put(2, again.places(None)[nth]).await;
            let is_refused = is_refused && nth == 0;
            let case = format!("a grace of {grace_seconds} s, {after_ms} ms: {outcome:?}");
            assert_eq!(
                matches!(outcome, PutOutcome::VisitContinues(_)),
                is_refused,
                "{case}"
            );
            assert_eq!(matches!(outcome, PutOutcome::Stored(_)), !is_refused, "{case}");
        }
    }
}

async fn new_place_is_stored_after_an_ended_visit(backup: &dyn Backup) {
    for nth_end in 0..5 {
        for nth_place in 0..2 {
            let again = EnteringAgain::new(backup);
            let (end, place) = (again.end_events()[nth_end], again.places(None)[nth_place]);
            again.entry.put(1, end).await;
            let outcome = again.entry.put(2, place).await;
            assert!(
                matches!(outcome, PutOutcome::Stored(_)),
                "{end:?}, then {place:?}: {outcome:?}"
            );
            let record = outcome.record();
            assert_eq!((record.visit(), record.ended_at_ms), (again.new.visit(), None));
        }
    }
}

/// The change that ended the earlier visit has not reached the backup yet.
async fn new_place_is_stored_if_the_line_knows_of_the_end(backup: &dyn Backup) {
    for nth_event in 0..6 {
        for nth_place in 0..2 {
            let again = EnteringAgain::new(backup);
            let known_visit = Some(again.old.visit());
            let place = again.places(known_visit)[nth_place];
            let events = again.live_events();
            let stored = events.get(nth_event).copied();
            let stored = stored.unwrap_or_else(|| again.missed_turn());
            again.entry.put(1, stored).await;
            let outcome = again.entry.put(2, place).await;
            assert!(
                matches!(outcome, PutOutcome::Stored(_)),
                "{stored:?}, then {place:?}: {outcome:?}"
            );
        }
    }
}

/// A line that lost its last arrivals, or a new primary with a slower clock, gives such a place.
async fn place_below_the_stored_visit_changes_nothing(backup: &dyn Backup) {
    for nth_event in 0..10 {
        let again = EnteringAgain::new(backup);
        let events = [again.live_events(), again.end_events()].concat();
        again.entry.put(1, events[nth_event]).await;
        let record = again.entry.record().await.expect("a record");
        let earlier = WaitScore::next(0, again.old.joined_at_ms() - 1_000);
        for after in [None, Some(again.old.visit())] {
            let place = Event::Entered {
                place: earlier,
                after,
            };
            assert_eq!(
                again.entry.put(100, place).await,
                PutOutcome::Superseded(record.clone()),
                "{:?}, then {place:?}",
                events[nth_event]
            );
        }
    }
}

async fn visitor_comes_back_once_to_the_old_place(backup: &dyn Backup) {
    let again = EnteringAgain::new(backup);
    let (entry, place) = (&again.entry, again.old);
    let events = again.live_events();
    entry.put(1, events[0]).await;
    entry.put(2, events[1]).await;
    entry.put(3, again.missed_turn()).await;
    let refused = entry.put(4, again.places(None)[0]).await;
    assert!(matches!(refused, PutOutcome::VisitContinues(_)), "{refused:?}");

    let returned = entry.put(5, Event::CameBack { place }).await;
    let record = returned.record();
    assert!(matches!(returned, PutOutcome::Stored(_)), "{returned:?}");
    assert_eq!((record.state, record.score), (EntryState::Waiting, Some(place)));
    assert_eq!(
        (record.promoted_at_ms, record.expires_at_ms, record.ended_at_ms),
        (None, None, None)
    );
    assert!(
        record.delete_at_ms > now_ms() + 25 * 3_600_000,
        "the record is kept as long as that of any waiting entry"
    );
    // The repeated return, and a line that did not hear of it and ends the first turn once more, change nothing.
    for repeated in [Event::CameBack { place }, again.missed_turn()] {
        let outcome = entry.put(6, repeated).await;
        assert_eq!(outcome, PutOutcome::Superseded(record.clone()), "{repeated:?}");
    }

    entry.put(7, events[3]).await;
    entry.put(8, no_show(again.ready(Turn::Second))).await;
    let new = entry.put(9, again.places(None)[0]).await;
    assert!(
        matches!(new, PutOutcome::Stored(_)),
        "a second missed turn gives no old place: {new:?}"
    );
}

async fn concurrent_returns_to_the_old_place_are_stored_once(backup: &dyn Backup) {
    let again = EnteringAgain::new(backup);
    again.entry.put(1, again.missed_turn()).await;
    let place = again.old;
    let changes: Vec<_> = (2..12)
        .map(|v| change(again.entry.id, v, Event::CameBack { place }))
        .collect();
    let all = changes.iter().map(|change| again.entry.put_unchecked(change));
    let outcomes = futures_util::future::join_all(all).await;
    let record = again.entry.record().await.expect("a record");
    let stored_count = outcomes
        .iter()
        .filter(|outcome| matches!(outcome, PutOutcome::Stored(_)));
    assert_eq!(stored_count.count(), 1, "{outcomes:?}");
    for outcome in &outcomes {
        assert_eq!(outcome.record(), &record);
    }
}
