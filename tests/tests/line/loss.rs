//! A line that lost changes sets a consistency check due: it lacks a tick that a process has seen, or a process left a
//! server.

use vestibule_line::{
    CheckAssignment, LeaveReason, LineHistory, LossSign, PromoteOrder, Promotion, TickMark,
};
use vestibule_tests::lines::{Subject, tick_order, visitor};

use crate::{
    check::{record_progress, take_check},
    settings::{bounded, two_at_a_time},
};

async fn tick_with(subject: &Subject, history: LineHistory) -> Promotion {
    let order = PromoteOrder {
        history,
        ..tick_order(1)
    };
    subject
        .line
        .promote(&subject.queue, order)
        .await
        .expect("promote")
}

/// Ticks as a process that has seen this tick.
async fn tick_after(subject: &Subject, seen: TickMark) -> Promotion {
    let history = LineHistory {
        last_tick: Some(seen),
        has_changed_server: false,
    };
    tick_with(subject, history).await
}

pub(crate) async fn a_lost_tick_sets_a_check_due_at_once(mut subject: Subject) {
    subject.open(two_at_a_time()).await;
    subject.enter(visitor(1)).await;
    let first = subject.tick().await;
    assert_eq!(subject.view().await.last_tick, first.tick);
    let second = tick_after(&subject, first.tick).await;
    assert_eq!(
        (second.tick.ticks, second.loss_sign),
        (first.tick.ticks + 1, None)
    );
    assert!(!second.is_check_due);
    assert!(matches!(
        take_check(&subject).await,
        CheckAssignment::NotDue { .. }
    ));

    // Another process has seen one more tick, which the line lost.
    subject.advance_seconds(1);
    let lost = TickMark {
        ticks: second.tick.ticks + 1,
        at_ms: subject.clock.now_ms(),
        ..second.tick
    };
    let third = tick_after(&subject, lost).await;
    assert_eq!(
        (third.loss_sign, third.is_check_due),
        (Some(LossSign::LostTick), true)
    );
    assert_eq!(subject.view().await.check_due_ms, subject.clock.now_ms());
    let fourth = tick_after(&subject, third.tick).await;
    assert_eq!(
        (fourth.loss_sign, fourth.is_check_due),
        (None, true),
        "it stays due"
    );
    assert_eq!(take_check(&subject).await, CheckAssignment::Due { from_shard: 0 });
    assert!(
        !tick_after(&subject, fourth.tick).await.is_check_due,
        "the check has begun"
    );
    assert_eq!(
        take_check(&subject).await,
        CheckAssignment::NotDue { due_in_ms: 60_000 },
        "one caller runs it"
    );
    record_progress(&subject, 64).await;

    // The same number of ticks, but another one.
    let view = subject.view().await;
    let other = TickMark {
        at_ms: view.last_tick.at_ms - 1,
        ..view.last_tick
    };
    assert_eq!(
        tick_after(&subject, other).await.loss_sign,
        Some(LossSign::LostTick)
    );
    assert_eq!(
        take_check(&subject).await,
        CheckAssignment::NotDue { due_in_ms: 60_000 },
        "at most once a minute"
    );
    subject.advance_seconds(60);
    assert_eq!(take_check(&subject).await, CheckAssignment::Due { from_shard: 0 });
    let earlier_epoch = TickMark {
        epoch: view.last_tick.epoch + 1,
        ticks: 1_000,
        at_ms: 0,
    };
    assert_eq!(
        tick_after(&subject, earlier_epoch).await.loss_sign,
        None,
        "a restore counts anew"
    );
}

pub(crate) async fn a_loss_during_a_check_sets_another_due(mut subject: Subject) {
    subject.open(two_at_a_time()).await;
    let mark = subject.tick().await.tick;
    subject.advance_seconds(301);
    subject.enter(visitor(1)).await;
    assert_eq!(take_check(&subject).await, CheckAssignment::Due { from_shard: 0 });
    record_progress(&subject, 20).await;
    let lost = TickMark {
        ticks: mark.ticks + 9,
        ..mark
    };
    assert!(tick_after(&subject, lost).await.is_check_due);
    assert_eq!(
        take_check(&subject).await,
        CheckAssignment::Due { from_shard: 0 },
        "the shards that were compared may have been lost since"
    );
    assert!(tick_after(&subject, lost).await.is_check_due);
    record_progress(&subject, 64).await;
    assert!(
        subject.tick().await.is_check_due,
        "the end of a check hides no loss"
    );
}

pub(crate) async fn leaving_a_server_sets_a_check_due(mut subject: Subject) {
    subject.open(two_at_a_time()).await;
    let history = LineHistory {
        last_tick: Some(subject.tick().await.tick),
        has_changed_server: true,
    };
    let tick = tick_with(&subject, history).await;
    assert_eq!(
        (tick.loss_sign, tick.is_check_due),
        (Some(LossSign::ChangedServer), true)
    );
}

pub(crate) async fn an_idle_queue_shows_no_loss(mut subject: Subject) {
    subject.open(bounded(2, 2, 1)).await;
    for number in 1..=5 {
        subject.enter(visitor(number)).await;
    }
    subject.claim(visitor(1)).await;
    subject.leave(visitor(2), LeaveReason::Evict).await;
    for _ in 0..20 {
        subject.advance_seconds(30);
        let tick = subject.tick().await;
        assert_eq!((tick.loss_sign, tick.is_check_due), (None, false));
    }
    let view = subject.view().await;
    assert_eq!((view.imbalance.visits, view.imbalance.at_check), (0, 0));
}
