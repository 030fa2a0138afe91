//! Who drives a queue: its promoter, and where that is away, one of those who call.

use std::time::Duration;

use futures_util::future::join_all;
use vestibule_domain::{settings::Settings, state::EntryState};
use vestibule_line::{FallbackTickOrder, LeaveReason, PromoteOrder, ReportOutcome};
use vestibule_tests::lines::{Subject, tick_order, visitor};

use crate::report::EACH_10_SECONDS;

const ORDER: FallbackTickOrder = FallbackTickOrder {
    promoter_down_after_ms: 3_000,
    every_ms: 900,
};

fn two_each_second() -> Settings {
    Settings {
        capacity: 100,
        batch: 2,
        interval_seconds: 1,
        ..Settings::default()
    }
}

async fn takes_a_tick(subject: &Subject) -> bool {
    subject
        .line
        .take_fallback_tick(&subject.queue, ORDER)
        .await
        .expect("take a tick")
}

async fn rests(subject: &Subject) -> bool {
    subject
        .line
        .park_idle_promoter(&subject.queue)
        .await
        .expect("rest")
}

pub(crate) async fn one_of_all_who_ask_gets_a_tick(mut subject: Subject) {
    subject.open(two_each_second()).await;
    for second in 0..5 {
        let asked = join_all((0..20).map(|_| takes_a_tick(&subject))).await;
        let given = asked.into_iter().filter(|given| *given).count();
        assert_eq!(given, 1, "in the {second}. second");
        let view = subject.view().await;
        assert_eq!(view.fallback_ticked_at_ms, subject.clock.now_ms());
        assert_eq!(view.heartbeat_ms, 0, "that is the promoter's own");
        subject.advance_ms(899);
        assert!(!takes_a_tick(&subject).await);
        subject.advance_ms(1);
    }
}

pub(crate) async fn nobody_gets_one_while_the_promoter_is_there(mut subject: Subject) {
    subject.open(two_each_second()).await;
    subject.tick().await;
    for _ in 0..29 {
        subject.advance_ms(100);
        assert!(!takes_a_tick(&subject).await);
    }
    subject.advance_ms(100);
    assert!(takes_a_tick(&subject).await, "three seconds without a heartbeat");
    subject.advance_ms(900);
    assert!(takes_a_tick(&subject).await);
    subject.tick().await;
    subject.advance_ms(900);
    assert!(!takes_a_tick(&subject).await, "it is back");
}

pub(crate) async fn ticks_that_others_take_hide_no_promoter_that_is_away(mut subject: Subject) {
    subject.open(two_each_second()).await;
    subject.line_up(1..=3).await;
    subject.tick().await;
    subject
        .line
        .take_report(&subject.queue, EACH_10_SECONDS)
        .await
        .expect("report");
    for _ in 0..100 {
        subject.advance_seconds(1);
        takes_a_tick(&subject).await;
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
    assert_eq!(subject.view().await.totals.promoted, 3, "they move on");
    subject.tick().await;
    let reported = subject.line.take_report(&subject.queue, EACH_10_SECONDS).await;
    assert!(matches!(reported.expect("report"), ReportOutcome::Due(report) if report.tick_age_ms == 100_000));
}

pub(crate) async fn a_clock_that_goes_back_keeps_nobody_from_driving(mut subject: Subject) {
    subject.open(two_each_second()).await;
    subject.advance_seconds(100);
    assert!(takes_a_tick(&subject).await);
    subject.clock.set_back(Duration::from_mins(1));
    assert!(takes_a_tick(&subject).await);
    assert!(!takes_a_tick(&subject).await, "and then each second again");
}

pub(crate) async fn a_caller_whose_clock_is_apart_gets_none(mut subject: Subject) {
    subject.open(two_each_second()).await;
    for off_ms in [3_600_000, -3_600_000] {
        let off = subject.with_caller_clock_off_by_ms(off_ms);
        assert!(!takes_a_tick(&off).await, "it would promote nobody");
    }
    assert!(
        takes_a_tick(&subject).await,
        "nor does it keep the others from theirs"
    );
}

pub(crate) async fn a_promoter_rests_where_nobody_is_and_the_next_call_drives(mut subject: Subject) {
    subject.open(two_each_second()).await;
    subject.tick().await;
    assert!(!takes_a_tick(&subject).await);
    assert!(rests(&subject).await);
    assert_eq!(subject.view().await.heartbeat_ms, 0);
    assert!(takes_a_tick(&subject).await, "at once");
    // What it did not tick meanwhile, nobody missed.
    subject.advance_seconds(600);
    subject.tick().await;
    let reported = subject.line.take_report(&subject.queue, EACH_10_SECONDS).await;
    assert!(matches!(reported.expect("report"), ReportOutcome::Due(report) if report.tick_age_ms == 0));
}

pub(crate) async fn a_promoter_does_not_rest_while_anybody_is_there(mut subject: Subject) {
    subject.open(two_each_second()).await;
    subject.line_up(1..=1).await;
    let at_ms = subject.clock.now_ms();
    let id = visitor(1);
    for state in [EntryState::Waiting, EntryState::Ready, EntryState::Active] {
        assert_eq!(subject.state(id).await, state);
        assert!(!rests(&subject).await, "{state:?}");
        match state {
            EntryState::Waiting => assert_eq!(subject.tick().await.promoted, 1),
            EntryState::Ready => drop(subject.claim(id).await),
            _ => drop(subject.leave(id, LeaveReason::Complete).await),
        }
    }
    assert!(!rests(&subject).await, "the journal has its promotion");
    assert_eq!(subject.view().await.heartbeat_ms, at_ms, "nothing changed");
    subject.acknowledge_journal(&[id]).await;
    assert!(rests(&subject).await);
}
