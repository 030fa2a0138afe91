//! Held slots: a visitor who leaves or is evicted keeps the slot taken while a pass can still be shown.

use vestibule_domain::{
    change::{EndReason, Event},
    entry_status::EntryStatus,
    fact::Fact,
    score::Visit,
    settings::{Entrance, Passes, Settings},
    state::EntryState,
};
use vestibule_line::{
    AdoptBasis, AdoptOutcome, ConfigureOutcome, EntryLookup, JoinKind, LeaveOutcome, LeaveReason, NotFound,
    RestoredEntries,
};
use vestibule_tests::lines::{Subject, visitor};

use crate::{
    adopt::{adopt, ended_record},
    missing::{expect_end, unknown},
    restore::configuration_of_epoch,
    settings::bounded,
};

/// `session_seconds`, as the default has it.
const SESSION_MS: u64 = 300_000;

/// A queue with two slots, both of them taken by visitors 1 and 2. Visitor 3 waits.
async fn open_full(subject: &mut Subject, settings: Settings) {
    subject.open(settings).await;
    for number in 1..=3 {
        subject.enter(visitor(number)).await;
    }
    let view = subject.view().await;
    assert_eq!((view.waiting, view.active), (1, 2));
}

fn two_slots() -> Settings {
    Settings {
        presence_seconds: 0,
        ..bounded(2, 2, 1)
    }
}

async fn taken(subject: &Subject) -> (u64, u64, u64) {
    let view = subject.view().await;
    (view.ready, view.active, view.held)
}

/// Ends the visit of this visitor. Returns its fact.
async fn leave(subject: &Subject, number: u64, reason: LeaveReason) -> Fact {
    subject.leave(visitor(number), reason).await.fact()
}

pub(crate) async fn a_slot_is_held_until_the_session_would_have_ended(subject: Subject) {
    for (reason, how) in [
        (LeaveReason::Leave, EndReason::Left),
        (LeaveReason::Evict, EndReason::Evicted),
    ] {
        let mut subject = subject.sibling();
        open_full(&mut subject, two_slots()).await;
        let session_end_ms = subject.clock.now_ms() + SESSION_MS;
        subject.advance_seconds(20);
        let visit = subject.status(visitor(1)).await.visit();
        let end = subject.leave(visitor(1), reason).await;
        let fact = Fact::held(visit, session_end_ms);
        assert_eq!(end.event, Event::Ended { fact, how });
        assert_eq!(subject.tick().await.promoted, 0, "no slot is free");
        assert_eq!(taken(&subject).await, (0, 1, 1));

        // Visitor 2 leaves the slot later. Both become free with their sessions.
        subject.advance_ms(SESSION_MS - 20_000 - 1);
        assert_eq!(subject.tick().await.promoted, 0);
        subject.advance_ms(1);
        assert_eq!(subject.tick().await.promoted, 1);
        assert_eq!(taken(&subject).await, (1, 0, 0));
        let totals = subject.view().await.totals;
        assert_eq!(totals.left + totals.evicted, 1);
    }
}

pub(crate) async fn a_slot_is_held_until_the_last_pass_has_ended(mut subject: Subject) {
    let settings = Settings {
        pass_seconds: 60,
        ..two_slots()
    };
    open_full(&mut subject, settings).await;
    let now_ms = subject.clock.now_ms();
    assert_eq!(
        leave(&subject, 1, LeaveReason::Leave).await.step_ms,
        now_ms + 60_000
    );
    subject.advance_seconds(59);
    assert_eq!(subject.tick().await.promoted, 0);
    subject.advance_seconds(1);
    assert_eq!(subject.tick().await.promoted, 1);

    // A pass never outlasts its session, so neither does the slot.
    subject.advance_seconds(200);
    let held = leave(&subject, 2, LeaveReason::Leave).await;
    assert_eq!(held.step_ms, now_ms + SESSION_MS);
}

