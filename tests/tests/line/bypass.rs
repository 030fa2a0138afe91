//! A bypass: the shop's own test visitors are admitted past the line, as long as a slot is free.

use vestibule_domain::{
    change::Event,
    pace::LimitedBy,
    settings::{Entrance, ReEntry, Settings},
    state::EntryState,
};
use vestibule_line::{Arrival, EnterOutcome, JoinKind, JournalLimits, LeaveReason, NotFound, Refusal};
use vestibule_tests::lines::{JoinedEntry, Subject, visitor};

use crate::{
    presence::{CALL_SECONDS, counts, make_room, wait_in_full_queue},
    settings::{bounded, in_turn},
};

/// One promotion in an hour, so that a second admission must have another reason.
fn slow(capacity: u32) -> Settings {
    in_turn(bounded(capacity, 1, 3_600))
}

async fn arrive(subject: &Subject, number: u64, arrival: Arrival) -> EnterOutcome {
    let entered = subject.line.enter(&subject.queue, visitor(number), arrival).await;
    entered.expect("enter")
}

/// Enters as a test visitor of the shop.
async fn bypass(subject: &Subject, number: u64) -> JoinedEntry {
    match arrive(subject, number, Arrival::Bypass).await {
        EnterOutcome::Joined { kind, status, change } => JoinedEntry { kind, status, change },
        refused @ EnterOutcome::Refused(_) => panic!("{refused:?}"),
    }
}

async fn expect_balanced(subject: &Subject) {
    let view = subject.view().await;
    assert_eq!(
        view.totals
            .compute_imbalance(view.waiting + view.ready + view.active),
        0
    );
}

pub(crate) async fn a_bypass_admits_past_the_line_while_a_slot_is_free(mut subject: Subject) {
    subject.open(slow(5)).await;
    for number in 1..=10 {
        subject.enter(visitor(number)).await;
    }
    let before = subject.view().await;
    assert_eq!(
        (before.active, before.waiting),
        (1, 9),
        "the fast track took the token"
    );
    for number in 11..=14 {
        let entered = bypass(&subject, number).await;
        assert_eq!(
            (entered.kind, entered.status.state()),
            (JoinKind::NewVisit, EntryState::Active)
        );
        let event = entered.change.expect("a new visit").event;
        assert!(matches!(event, Event::FastTracked { .. }), "{event:?}");
    }
    // The fifth one finds no slot, and lines up like all others.
    let entered = bypass(&subject, 15).await;
    assert_eq!(entered.status.state(), EntryState::Waiting);
    assert_eq!(subject.position(visitor(15)).await, 10);
    let view = subject.view().await;
    assert_eq!((view.active, view.waiting, view.taken_slots()), (5, 10, 5));
    assert_eq!((view.totals.fast_tracked, view.totals.bypassed), (1, 4));
    assert_eq!(view.totals.entered, 15);
    assert_eq!(view.bucket, before.bucket, "no token is spent");
    expect_balanced(&subject).await;
    // Those in line have lost nothing but time: they are promoted in order as soon as there is room.
    subject.leave(visitor(11), LeaveReason::Complete).await;
    subject.advance_seconds(3_600);
    assert_eq!(subject.tick().await.promoted, 1);
    assert_eq!(subject.state(visitor(2)).await, EntryState::Ready);
}

pub(crate) async fn a_bypass_counts_held_and_ready_slots(mut subject: Subject) {
    subject.open(slow(3)).await;
    subject.line_up(1..=2).await;
    assert_eq!(subject.tick().await.promoted, 1);
    bypass(&subject, 11).await;
    bypass(&subject, 12).await;
    subject.leave(visitor(11), LeaveReason::Leave).await;
    let view = subject.view().await;
    assert_eq!((view.ready, view.active, view.held), (1, 1, 1));
    assert_eq!(bypass(&subject, 13).await.status.state(), EntryState::Waiting);
    // The own held slot is taken back, as by every visitor.
    let back = bypass(&subject, 11).await;
    assert_eq!(
        (back.kind, back.status.state()),
        (JoinKind::TookBack, EntryState::Active)
    );
    let view = subject.view().await;
    assert_eq!((view.taken_slots(), view.totals.bypassed), (3, 2));
}

pub(crate) async fn a_bypass_ignores_every_switch(mut subject: Subject) {
    subject.open(slow(100)).await;
    subject.change_settings(|settings| settings.paused = true).await;
    assert_eq!(bypass(&subject, 1).await.status.state(), EntryState::Active);
    for (number, entrance) in [(2, Entrance::Draining), (3, Entrance::Closed)] {
        subject
            .change_settings(|settings| settings.entrance = entrance)
            .await;
        assert_eq!(bypass(&subject, number).await.status.state(), EntryState::Active);
    }
    // Without a free slot, the ordinary rules count.
    subject.change_settings(|settings| settings.capacity = 3).await;
    assert_eq!(
        arrive(&subject, 4, Arrival::Bypass).await,
        EnterOutcome::Refused(Refusal::Closed)
    );
    subject
        .change_settings(|settings| (settings.entrance, settings.capacity) = (Entrance::Finished, 100))
        .await;
    assert_eq!(
        arrive(&subject, 4, Arrival::Bypass).await,
        EnterOutcome::Refused(Refusal::Finished),
        "a bypass opens no queue that is over"
    );
    assert_eq!(subject.view().await.totals.bypassed, 3);
}

