//! The line has the entry, or an end of it.

use vestibule_domain::{
    change::{EndReason, Event},
    entry_status::EntryStatus,
    fact::{Fact, Turn},
    score::WaitScore,
    state::EntryState,
};
use vestibule_line::{AdoptBasis::Known, AdoptOrder, AdoptOutcome, LeaveReason, LineError};
use vestibule_tests::lines::{Subject, fresh_queue, visitor};

use super::{
    adopt, ended_record, expect_live, live_record, missed_turn, open_with_every_state, stored_fact,
    version_of_epoch, write,
};
use crate::{check::stored_entries, missing::expect_end};

pub(crate) async fn a_record_that_agrees_changes_nothing(mut subject: Subject) {
    open_with_every_state(&mut subject).await;
    let left = subject.leave(visitor(4), LeaveReason::Leave).await;
    let view = subject.view().await;
    for number in 1..=3 {
        let record = live_record(&subject, number, stored_fact(&subject, number).await).await;
        let status = subject.status(visitor(number)).await;
        assert_eq!(
            expect_live(adopt(&subject, number, Some(record), Known).await),
            (status, None, false)
        );
    }
    // The deadline of a ready entry moves while the queue is paused, so it is not compared.
    let mut fact = stored_fact(&subject, 2).await;
    fact.step_ms += 9_000;
    let record = live_record(&subject, 2, fact).await;
    let (_, change, has_adopted) = expect_live(adopt(&subject, 2, Some(record), Known).await);
    assert_eq!((change, has_adopted), (None, false));
    let record = ended_record(&subject, 4, left.fact(), EndReason::Left).await;
    assert_eq!(
        adopt(&subject, 4, Some(record), Known).await,
        AdoptOutcome::Ended {
            change: None,
            has_removed: false
        }
    );
    assert_eq!(subject.view().await, view);
}

pub(crate) async fn what_the_backup_lacks_is_reported_again(mut subject: Subject) {
    open_with_every_state(&mut subject).await;
    for number in 1..=4 {
        let (status, fact) = (
            subject.status(visitor(number)).await,
            stored_fact(&subject, number).await,
        );
        let version = subject.view().await.version;
        let (repeated, change, has_adopted) = expect_live(adopt(&subject, number, None, Known).await);
        assert_eq!((repeated, has_adopted), (status, false));
        let change = change.expect("the backup has no record");
        assert!(change.version > version);
        assert_eq!(write(None, &change).fact, fact);
    }
    let left = subject.leave(visitor(4), LeaveReason::Leave).await;
    assert_eq!(
        adopt(&subject, 4, None, Known).await,
        AdoptOutcome::Ended {
            change: Some(left),
            has_removed: false
        },
        "the end keeps its version"
    );
}

pub(crate) async fn an_older_record_gets_what_the_line_knows(mut subject: Subject) {
    open_with_every_state(&mut subject).await;
    let entries = stored_entries(&subject).await;
    let fact = |number| entries[&visitor(number)].fact;
    let (active, ready) = (fact(1), fact(2));
    for (number, older) in [
        (1, Fact::active(active.visit, active.step_ms - 1)),
        (1, Fact::ready(active.visit, Turn::First, active.step_ms + 9_000)),
        (1, missed_turn(&subject, active.visit, 0)),
        (2, Fact::waiting(ready.visit, Turn::First)),
    ] {
        let record = if older.is_live() {
            live_record(&subject, number, older).await
        } else {
            ended_record(&subject, number, older, EndReason::NoShow).await
        };
        let status = subject.status(visitor(number)).await;
        let (kept, change, has_adopted) =
            expect_live(adopt(&subject, number, Some(record.clone()), Known).await);
        assert_eq!((kept, has_adopted), (status, false), "{older:?}");
        let written = write(Some(&record), &change.expect("the record is older"));
        assert_eq!(written.fact, fact(number), "{older:?}");
    }
    // The visitor entered again, and the backup has the end of the visit before.
    let ended = Fact::ended(fact(3).visit);
    subject.leave(visitor(3), LeaveReason::Leave).await;
    let again = subject.enter(visitor(3)).await.status;
    let record = ended_record(&subject, 3, ended, EndReason::Left).await;
    let (status, change, has_adopted) = expect_live(adopt(&subject, 3, Some(record.clone()), Known).await);
    assert_eq!((status, has_adopted), (again, false));
    let written = write(Some(&record), &change.expect("the record is older"));
    assert_eq!(written.fact.visit, again.visit());
}