pub(crate) async fn a_shorter_pass_does_not_free_slots_of_earlier_passes(mut subject: Subject) {
    open_full(&mut subject, two_slots()).await;
    let session_end_ms = subject.clock.now_ms() + SESSION_MS;
    subject
        .change_settings(|settings| settings.pass_seconds = 10)
        .await;
    let held = leave(&subject, 1, LeaveReason::Leave).await;
    assert_eq!(
        held.step_ms, session_end_ms,
        "the first pass was for the whole session"
    );

    // From now on passes end after 10 s, and those of 100 s that were issued before end after 102 s at the latest.
    subject.advance_ms(SESSION_MS + 10_000);
    subject.tick().await;
    subject
        .change_settings(|settings| settings.pass_seconds = 100)
        .await;
    subject
        .change_settings(|settings| settings.pass_seconds = 10)
        .await;
    let changed_at_ms = subject.clock.now_ms();
    subject.claim(visitor(3)).await;
    subject.advance_seconds(20);
    let held = leave(&subject, 3, LeaveReason::Leave).await;
    assert_eq!(held.step_ms, changed_at_ms + 102_000);
}

pub(crate) async fn a_visitor_takes_back_the_own_slot(mut subject: Subject) {
    open_full(&mut subject, two_slots()).await;
    let session_end_ms = subject.clock.now_ms() + SESSION_MS;
    for (number, entrance) in [
        (1, Entrance::Open),
        (2, Entrance::Draining),
        (1, Entrance::Closed),
    ] {
        subject
            .change_settings(|settings| {
                // Neither the pace nor the capacity has room.
                (settings.entrance, settings.capacity) = (entrance, 1);
            })
            .await;
        subject.advance_seconds(10);
        let left = leave(&subject, number, LeaveReason::Leave).await;
        let entered = subject.enter(visitor(number)).await;
        let EntryStatus::Active {
            visit,
            session_end_ms: until_ms,
            ..
        } = entered.status
        else {
            panic!("{entered:?}")
        };
        assert_eq!((entered.kind, until_ms), (JoinKind::TookBack, session_end_ms));
        assert!(visit > left.visit, "a new visit");
        let Some(Event::FastTracked { after, .. }) = entered.change.map(|change| change.event) else {
            panic!("{:?}", entered.change)
        };
        assert_eq!(after, Some(left.visit));
        assert_eq!(taken(&subject).await, (0, 2, 0), "no visitor has two slots");
        // Entering once more changes nothing.
        let again = subject.enter(visitor(number)).await;
        assert_eq!((again.kind, again.status.visit()), (JoinKind::Kept, visit));
    }
    assert_eq!(subject.view().await.totals.entered, 6);
}

pub(crate) async fn a_slot_that_is_free_is_not_taken_back(mut subject: Subject) {
    open_full(&mut subject, two_slots()).await;
    leave(&subject, 1, LeaveReason::Leave).await;
    // The session has ended, and no tick has freed the slot yet.
    subject.advance_ms(SESSION_MS);
    let entered = subject.enter(visitor(1)).await;
    assert_eq!(
        (entered.kind, entered.status.state()),
        (JoinKind::NewVisit, EntryState::Waiting)
    );
    assert_eq!(taken(&subject).await.2, 0);
    subject.tick().await;
    assert_eq!(subject.state(visitor(3)).await, EntryState::Ready);
    assert_eq!(subject.state(visitor(1)).await, EntryState::Ready);
}

pub(crate) async fn the_service_frees_a_held_slot(mut subject: Subject) {
    open_full(&mut subject, two_slots()).await;
    let left = leave(&subject, 1, LeaveReason::Leave).await;
    let complete = |visit: Option<Visit>| {
        let line = subject.line.clone();
        let queue = subject.queue.clone();
        async move {
            line.leave(&queue, visitor(1), visit, LeaveReason::Complete)
                .await
                .expect("leave")
        }
    };
    let other = Visit::new(left.visit.number() + 1);
    assert_eq!(complete(other).await, LeaveOutcome::OtherVisit);
    // The backup has the end of the visit, and the line does not remember it any more.
    subject.acknowledge_journal(&[visitor(1)]).await;
    subject.advance_seconds(30);
    subject.tick().await;
    let LeaveOutcome::Ended(end) = complete(Some(left.visit)).await else {
        panic!("the slot is held")
    };
    assert_eq!(
        end.event,
        Event::Ended {
            fact: Fact::ended(left.visit),
            how: EndReason::Left
        }
    );
    assert_eq!(taken(&subject).await, (0, 1, 0));
    assert_eq!(complete(None).await, LeaveOutcome::NotFound(NotFound::Ended(end)));
    assert_eq!(subject.tick().await.promoted, 1);
    let totals = subject.view().await.totals;
    assert_eq!((totals.left, totals.completed), (1, 0), "the visit counts once");
}

