//! The metrics that a promoter writes, in paused time.

use std::{sync::Arc, time::Duration};

use serde_json::json;
use tokio::time::{Instant, sleep};
use vestibule_backup::Backup;
use vestibule_domain::id::QueueId;
use vestibule_line::{Arrival, LeaveReason, Line};
use vestibule_telemetry::{
    emf::Metrics,
    metrics::{
        ACTIVE, ALL, COMPLETED, DEAD_LETTERED_RECORDS, ENTERED, ESTIMATE_ERROR, LEFT, NO_SHOWS, PROMOTED,
        READY, SETTINGS_REFUSED, STAY_MEAN, TICK_AGE, WAIT_MAX, WAIT_MEAN, WAITING,
    },
};

use super::{Fixture, captured_metrics::CapturedMetrics, entry_id, memory_line, slow_backup::paced_line};
use crate::Promoter;

impl Fixture {
    /// A promoter that writes its metrics to `written`.
    pub(super) fn promoter_with_metrics(&self, written: &CapturedMetrics) -> Arc<Promoter> {
        let promoter = Arc::into_inner(self.promoter()).expect("no other reference to the promoter");
        Arc::new(promoter.with_metrics(Metrics::new("shop", written.clone())))
    }

    /// Sets up a queue with this many visitors. It is paused until the promoter runs.
    async fn queue_with_waiting_visitors(&self, visitors: u32, capacity: u32, batch: u32) -> QueueId {
        let settings = json!({ "capacity": capacity, "batch": batch, "interval_seconds": 10, "paused": true, "presence_seconds": 0 });
        let (queue, _) = self.create_queue("q", settings.clone()).await;
        for visitor in 0..visitors {
            let id = entry_id(&queue, &visitor.to_string());
            self.line
                .enter(&queue, id, Arrival::Ordinary)
                .await
                .expect("entered");
        }
        let mut going = settings;
        going["paused"] = json!(false);
        self.replace_stored_settings(&queue, going).await;
        queue
    }
}

#[tokio::test]
async fn two_promoters_count_each_event_once() {
    let scene = Fixture::new(paced_line());
    let queue = scene.queue_with_waiting_visitors(100, 40, 40).await;
    let written = CapturedMetrics::default();
    let promoters = [
        scene.promoter_with_metrics(&written),
        scene.promoter_with_metrics(&written),
    ];
    let run = async |seconds| {
        let time = || sleep(Duration::from_secs(seconds));
        tokio::join!(promoters[0].run(time()), promoters[1].run(time()));
    };
    tokio::time::pause();
    run(25).await;
    assert_eq!((written.sum(ENTERED), written.sum(PROMOTED)), (100, 40));
    assert_eq!(
        (written.last(WAITING), written.last(READY), written.last(ACTIVE)),
        (60, 40, 0)
    );
    assert!(written.values(TICK_AGE).iter().all(|ms| *ms <= 2_000));
    // No entry was promoted in the last ten seconds, so both metrics are the wait of the head of
    // the line.
    assert_eq!(written.last(WAIT_MEAN), written.last(WAIT_MAX));
    assert!(written.last(WAIT_MEAN) >= 10_000);

    let line = &scene.line;
    for visitor in ["0", "1", "2"] {
        line.claim(&queue, entry_id(&queue, visitor))
            .await
            .expect("claimed");
    }
    run(5).await;
    for (visitor, reason) in [("0", LeaveReason::Complete), ("99", LeaveReason::Leave)] {
        let left = line.leave(&queue, entry_id(&queue, visitor), None, reason).await;
        left.expect("gone");
    }
    run(15).await;
    assert_eq!((written.sum(COMPLETED), written.sum(LEFT)), (1, 1));
    // The visitor who left while waiting had no session.
    let stays = written.values(STAY_MEAN);
    assert!(
        stays.len() == 1 && (5_000..6_000).contains(&stays[0]),
        "{stays:?}"
    );
    assert_eq!((written.sum(ENTERED), written.sum(PROMOTED)), (100, 41));
    run(40).await;
    assert_eq!(written.sum(NO_SHOWS), 37, "but for the three who claimed");

    let totals = line.queue_view(&queue).await.expect("seen").totals;
    assert_eq!(
        written.sum(PROMOTED),
        i64::try_from(totals.promoted).expect("few")
    );
    let reports = written
        .lines()
        .iter()
        .filter(|line| !line["Waiting"].is_null())
        .count();
    assert!((7..=9).contains(&reports), "one each ten seconds: {reports}");
    for line in written.lines() {
        assert_eq!(
            (&line["Deployment"], &line["Queue"]),
            (&json!("shop"), &json!("q"))
        );
        for name in line.as_object().expect("an object").keys() {
            let known = ["_aws", "Deployment", "Queue"].contains(&name.as_str())
                || ALL.iter().any(|metric| metric.name == name);
            assert!(known, "{name} in {line}");
        }
    }
}

#[tokio::test]
async fn estimates_are_compared_with_actual_waits() {
    let scene = Fixture::new(paced_line());
    // The pace is one entry per second, so the estimate for the last of 100 visitors is 100 s.
    scene.queue_with_waiting_visitors(100, 1_000, 10).await;
    let written = CapturedMetrics::default();
    tokio::time::pause();
    scene
        .promoter_with_metrics(&written)
        .run(sleep(Duration::from_mins(3)))
        .await;
    let errors = written.values(ESTIMATE_ERROR);
    assert!(errors.len() >= 9, "one each ten seconds of the wait: {errors:?}");
    // The estimate may be off by one interval in each direction, because the first batch goes at once.
    assert!(errors.iter().all(|ms| ms.abs() <= 20_000), "{errors:?}");
}