pub(crate) async fn a_later_state_of_the_record_is_taken_over(mut subject: Subject) {
    open_with_every_state(&mut subject).await;
    let before = subject.view().await.totals;
    // The line lost the promotion of visitor 3. The visitor could not claim, so the claim time begins anew.
    let visit = stored_fact(&subject, 3).await.visit;
    let now_ms = subject.clock.now_ms();
    let claim_by_ms = now_ms + subject.settings.claim_ms();
    let record = live_record(&subject, 3, Fact::ready(visit, Turn::First, now_ms + 1_000)).await;
    let (status, change, has_adopted) = expect_live(adopt(&subject, 3, Some(record), Known).await);
    let ready = EntryStatus::Ready {
        visit,
        claim_by_ms,
        now_ms,
    };
    assert_eq!((status, has_adopted), (ready, true));
    assert_eq!(subject.status(visitor(3)).await, ready);
    let turn = Turn::First;
    let still_ready = Event::StillReady {
        visit,
        turn,
        claim_by_ms,
    };
    assert_eq!(change.map(|change| change.event), Some(still_ready));
    // The line lost the promotion and the claim of visitor 4, and an extension of visitor 1.
    for (number, session_end_ms) in [(4, now_ms + 100_000), (1, now_ms + 900_000)] {
        let visit = stored_fact(&subject, number).await.visit;
        let record = live_record(&subject, number, Fact::active(visit, session_end_ms)).await;
        let active = EntryStatus::Active {
            visit,
            session_end_ms,
            now_ms,
        };
        assert_eq!(
            expect_live(adopt(&subject, number, Some(record), Known).await),
            (active, None, true)
        );
        assert_eq!(subject.status(visitor(number)).await, active);
    }
    let totals = subject.view().await.totals;
    assert_eq!(
        (totals.promoted, totals.claimed),
        (before.promoted, before.claimed + 1)
    );
    // Two more slots are taken than the capacity allows, so no entry is promoted.
    assert_eq!(subject.tick().await.promoted, 0);
}

pub(crate) async fn a_later_visit_of_the_record_is_taken_over(mut subject: Subject) {
    open_with_every_state(&mut subject).await;
    // The line lost that visitor 3 left and entered again, and lost the place of that second visit.
    let place = WaitScore::next(0, subject.clock.now_ms() + 5);
    let fact = Fact::waiting(place.visit(), Turn::First);
    let record = live_record(&subject, 3, fact).await;
    let (status, change, has_adopted) = expect_live(adopt(&subject, 3, Some(record), Known).await);
    let waiting = EntryStatus::Waiting {
        score: place,
        position: 2,
    };
    assert_eq!((status, change, has_adopted), (waiting, None, true));
    assert_eq!(subject.position(visitor(4)).await, 1);
    let next = subject.enter(visitor(5)).await.status;
    assert!(
        next.visit() > place.visit(),
        "new visits are later than every known one"
    );
}

pub(crate) async fn a_later_state_replaces_an_end_in_the_line(mut subject: Subject) {
    open_with_every_state(&mut subject).await;
    // The line lost the claim of visitor 2, and so took the visitor for a no-show.
    let visit = stored_fact(&subject, 2).await.visit;
    let session_end_ms = subject.clock.now_ms() + 300_000;
    subject.advance_seconds(60);
    assert_eq!(subject.tick().await.no_shows, 1);
    let record = live_record(&subject, 2, Fact::active(visit, session_end_ms)).await;
    let (status, change, has_adopted) = expect_live(adopt(&subject, 2, Some(record), Known).await);
    assert_eq!(
        (status.state(), change, has_adopted),
        (EntryState::Active, None, true)
    );
    assert_eq!(subject.unsettled_ends().await, [], "the invented end is gone");
    assert_eq!(subject.view().await.totals.returned, 1);
    subject.leave(visitor(2), LeaveReason::Complete).await;
    // The line lost the next visit of visitor 2 altogether.
    let place = WaitScore::next(0, subject.clock.now_ms() + 5);
    let record = live_record(&subject, 2, Fact::waiting(place.visit(), Turn::First)).await;
    let entered = subject.view().await.totals.entered;
    let (status, _, has_adopted) = expect_live(adopt(&subject, 2, Some(record), Known).await);
    assert_eq!((status.visit(), has_adopted), (place.visit(), true));
    assert_eq!(subject.view().await.totals.entered, entered + 1);
}