pub(crate) async fn with_online_passes_a_slot_is_free_at_once(mut subject: Subject) {
    let settings = Settings {
        passes: Passes::Online,
        ..two_slots()
    };
    open_full(&mut subject, settings).await;
    let visit = subject.status(visitor(1)).await.visit();
    assert_eq!(leave(&subject, 1, LeaveReason::Leave).await, Fact::ended(visit));
    subject.advance_seconds(1);
    assert_eq!(subject.tick().await.promoted, 1);
}

pub(crate) async fn a_restore_holds_the_slots(mut subject: Subject) {
    open_full(&mut subject, two_slots()).await;
    let visit = subject.status(visitor(1)).await.visit();
    let until_ms = subject.clock.now_ms() + SESSION_MS;
    let held = Fact::held(visit, until_ms);
    let record = ended_record(&subject, 1, held, EndReason::Evicted).await;
    let rebuilt = subject.sibling();
    let places: RestoredEntries = [&record].into_iter().collect();
    let configuration = configuration_of_epoch(&subject, 2);
    let restored = rebuilt
        .line
        .restore(&rebuilt.queue, &configuration, 0, places)
        .await;
    assert_eq!(restored.expect("restore"), ConfigureOutcome::Created);
    assert_eq!(taken(&rebuilt).await, (0, 0, 1));
    let entered = rebuilt.enter(visitor(1)).await;
    assert_eq!(entered.kind, JoinKind::TookBack);
    assert!(entered.status.visit() > visit);
}

/// The line had lost the visit whose slot is held, and knows the end of an earlier one, or an earlier end.
pub(crate) async fn a_restored_slot_counts_more_than_an_earlier_end(subject: Subject) {
    for is_same_visit in [true, false] {
        let mut subject = subject.sibling();
        open_full(&mut subject, two_slots()).await;
        let visit = subject.status(visitor(1)).await.visit();
        subject.advance_ms(SESSION_MS);
        subject.tick().await;
        let later = Visit::new(visit.number() + u64::from(!is_same_visit)).expect("a visit");
        let held = Fact::held(later, subject.clock.now_ms() + 5_000);
        let record = ended_record(&subject, 1, held, EndReason::Left).await;
        let configuration = configuration_of_epoch(&subject, 2);
        let places: RestoredEntries = [&record].into_iter().collect();
        let restored = subject
            .line
            .restore(&subject.queue, &configuration, 0, places)
            .await;
        assert_eq!(restored.expect("restore"), ConfigureOutcome::Created);
        // The backup has the rest.
        assert_eq!(
            subject.lookup(visitor(1)).await,
            EntryLookup::NotFound(unknown(&subject))
        );
        let completed = subject.leave(visitor(1), LeaveReason::Complete).await;
        assert_eq!(completed.fact(), Fact::ended(later));
        assert_eq!(expect_end(&subject, 1).await.fact(), Fact::ended(later));
    }
}

pub(crate) async fn a_record_with_a_held_slot_is_taken_over(subject: Subject) {
    // The line lost the departure, or has never known the entry.
    for is_known in [true, false] {
        let mut subject = subject.sibling();
        open_full(&mut subject, two_slots()).await;
        let now_ms = subject.clock.now_ms();
        let visit = subject.status(visitor(1)).await.visit();
        let (number, basis) = if is_known {
            (1, AdoptBasis::Known)
        } else {
            (9, AdoptBasis::UnknownAt(now_ms))
        };
        let held = Fact::held(visit, now_ms + 60_000);
        let record = ended_record(&subject, number, held, EndReason::Left).await;
        let adopted = adopt(&subject, number, Some(record), basis).await;
        assert_eq!(
            adopted,
            AdoptOutcome::Ended {
                change: None,
                has_removed: is_known
            }
        );
        assert_eq!(expect_end(&subject, number).await.fact(), held);
        assert_eq!(taken(&subject).await, (0, 2 - u64::from(is_known), 1));
        subject.advance_seconds(60);
        subject.tick().await;
        assert_eq!(taken(&subject).await.2, 0);
    }
}