#[tokio::test]
async fn empty_queue_is_reported_once_a_minute() {
    let scene = Fixture::new(paced_line());
    scene.create_queue("q", json!({})).await;
    let written = CapturedMetrics::default();
    tokio::time::pause();
    scene
        .promoter_with_metrics(&written)
        .run(sleep(Duration::from_secs(185)))
        .await;
    assert_eq!(
        written.values(WAITING),
        [0; 4],
        "at the start, and after each minute"
    );
    assert!(written.values(WAIT_MEAN).is_empty(), "no entry waited");
    assert_eq!(written.sum(SETTINGS_REFUSED), 0);
}

#[tokio::test]
async fn metrics_are_off_without_a_deployment_name() {
    let scene = Fixture::new(paced_line());
    let queue = scene.queue_with_waiting_visitors(3, 1, 1).await;
    tokio::time::pause();
    scene.promoter().run(sleep(Duration::from_secs(15))).await;
    let order = vestibule_line::ReportOrder {
        every_ms: 10_000,
        idle_ms: 60_000,
    };
    let reported = scene.line.take_report(&queue, order).await.expect("answered");
    assert!(
        matches!(&reported, vestibule_line::ReportOutcome::Due(report) if report.events.entered == 3),
        "no caller took it before: {reported:?}"
    );
}

#[tokio::test]
async fn edit_is_applied_soon_or_reported_as_refused() {
    let metrics = CapturedMetrics::default();
    let scene = Fixture::new(memory_line());
    let (queue, _) = scene.create_queue("q", json!({ "capacity": 7 })).await;
    let capacity = async || {
        let view = scene.line.queue_view(&queue).await.expect("seen");
        view.configuration.settings.capacity
    };
    let operator = async {
        for edited in 10..20 {
            scene
                .replace_stored_settings(&queue, json!({ "capacity": edited.to_string() }))
                .await;
            let since = Instant::now();
            while capacity().await != edited {
                sleep(Duration::from_millis(50)).await;
            }
            assert!(since.elapsed() <= Duration::from_secs(5), "{:?}", since.elapsed());
            sleep(Duration::from_millis(730)).await;
        }
        for wrong in [json!("many"), json!("lots"), json!(0)] {
            scene
                .replace_stored_settings(&queue, json!({ "capacity": wrong }))
                .await;
            sleep(Duration::from_secs(31)).await;
            assert_eq!(capacity().await, 19);
            assert_eq!(metrics.last(SETTINGS_REFUSED), 1);
        }
        assert!(
            metrics.sum(SETTINGS_REFUSED) >= 4,
            "as often as a queue is reported on"
        );
        scene.replace_stored_settings(&queue, json!({})).await;
        sleep(Duration::from_secs(10)).await;
        assert_eq!(capacity().await, 100, "what was deleted is at its default again");
        assert_eq!(metrics.last(SETTINGS_REFUSED), 0);
    };
    tokio::time::pause();
    scene.promoter_with_metrics(&metrics).run(operator).await;
}

#[tokio::test]
async fn unrestorable_queue_is_reported_as_refused() {
    let scene = Fixture::new(Line::in_process());
    scene.store_queue("q", json!({ "capacity": "many" })).await;
    let written = CapturedMetrics::default();
    tokio::time::pause();
    scene
        .promoter_with_metrics(&written)
        .run(sleep(Duration::from_secs(5)))
        .await;
    assert_eq!(written.values(SETTINGS_REFUSED), [1]);
}

#[tokio::test]
async fn dead_letters_are_retried_every_ten_minutes() {
    let scene = Fixture::new(paced_line());
    let (queue, partition) = scene.create_queue("q", json!({ "paused": true })).await;
    let written = CapturedMetrics::default();
    let promoter = scene.promoter_with_metrics(&written);
    tokio::time::pause();
    promoter.run(sleep(Duration::from_mins(1))).await;
    let change = scene.enter_unwritten(&queue, "a").await;
    scene
        .line
        .append_to_journal(&queue, &change)
        .await
        .expect("recorded");
    let journal = scene.line.due_journal_records(&queue, 1).await.expect("read");
    let done = scene.line.dead_letter(&queue, &journal[0].key).await;
    done.expect("set aside");
    promoter.run(sleep(Duration::from_mins(5))).await;
    assert_eq!(
        written.last(DEAD_LETTERED_RECORDS),
        1,
        "the dead letter is not retried before ten minutes"
    );
    for _ in 0..5 {
        // The thread of the file backup may be too slow for paused time, which jumps. So the test
        // tries several times.
        promoter.run(sleep(Duration::from_mins(11))).await;
        if written.last(DEAD_LETTERED_RECORDS) == 0 {
            break;
        }
    }
    assert_eq!(written.last(DEAD_LETTERED_RECORDS), 0);
    assert!(
        scene
            .backup
            .read_entry(&partition, change.id)
            .await
            .expect("read")
            .is_some()
    );
}
