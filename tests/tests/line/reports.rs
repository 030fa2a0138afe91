//! The periodic report of a queue contains each event once, however many callers ask.

use futures_util::future::join_all;
use vestibule_domain::{entry_status::EntryStatus, lane::Lane, settings::Settings};
use vestibule_line::{Arrival, LeaveReason, QueueEvents, Report, ReportOrder, ReportOutcome};
use vestibule_tests::lines::{Subject, visitor};

use crate::{
    presence::{CALL_SECONDS, make_room, wait_in_full_queue},
    settings::{bounded, in_turn},
};

pub(crate) const EACH_10_SECONDS: ReportOrder = ReportOrder {
    every_ms: 10_000,
    idle_ms: 60_000,
};

fn four_at_a_time() -> Settings {
    in_turn(bounded(100, 4, 10))
}

async fn take_report(subject: &Subject) -> ReportOutcome {
    let reported = subject.line.take_report(&subject.queue, EACH_10_SECONDS).await;
    reported.expect("report")
}

async fn expect_report(subject: &Subject) -> Report {
    match take_report(subject).await {
        ReportOutcome::Due(report) => *report,
        early @ ReportOutcome::NotDue { .. } => panic!("{early:?}"),
    }
}

pub(crate) async fn a_report_counts_events_since_the_last_report(mut subject: Subject) {
    subject.open(four_at_a_time()).await;
    subject.line_up(1..=10).await;
    subject.tick().await; // Visitors 1 to 4 are ready.
    subject.claim(visitor(1)).await;
    subject.claim(visitor(2)).await;
    subject.advance_seconds(8);
    subject.leave(visitor(1), LeaveReason::Complete).await;
    subject.leave(visitor(10), LeaveReason::Leave).await;
    let first = expect_report(&subject).await;
    assert_eq!((first.waiting, first.ready, first.active), (5, 2, 1));
    assert_eq!(first.now_ms, subject.clock.now_ms());
    let events = QueueEvents {
        entered: 10,
        promoted: 4,
        completed: 1,
        left: 1,
        ..QueueEvents::default()
    };
    assert_eq!(first.events, events);
    assert_eq!(first.generation, 1);
    assert_eq!((first.stays, first.stayed_ms), (1, 8_000));
    let status = (subject.status(visitor(5)).await, subject.status(visitor(9)).await);
    let (EntryStatus::Waiting { score: head, .. }, EntryStatus::Waiting { score: tail, .. }) = status else {
        panic!("{status:?}")
    };
    assert_eq!((first.head, first.tail), (Some(head), Some(tail)));

    subject.advance_ms(9_999);
    assert_eq!(
        take_report(&subject).await,
        ReportOutcome::NotDue { due_in_ms: 1 }
    );
    subject.advance_seconds(300); // Visitors 3 and 4 did not claim, and the session of 2 expired.
    subject.tick().await;
    let second = expect_report(&subject).await;
    let events = QueueEvents {
        promoted: 4,
        expired: 1,
        no_shows: 2,
        ..QueueEvents::default()
    };
    assert_eq!(second.events, events);
    assert_eq!((second.waiting, second.ready, second.active), (1, 4, 0));
    assert_eq!((second.stays, second.stayed_ms), (1, 300_000));

    // Reports continue after the clock is set back, so that the operator hears of it.
    subject.clock.set_back(std::time::Duration::from_hours(1));
    assert!(subject.tick().await.clocks.apart);
    assert_eq!(expect_report(&subject).await.events, QueueEvents::default());
    subject.advance_seconds(3_610);
    assert_eq!(expect_report(&subject).await.events.entered, 0);
}

pub(crate) async fn each_event_is_in_exactly_one_report(mut subject: Subject) {
    subject.open(four_at_a_time()).await;
    subject.line_up(1..=20).await;
    let (mut entered, mut promoted, mut due) = (0, 0, 0);
    for _ in 0..5 {
        subject.tick().await;
        for reported in join_all((0..8).map(|_| take_report(&subject))).await {
            if let ReportOutcome::Due(report) = reported {
                entered += report.events.entered;
                promoted += report.events.promoted;
                due += 1;
            }
        }
        subject.advance_seconds(10);
    }
    assert_eq!((entered, promoted, due), (20, 20, 5));
}