pub(crate) async fn a_bypass_ignores_a_full_journal(subject: Subject) {
    let mut subject = subject.with_journal_limits(JournalLimits {
        new_entries: 0,
        ..JournalLimits::default()
    });
    subject.open(slow(1)).await;
    subject.tick().await;
    assert_eq!(
        arrive(&subject, 1, Arrival::Ordinary).await,
        EnterOutcome::Refused(Refusal::JournalFull)
    );
    assert_eq!(bypass(&subject, 1).await.status.state(), EntryState::Active);
    assert_eq!(
        arrive(&subject, 2, Arrival::Bypass).await,
        EnterOutcome::Refused(Refusal::JournalFull)
    );
}

pub(crate) async fn no_bypass_while_the_clocks_are_apart(mut subject: Subject) {
    subject.open(slow(100)).await;
    let wrong = subject.with_caller_clock_off_by_ms(3_600_000);
    assert_eq!(bypass(&wrong, 1).await.status.state(), EntryState::Waiting);
    let view = subject.view().await;
    assert_eq!((view.waiting, view.totals.bypassed), (1, 0));
}

pub(crate) async fn a_waiting_visitor_passes_the_line_in_the_same_visit(mut subject: Subject) {
    let settings = Settings {
        re_entry: ReEntry::Requeue,
        ..bounded(4, 1, 3_600)
    };
    subject.open(settings).await;
    subject.line_up(1..=20).await;
    subject.tick().await;
    let visit = subject.status(visitor(15)).await.visit();
    let admitted = bypass(&subject, 15).await;
    assert_eq!(
        (admitted.kind, admitted.status.state(), admitted.status.visit()),
        (JoinKind::Kept, EntryState::Active, visit)
    );
    let event = admitted.change.expect("a change").event;
    assert!(
        matches!(event, Event::Claimed { visit: claimed, .. } if claimed == visit),
        "{event:?}"
    );
    let view = subject.view().await;
    assert_eq!(
        (view.totals.entered, view.totals.bypassed, view.totals.claimed),
        (20, 1, 0)
    );
    assert_eq!((view.waiting, view.active, view.present), (18, 1, 18));
    expect_balanced(&subject).await;
    // Entering again changes nothing: the visitor is active.
    let again = bypass(&subject, 15).await;
    assert_eq!((again.kind, again.status), (JoinKind::Kept, admitted.status));
    assert_eq!(subject.view().await.totals.bypassed, 1);
    // A ready visitor has a slot already.
    assert_eq!(bypass(&subject, 1).await.status.state(), EntryState::Ready);
    let end = subject.leave(visitor(15), LeaveReason::Complete).await;
    assert_eq!(end.event.visit(), visit);
    assert!(matches!(
        subject.expect_not_found(visitor(15)).await,
        NotFound::Ended(_)
    ));
}

pub(crate) async fn an_absent_visitor_passes_the_line(mut subject: Subject) {
    wait_in_full_queue(&mut subject, 5, &[], CALL_SECONDS + 1).await;
    make_room(&mut subject).await;
    assert_eq!(counts(&subject).await, (0, 0, 5));
    assert_eq!(bypass(&subject, 3).await.status.state(), EntryState::Active);
    assert_eq!(counts(&subject).await, (0, 0, 4));
    let tick = subject.tick().await;
    assert_eq!((tick.promoted, tick.limited_by), (0, LimitedBy::Line));
    expect_balanced(&subject).await;
}

pub(crate) async fn concurrent_bypasses_never_exceed_the_capacity(mut subject: Subject) {
    const CAPACITY: u32 = 25;
    subject.open(slow(CAPACITY)).await;
    subject.line_up(1..=10).await;
    let mut callers = tokio::task::JoinSet::new();
    for caller in 0..8 {
        let (line, queue) = (subject.line.clone(), subject.queue.clone());
        callers.spawn(async move {
            let mut admitted = 0;
            for number in 0..10 {
                let id = visitor(100 + caller * 10 + number);
                let entered = line.enter(&queue, id, Arrival::Bypass).await.expect("enter");
                if let EnterOutcome::Joined { status, .. } = entered {
                    admitted += u64::from(status.state() == EntryState::Active);
                }
            }
            admitted
        });
    }
    let admitted: u64 = callers.join_all().await.into_iter().sum();
    let view = subject.view().await;
    assert_eq!((admitted, view.active), (CAPACITY.into(), CAPACITY.into()));
    assert_eq!(
        (view.waiting, view.totals.bypassed),
        (10 + 80 - u64::from(CAPACITY), CAPACITY.into())
    );
}