pub(crate) async fn an_end_in_the_line_stands_against_an_older_record(mut subject: Subject) {
    open_with_every_state(&mut subject).await;
    let record = live_record(&subject, 3, stored_fact(&subject, 3).await).await;
    let left = subject.leave(visitor(3), LeaveReason::Leave).await;
    let ended = AdoptOutcome::Ended {
        change: Some(left),
        has_removed: false,
    };
    assert_eq!(adopt(&subject, 3, Some(record.clone()), Known).await, ended);
    // The backup has the end by now, and the caller's record is older.
    subject.acknowledge_journal(&[visitor(3)]).await;
    assert_eq!(adopt(&subject, 3, Some(record), Known).await, ended);
    assert_eq!(expect_end(&subject, 3).await, left);
}

pub(crate) async fn a_timed_out_entry_counts_as_ended(mut subject: Subject) {
    open_with_every_state(&mut subject).await;
    let visits = [
        stored_fact(&subject, 1).await.visit,
        stored_fact(&subject, 2).await.visit,
    ];
    subject.advance_seconds(300);
    // No tick has dropped the entries yet.
    let end = expect_end(&subject, 2).await;
    let outcome = adopt(&subject, 2, None, Known).await;
    let AdoptOutcome::Ended {
        change: Some(change),
        has_removed: false,
    } = outcome
    else {
        panic!("{outcome:?}");
    };
    assert_eq!(change.event, end.event);
    assert!(change.version > end.version);
    // The record has a longer session, so the entry goes on.
    let session_end_ms = subject.clock.now_ms() + 1_000;
    let record = live_record(&subject, 1, Fact::active(visits[0], session_end_ms)).await;
    let (status, _, has_adopted) = expect_live(adopt(&subject, 1, Some(record), Known).await);
    assert_eq!((status.state(), has_adopted), (EntryState::Active, true));
    let record = ended_record(&subject, 2, Fact::ended(visits[1]), EndReason::Left).await;
    assert_eq!(
        adopt(&subject, 2, Some(record), Known).await,
        AdoptOutcome::Ended {
            change: None,
            has_removed: false
        }
    );
    // The tick ends neither of them.
    let tick = subject.tick().await;
    assert_eq!((tick.no_shows, tick.expired), (0, 0));
    let totals = subject.view().await.totals;
    assert_eq!((totals.left, totals.no_shows), (1, 0));
}

pub(crate) async fn a_record_of_another_epoch_or_generation_is_rejected(mut subject: Subject) {
    open_with_every_state(&mut subject).await;
    let before = (subject.view().await, stored_entries(&subject).await);
    let visit = stored_fact(&subject, 3).await.visit;
    let mut record = ended_record(&subject, 3, Fact::ended(visit), EndReason::Left).await;
    let order = AdoptOrder {
        id: visitor(3),
        generation: 2,
        record: Some(record.clone()),
        basis: Known,
    };
    let rejected = subject.line.adopt(&subject.queue, &order).await;
    assert_eq!(rejected.expect("adopt"), AdoptOutcome::Rejected);
    record.version = version_of_epoch(2);
    assert_eq!(
        adopt(&subject, 3, Some(record), Known).await,
        AdoptOutcome::Rejected
    );
    assert_eq!((subject.view().await, stored_entries(&subject).await), before);
    let unknown_queue = subject.line.adopt(&fresh_queue(), &order).await;
    assert!(matches!(unknown_queue, Err(LineError::QueueNotFound)));
}
