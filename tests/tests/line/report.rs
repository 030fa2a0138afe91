//! What is reported of a queue: each event once, however many ask.

use futures_util::future::join_all;
use vestibule_domain::{entry_status::EntryStatus, settings::Settings};
use vestibule_line::{LeaveReason, QueueEvents, Report, ReportOrder, ReportOutcome};
use vestibule_tests::lines::{Subject, visitor};

pub(crate) const EACH_10_SECONDS: ReportOrder = ReportOrder {
    every_ms: 10_000,
    idle_ms: 60_000,
};

fn four_at_a_time() -> Settings {
    Settings {
        capacity: 100,
        batch: 4,
        interval_seconds: 10,
        ..Settings::default()
    }
}

async fn ask(subject: &Subject) -> ReportOutcome {
    let reported = subject.line.take_report(&subject.queue, EACH_10_SECONDS).await;
    reported.expect("report")
}

async fn report(subject: &Subject) -> Report {
    match ask(subject).await {
        ReportOutcome::Due(report) => *report,
        early @ ReportOutcome::NotDue { .. } => panic!("{early:?}"),
    }
}

pub(crate) async fn a_report_counts_what_happened_since_the_last_one(mut subject: Subject) {
    subject.open(four_at_a_time()).await;
    subject.line_up(1..=10).await;
    subject.tick().await; // 1 to 4 are ready.
    subject.claim(visitor(1)).await;
    subject.claim(visitor(2)).await;
    subject.leave(visitor(1), LeaveReason::Complete).await;
    subject.leave(visitor(10), LeaveReason::Leave).await;
    let first = report(&subject).await;
    assert_eq!((first.waiting, first.ready, first.active), (5, 2, 1));
    assert_eq!(first.now_ms, subject.clock.now_ms());
    let happened = QueueEvents {
        entered: 10,
        promoted: 4,
        completed: 1,
        left: 1,
        ..QueueEvents::default()
    };
    assert_eq!(first.events, happened);
    assert_eq!(first.generation, 1);
    let status = (subject.status(visitor(5)).await, subject.status(visitor(9)).await);
    let (EntryStatus::Waiting { score: head, .. }, EntryStatus::Waiting { score: tail, .. }) = status else {
        panic!("{status:?}")
    };
    assert_eq!((first.head, first.tail), (Some(head), Some(tail)));

    subject.advance_ms(9_999);
    assert_eq!(ask(&subject).await, ReportOutcome::NotDue { due_in_ms: 1 });
    subject.advance_seconds(300); // 3 and 4 did not come, and the session of 2 is over.
    subject.tick().await;
    let second = report(&subject).await;
    let happened = QueueEvents {
        promoted: 4,
        expired: 1,
        no_shows: 2,
        ..QueueEvents::default()
    };
    assert_eq!(second.events, happened);
    assert_eq!((second.waiting, second.ready, second.active), (1, 4, 0));

    // A clock that is set back does not silence it.
    subject.clock.set_back(std::time::Duration::from_hours(1));
    subject.tick().await;
    assert!(matches!(ask(&subject).await, ReportOutcome::NotDue { .. }));
    subject.advance_seconds(3_610);
    assert_eq!(report(&subject).await.events.entered, 0);
}

pub(crate) async fn each_event_is_in_one_report_however_many_ask(mut subject: Subject) {
    subject.open(four_at_a_time()).await;
    subject.line_up(1..=20).await;
    let (mut entered, mut promoted, mut due) = (0, 0, 0);
    for _ in 0..5 {
        subject.tick().await;
        for reported in join_all((0..8).map(|_| ask(&subject))).await {
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

pub(crate) async fn a_queue_where_nothing_happens_is_reported_on_less_often(mut subject: Subject) {
    subject.open(four_at_a_time()).await;
    report(&subject).await;
    let mut quiet_seconds = 0;
    let due_in_ms = async |subject: &Subject| match ask(subject).await {
        ReportOutcome::NotDue { due_in_ms } => due_in_ms,
        ReportOutcome::Due(_) => 0,
    };
    loop {
        match due_in_ms(&subject).await {
            0 => break,
            ms => assert!(ms <= 10_000, "somebody may come: {ms}"),
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
        report(&subject).await.events.entered,
        1,
        "come and gone in between"
    );
    subject.enter(visitor(1)).await;
    subject.advance_seconds(10);
    assert_eq!(report(&subject).await.active, 1);
    subject.advance_seconds(10);
    assert_eq!(report(&subject).await.active, 1, "somebody is there");
}

pub(crate) async fn a_report_tells_how_long_people_wait(mut subject: Subject) {
    subject.open(four_at_a_time()).await;
    subject.change_settings(|settings| settings.paused = true).await;
    for number in 1..=8 {
        subject.enter(visitor(number)).await;
        subject.advance_seconds(1);
    }
    subject.change_settings(|settings| settings.paused = false).await;
    let start = report(&subject).await;
    assert_eq!(
        (start.waited_ms, start.waited_max_ms),
        (0, 0),
        "nobody was promoted"
    );
    assert_eq!(
        start.head.map(|head| start.now_ms - head.joined_at_ms()),
        Some(8_000)
    );

    subject.advance_seconds(10);
    subject.tick().await; // After 18, 17, 16 and 15 seconds.
    subject.advance_seconds(10);
    subject.tick().await; // After 24, 23, 22 and 21 seconds.
    let report_of_all = report(&subject).await;
    assert_eq!(
        (report_of_all.waited_ms, report_of_all.waited_max_ms),
        (156_000, 24_000)
    );
    assert_eq!((report_of_all.head, report_of_all.tail), (None, None));
    subject.advance_seconds(10);
    let after = report(&subject).await;
    assert_eq!((after.waited_ms, after.waited_max_ms), (0, 0), "each wait once");
}

pub(crate) async fn a_report_tells_of_a_promoter_that_was_away(mut subject: Subject) {
    subject.open(four_at_a_time()).await;
    subject.enter(visitor(1)).await;
    assert_eq!(report(&subject).await.tick_age_ms, 0, "none was there yet");
    for seconds in [10, 95, 1] {
        subject.advance_seconds(seconds);
        subject.tick().await;
    }
    assert_eq!(report(&subject).await.tick_age_ms, 95_000);
    subject.advance_seconds(12);
    assert_eq!(report(&subject).await.tick_age_ms, 12_000, "none has come since");
}

pub(crate) async fn a_report_tells_how_far_the_backup_is_behind(mut subject: Subject) {
    subject.open(four_at_a_time()).await;
    subject.line_up(1..=8).await;
    let report_now = report(&subject).await;
    assert_eq!((report_now.journal_len, report_now.backup_lag_ms), (0, 0));
    subject.tick().await;
    subject.advance_seconds(10);
    subject.tick().await;
    subject.advance_seconds(2);
    let behind = report(&subject).await;
    assert_eq!((behind.journal_len, behind.backup_lag_ms), (2, 12_000));
    subject.acknowledge_journal(&[]).await;
    subject.advance_seconds(10);
    let report_now = report(&subject).await;
    assert_eq!((report_now.journal_len, report_now.backup_lag_ms), (0, 0));
}
