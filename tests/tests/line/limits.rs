//! The limit of the entries in line: whom a full queue refuses, and whom it does not.

use tokio::task::JoinSet;
use vestibule_domain::{
    entry_status::EntryStatus,
    settings::{ReEntry, Settings},
    state::EntryState,
};
use vestibule_line::{Arrival, ConfigureOutcome, EnterOutcome, EntryLookup, JoinKind, LeaveReason, Refusal};
use vestibule_tests::lines::{Subject, visitor};

use crate::{
    presence::{CALL_SECONDS, run_seconds, wait_in_full_queue},
    restore::{configuration_of_epoch, restored_entries},
    settings::{bounded, in_turn},
};

/// One slot, which visitor 1,000 takes, and this limit of the line.
async fn open_full(subject: &mut Subject, queue_limit: u32, settings: Settings) {
    subject
        .open(Settings {
            queue_limit,
            ..settings
        })
        .await;
    let first = subject.enter(visitor(1_000)).await;
    assert_eq!(first.status.state(), EntryState::Active);
    for number in 1..=u64::from(queue_limit) {
        subject.enter(visitor(number)).await;
    }
    assert_eq!(subject.view().await.waiting, u64::from(queue_limit));
}

async fn arrive(subject: &Subject, number: u64, arrival: Arrival) -> EnterOutcome {
    let entered = subject.line.enter(&subject.queue, visitor(number), arrival).await;
    entered.expect("enter")
}

async fn expect_full(subject: &Subject, number: u64) {
    let before = subject.view().await;
    let refused = arrive(subject, number, Arrival::Ordinary).await;
    assert_eq!(
        refused,
        EnterOutcome::Refused(Refusal::QueueFull),
        "visitor {number}"
    );
    assert_eq!(
        subject.view().await,
        before,
        "the refused visitor leaves no trace"
    );
}

async fn expect_joined(subject: &Subject, number: u64, kind: JoinKind) -> EntryState {
    let joined = subject.enter(visitor(number)).await;
    assert_eq!(joined.kind, kind, "visitor {number}");
    joined.status.state()
}

pub(crate) async fn a_script_fills_the_queue_to_its_limit_and_not_beyond(mut subject: Subject) {
    const TASKS: u64 = 8;
    const VISITORS: u64 = 60;
    const LIMIT: u64 = 150;
    // With presence, the first visitors take another way through the scripts than those behind the window.
    for settings in [bounded(1, 1, 3_600), in_turn(bounded(1, 1, 3_600))] {
        subject = subject.sibling();
        subject
            .open(Settings {
                queue_limit: u32::try_from(LIMIT).expect("small"),
                ..settings
            })
            .await;
        subject.enter(visitor(1_000)).await;
        let mut callers = JoinSet::new();
        for task in 0..TASKS {
            let (line, queue) = (subject.line.clone(), subject.queue.clone());
            callers.spawn(async move {
                let (mut joined, mut refused) = (Vec::new(), 0);
                for number in 0..VISITORS {
                    let number = 2_000 + task * VISITORS + number;
                    match line.enter(&queue, visitor(number), Arrival::Ordinary).await {
                        Ok(EnterOutcome::Joined { .. }) => joined.push(number),
                        Ok(EnterOutcome::Refused(Refusal::QueueFull)) => refused += 1,
                        other => panic!("{other:?}"),
                    }
                }
                (joined, refused)
            });
        }
        let (joined, refused): (Vec<_>, Vec<u64>) = callers.join_all().await.into_iter().unzip();
        let joined: Vec<_> = joined.concat();
        assert_eq!(joined.len() as u64, LIMIT);
        assert_eq!(refused.iter().sum::<u64>(), TASKS * VISITORS - LIMIT);
        let view = subject.view().await;
        assert_eq!((view.waiting, view.is_full()), (LIMIT, true));
        assert_eq!(view.totals.entered, LIMIT + 1);
        // All of them are still in line, and each one who leaves makes room for one.
        for number in &joined {
            assert_eq!(
                expect_joined(&subject, *number, JoinKind::Kept).await,
                EntryState::Waiting
            );
        }
        expect_full(&subject, 9_000).await;
        subject.leave(visitor(joined[3]), LeaveReason::Leave).await;
        expect_joined(&subject, 9_000, JoinKind::NewVisit).await;
        expect_full(&subject, 9_001).await;
    }
}

pub(crate) async fn a_full_queue_refuses_only_visitors_without_a_place(mut subject: Subject) {
    open_full(&mut subject, 4, in_turn(bounded(1, 10, 1))).await;
    expect_full(&subject, 50).await;
    // Visitor 1 is ready, 2 active, and 3 and 4 wait; two more take their places.
    subject.change_settings(|settings| settings.capacity = 3).await;
    subject.advance_seconds(1);
    assert_eq!(subject.tick().await.promoted, 2);
    subject.claim(visitor(2)).await;
    expect_joined(&subject, 5, JoinKind::NewVisit).await;
    expect_joined(&subject, 6, JoinKind::NewVisit).await;
    expect_full(&subject, 50).await;
    for (number, state) in [
        (1, EntryState::Ready),
        (2, EntryState::Active),
        (3, EntryState::Waiting),
        (6, EntryState::Waiting),
    ] {
        assert_eq!(
            expect_joined(&subject, number, JoinKind::Kept).await,
            state,
            "visitor {number}"
        );
    }
    // The own slot is taken back.
    subject.leave(visitor(2), LeaveReason::Leave).await;
    assert_eq!(
        expect_joined(&subject, 2, JoinKind::TookBack).await,
        EntryState::Active
    );
    // The backup has a place for this visitor, which the line does not know.
    let returned = arrive(&subject, 51, Arrival::Returning).await;
    assert!(matches!(returned, EnterOutcome::Joined { .. }), "{returned:?}");
    // A visitor who moves to the back takes no further place.
    subject
        .change_settings(|settings| settings.re_entry = ReEntry::Requeue)
        .await;
    expect_joined(&subject, 3, JoinKind::Requeued).await;
    // A visitor whose turn has run out has no place any more.
    subject.advance_seconds(61);
    expect_full(&subject, 1).await;
    // A test visitor of the shop needs a slot, not a place in line.
    let bypass = arrive(&subject, 52, Arrival::Bypass).await;
    assert_eq!(bypass, EnterOutcome::Refused(Refusal::QueueFull));
    subject.change_settings(|settings| settings.capacity = 4).await;
    let bypass = arrive(&subject, 52, Arrival::Bypass).await;
    assert!(
        matches!(
            bypass,
            EnterOutcome::Joined {
                status: EntryStatus::Active { .. },
                ..
            }
        ),
        "{bypass:?}"
    );
}

