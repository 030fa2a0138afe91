//! Who ticks a queue: its promoter, or a caller by a fallback tick while the promoter is down. Also parking the
//! promoter of an empty queue.

use std::time::Duration;

use futures_util::future::join_all;
use vestibule_domain::{settings::Settings, state::EntryState};
use vestibule_line::{FallbackTickOrder, LeaveReason, PromoteOrder, ReportOutcome};
use vestibule_tests::lines::{Subject, tick_order, visitor};

use crate::{reports::EACH_10_SECONDS, settings::bounded};

const ORDER: FallbackTickOrder = FallbackTickOrder {
    promoter_down_after_ms: 3_000,
    every_ms: 900,
};

fn two_a_second() -> Settings {
    bounded(100, 2, 1)
}

async fn take_fallback_tick(subject: &Subject) -> bool {
    subject
        .line
        .take_fallback_tick(&subject.queue, ORDER)
        .await
        .expect("take_fallback_tick")
}

async fn park_promoter(subject: &Subject) -> bool {
    subject
        .line
        .park_idle_promoter(&subject.queue)
        .await
        .expect("park_idle_promoter")
}

pub(crate) async fn one_of_many_callers_gets_the_fallback_tick(mut subject: Subject) {
    subject.open(two_a_second()).await;
    for second in 0..5 {
        let asked = join_all((0..20).map(|_| take_fallback_tick(&subject))).await;
        let given = asked.into_iter().filter(|given| *given).count();
        assert_eq!(given, 1, "one caller gets the tick of second {second}");
        let view = subject.view().await;
        assert_eq!(view.fallback_ticked_at_ms, subject.clock.now_ms());
        assert_eq!(view.heartbeat_ms, 0, "a fallback tick is no heartbeat");
        subject.advance_ms(899);
        assert!(!take_fallback_tick(&subject).await);
        subject.advance_ms(1);
    }
}

pub(crate) async fn no_fallback_tick_is_given_while_the_promoter_runs(mut subject: Subject) {
    subject.open(two_a_second()).await;
    subject.tick().await;
    for _ in 0..29 {
        subject.advance_ms(100);
        assert!(!take_fallback_tick(&subject).await);
    }
    subject.advance_ms(100);
    assert!(
        take_fallback_tick(&subject).await,
        "the promoter is down after three seconds without a heartbeat"
    );
    subject.advance_ms(900);
    assert!(take_fallback_tick(&subject).await);
    subject.tick().await;
    subject.advance_ms(900);
    assert!(!take_fallback_tick(&subject).await, "the promoter is back");
}

pub(crate) async fn fallback_ticks_do_not_hide_a_promoter_that_is_down(mut subject: Subject) {
    subject.open(two_a_second()).await;
    subject.line_up(1..=3).await;
    subject.tick().await;
    subject
        .line
        .take_report(&subject.queue, EACH_10_SECONDS)
        .await
        .expect("report");
    for _ in 0..100 {
        subject.advance_seconds(1);
        take_fallback_tick(&subject).await;
        let order = PromoteOrder {
            is_promoter: false,
            ..tick_order(u64::MAX)
        };
        subject
            .line
            .promote(&subject.queue, order)
            .await
            .expect("promote");
    }
    assert_eq!(
        subject.view().await.totals.promoted,
        3,
        "fallback ticks promote the entries"
    );
    subject.tick().await;
    let reported = subject.line.take_report(&subject.queue, EACH_10_SECONDS).await;
    assert!(matches!(reported.expect("report"), ReportOutcome::Due(report) if report.tick_age_ms == 100_000));
}

pub(crate) async fn a_clock_set_back_does_not_block_fallback_ticks(mut subject: Subject) {
    subject.open(two_a_second()).await;
    subject.advance_seconds(100);
    assert!(take_fallback_tick(&subject).await);
    subject.clock.set_back(Duration::from_secs(4));
    assert!(take_fallback_tick(&subject).await);
    assert!(
        !take_fallback_tick(&subject).await,
        "the next tick is due after a second"
    );
}

pub(crate) async fn a_caller_with_a_wrong_clock_gets_no_fallback_tick(mut subject: Subject) {
    subject.open(two_a_second()).await;
    for error_ms in [3_600_000, -3_600_000] {
        let wrong = subject.with_caller_clock_off_by_ms(error_ms);
        assert!(
            !take_fallback_tick(&wrong).await,
            "this caller's tick would promote no entry"
        );
    }
    assert!(
        take_fallback_tick(&subject).await,
        "the wrong caller takes no tick from the others"
    );
}

pub(crate) async fn an_empty_queue_parks_the_promoter_until_the_next_call(mut subject: Subject) {
    subject.open(two_a_second()).await;
    subject.tick().await;
    assert!(!take_fallback_tick(&subject).await);
    assert!(park_promoter(&subject).await);
    assert_eq!(subject.view().await.heartbeat_ms, 0);
    assert!(
        take_fallback_tick(&subject).await,
        "the fallback tick is due at once"
    );
    // The time without ticks is no outage, because the queue was empty.
    subject.advance_seconds(600);
    subject.tick().await;
    let reported = subject.line.take_report(&subject.queue, EACH_10_SECONDS).await;
    assert!(matches!(reported.expect("report"), ReportOutcome::Due(report) if report.tick_age_ms == 0));
}

pub(crate) async fn a_promoter_is_not_parked_while_an_entry_is_in_the_line(mut subject: Subject) {
    subject.open(two_a_second()).await;
    subject.line_up(1..=1).await;
    let at_ms = subject.clock.now_ms();
    let id = visitor(1);
    for state in [EntryState::Waiting, EntryState::Ready, EntryState::Active] {
        assert_eq!(subject.state(id).await, state);
        assert!(!park_promoter(&subject).await, "{state:?}");
        match state {
            EntryState::Waiting => assert_eq!(subject.tick().await.promoted, 1),
            EntryState::Ready => drop(subject.claim(id).await),
            _ => drop(subject.leave(id, LeaveReason::Complete).await),
        }
    }
    assert!(!park_promoter(&subject).await, "the journal still holds changes");
    assert_eq!(
        subject.view().await.heartbeat_ms,
        at_ms,
        "a refused park changes nothing"
    );
    subject.acknowledge_journal(&[id]).await;
    assert!(park_promoter(&subject).await);
}