pub(crate) async fn an_idle_queue_is_reported_less_often(mut subject: Subject) {
    subject.open(four_at_a_time()).await;
    expect_report(&subject).await;
    let mut quiet_seconds = 0;
    let due_in_ms = async |subject: &Subject| match take_report(subject).await {
        ReportOutcome::NotDue { due_in_ms } => due_in_ms,
        ReportOutcome::Due(_) => 0,
    };
    loop {
        match due_in_ms(&subject).await {
            0 => break,
            ms => assert!(
                ms <= 10_000,
                "the pause until the next question is short, because a visitor may enter: {ms} ms"
            ),
        }
        subject.tick().await;
        subject.advance_seconds(10);
        quiet_seconds += 10;
    }
    assert_eq!(quiet_seconds, 60);
    subject.enter(visitor(1)).await;
    subject.leave(visitor(1), LeaveReason::Leave).await;
    subject.advance_seconds(10);
    assert_eq!(
        expect_report(&subject).await.events.entered,
        1,
        "the report counts a visitor who entered and left in between"
    );
    subject.enter(visitor(1)).await;
    subject.advance_seconds(10);
    assert_eq!(expect_report(&subject).await.active, 1);
    subject.advance_seconds(10);
    assert_eq!(
        expect_report(&subject).await.active,
        1,
        "a queue with an active entry is not idle"
    );
}

pub(crate) async fn a_report_shows_how_long_entries_waited(mut subject: Subject) {
    subject.open(four_at_a_time()).await;
    subject.change_settings(|settings| settings.paused = true).await;
    for number in 1..=8 {
        subject.enter(visitor(number)).await;
        subject.advance_seconds(1);
    }
    subject.change_settings(|settings| settings.paused = false).await;
    let start = expect_report(&subject).await;
    assert_eq!(
        (start.waited_ms, start.waited_max_ms),
        (0, 0),
        "no entry was promoted yet"
    );
    assert_eq!(
        start.head.map(|head| start.now_ms - head.joined_at_ms()),
        Some(8_000)
    );

    subject.advance_seconds(10);
    subject.tick().await; // These entries waited 18, 17, 16 and 15 seconds.
    subject.advance_seconds(10);
    subject.tick().await; // These entries waited 24, 23, 22 and 21 seconds.
    let report_of_all = expect_report(&subject).await;
    assert_eq!(
        (report_of_all.waited_ms, report_of_all.waited_max_ms),
        (156_000, 24_000)
    );
    assert_eq!((report_of_all.head, report_of_all.tail), (None, None));
    subject.advance_seconds(10);
    let after = expect_report(&subject).await;
    assert_eq!(
        (after.waited_ms, after.waited_max_ms),
        (0, 0),
        "each wait is reported once"
    );
}

pub(crate) async fn a_report_shows_the_longest_gap_between_ticks(mut subject: Subject) {
    subject.open(four_at_a_time()).await;
    subject.enter(visitor(1)).await;
    assert_eq!(
        expect_report(&subject).await.tick_age_ms,
        0,
        "no promoter has ticked yet"
    );
    for seconds in [10, 95, 1] {
        subject.advance_seconds(seconds);
        subject.tick().await;
    }
    assert_eq!(expect_report(&subject).await.tick_age_ms, 95_000);
    subject.advance_seconds(12);
    assert_eq!(
        expect_report(&subject).await.tick_age_ms,
        12_000,
        "no tick came since"
    );
}

pub(crate) async fn a_report_shows_the_lag_of_the_backup(mut subject: Subject) {
    subject.open(four_at_a_time()).await;
    subject.line_up(1..=8).await;
    let report_now = expect_report(&subject).await;
    assert_eq!((report_now.journal_len, report_now.backup_lag_ms), (0, 0));
    subject.tick().await;
    subject.advance_seconds(10);
    subject.tick().await;
    subject.advance_seconds(2);
    let behind = expect_report(&subject).await;
    assert_eq!((behind.journal_len, behind.backup_lag_ms), (2, 12_000));
    subject.acknowledge_journal(&[]).await;
    subject.advance_seconds(10);
    let report_now = expect_report(&subject).await;
    assert_eq!((report_now.journal_len, report_now.backup_lag_ms), (0, 0));
}

pub(crate) async fn a_report_knows_a_lane_that_is_new_since_the_last_tick(mut subject: Subject) {
    wait_in_full_queue(&mut subject, 3, &[], 2 * CALL_SECONDS).await;
    make_room(&mut subject).await;
    subject.change_settings(|settings| settings.paused = true).await;
    let lane = Lane::new(0).expect("a lane");
    let entered = subject
        .line
        .enter_lane(&subject.queue, visitor(77), Arrival::Ordinary, None, lane)
        .await;
    entered.expect("entered");
    let EntryStatus::Waiting { score, .. } = subject.status(visitor(77)).await else {
        panic!("the visitor waits");
    };
    let report = expect_report(&subject).await;
    assert_eq!((report.absent, report.head), (3, Some(score)));
}