pub(crate) async fn the_queue_limit_changes_while_the_queue_runs(mut subject: Subject) {
    open_full(&mut subject, 5, in_turn(bounded(1, 10, 1))).await;
    subject.change_settings(|settings| settings.queue_limit = 3).await;
    subject.tick().await;
    assert_eq!(subject.view().await.waiting, 5, "no entry is removed");
    for number in 1..=3 {
        expect_full(&subject, 50).await;
        subject.leave(visitor(number), LeaveReason::Leave).await;
    }
    expect_joined(&subject, 50, JoinKind::NewVisit).await;
    expect_full(&subject, 51).await;
    subject.change_settings(|settings| settings.queue_limit = 4).await;
    expect_joined(&subject, 51, JoinKind::NewVisit).await;
    expect_full(&subject, 52).await;
    subject.change_settings(|settings| settings.queue_limit = 0).await;
    for number in 52..80 {
        expect_joined(&subject, number, JoinKind::NewVisit).await;
    }
    // As soon as a slot and a token are free and no entry waits, the fast track is open, however low the limit.
    subject
        .change_settings(|settings| {
            settings.queue_limit = 1;
            settings.capacity = 1_000;
            settings.batch = 1_000;
        })
        .await;
    subject.advance_seconds(1);
    subject.tick().await;
    subject.advance_seconds(1);
    for number in 80..90 {
        assert_eq!(
            expect_joined(&subject, number, JoinKind::NewVisit).await,
            EntryState::Active
        );
    }
}

pub(crate) async fn a_restore_above_the_queue_limit_keeps_all(mut subject: Subject) {
    subject
        .open(Settings {
            paused: true,
            ..bounded(1, 10, 1)
        })
        .await;
    let mut changes = Vec::new();
    for number in 1..=20 {
        changes.extend(subject.enter(visitor(number)).await.change);
    }
    let mut rebuilt = subject.sibling();
    rebuilt.settings = Settings {
        queue_limit: 5,
        absent_limit: 5,
        paused: false,
        ..subject.settings.clone()
    };
    let restored = rebuilt
        .line
        .restore(
            &rebuilt.queue,
            &configuration_of_epoch(&rebuilt, 2),
            0,
            restored_entries(&changes),
        )
        .await;
    assert_eq!(restored.expect("an answer"), ConfigureOutcome::Created);
    assert_eq!(rebuilt.view().await.waiting, 20);
    expect_full(&rebuilt, 50).await;
    for number in 1..=20 {
        assert_eq!(
            expect_joined(&rebuilt, number, JoinKind::Kept).await,
            EntryState::Waiting
        );
    }
}

/// A script fills a queue and never polls. Its entries keep honest visitors out only until they are judged.
pub(crate) async fn sleeping_fakes_keep_no_queue_full(mut subject: Subject) {
    const FAKES: u64 = 300;
    const HONEST: std::ops::Range<u64> = 5_000..5_020;
    wait_in_full_queue(&mut subject, FAKES, &[], CALL_SECONDS + 1).await;
    subject
        .change_settings(|settings| {
            settings.queue_limit = u32::try_from(FAKES).expect("small");
            settings.absent_limit = 1_000;
        })
        .await;
    for number in HONEST {
        expect_full(&subject, number).await;
    }
    // A slot is free. No fake is there to take it, so all are passed over.
    subject.change_settings(|settings| settings.capacity = 2).await;
    assert_eq!(
        run_seconds(&subject, 2 * CALL_SECONDS, &[]).await,
        0,
        "no fake is promoted"
    );
    let view = subject.view().await;
    assert_eq!((view.absent, view.in_line(), view.is_full()), (FAKES, 0, false));
    let first = expect_joined(&subject, HONEST.start, JoinKind::NewVisit).await;
    assert_eq!(first, EntryState::Active, "no honest visitor is ahead");
    let others: Vec<_> = (HONEST.start + 1..HONEST.end).collect();
    for number in &others {
        expect_joined(&subject, *number, JoinKind::NewVisit).await;
    }
    // They are served in their order. Each one completes the visit at once.
    let mut served = Vec::new();
    for _ in 0..others.len() {
        if let Some(last) = served.last() {
            subject.claim(visitor(*last)).await;
            subject.leave(visitor(*last), LeaveReason::Complete).await;
        } else {
            subject.leave(visitor(HONEST.start), LeaveReason::Complete).await;
        }
        assert_eq!(run_seconds(&subject, 1, &others).await, 1);
        for number in &others {
            if !served.contains(number)
                && matches!(
                    subject.line.status(&subject.queue, visitor(*number)).await,
                    Ok(EntryLookup::Found(EntryStatus::Ready { .. }))
                )
            {
                served.push(*number);
            }
        }
    }
    assert_eq!(served, others);
}
