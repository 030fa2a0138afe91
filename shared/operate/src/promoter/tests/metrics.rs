//! The metrics that a promoter writes, in paused time.

use std::{sync::Arc, time::Duration};

use serde_json::json;
use tokio::time::{Instant, sleep};
use vestibule_backup::Backup;
use vestibule_domain::id::QueueId;
use vestibule_line::Departure;
use vestibule_line_memory::MemoryLine;
use vestibule_telemetry::{
    emf::Metrics,
    metrics::{
        ACTIVE, ALL, COMPLETED, ENTERED, ESTIMATE_ERROR, LEFT, NO_SHOWS, PROMOTED, READY, SET_ASIDE,
        SETTINGS_REFUSED, TICK_AGE, WAIT_MAX, WAIT_MEAN, WAITING,
    },
};

use super::{Scene, id, memory, slow::paced_line, written::Written};
use crate::promoter::Promoter;

impl Scene {
    /// A promoter that writes its metrics to `written`.
    pub(super) fn reporter(&self, written: &Written) -> Arc<Promoter> {
        let promoter = Arc::into_inner(self.promoter()).expect("no other reference to the promoter");
        Arc::new(promoter.with_metrics(Metrics::new("shop", written.clone())))
    }

    /// Sets up a queue with this many visitors. It is paused until the promoter runs.
    async fn lined_up(&self, visitors: u32, capacity: u32, batch: u32) -> QueueId {
        let settings =
            json!({ "capacity": capacity, "batch": batch, "interval_seconds": 10, "paused": true });
        let (queue, _) = self.queue("q", settings.clone()).await;
        for visitor in 0..visitors {
            let id = id(&queue, &visitor.to_string());
            self.line.enter(&queue, id).await.expect("entered");
        }
        let mut going = settings;
        going["paused"] = json!(false);
        self.edit(&queue, going).await;
        queue
    }
}

#[tokio::test]
async fn two_promoters_at_once_count_each_event_once() {
    let scene = Scene::new(paced_line());
    let queue = scene.lined_up(100, 40, 40).await;
    let written = Written::default();
    let promoters = [scene.reporter(&written), scene.reporter(&written)];
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
    // No entry was promoted in the last ten seconds, so both metrics are the wait of the head of the line.
    assert_eq!(written.last(WAIT_MEAN), written.last(WAIT_MAX));
    assert!(written.last(WAIT_MEAN) >= 10_000);

    let line = &scene.line;
    for visitor in ["0", "1", "2"] {
        line.claim(&queue, id(&queue, visitor)).await.expect("claimed");
    }
    for visitor in ["0", "99"] {
        let left = line
            .leave(&queue, id(&queue, visitor), None, Departure::Leave)
            .await;
        left.expect("gone");
    }
    run(15).await;
    assert_eq!((written.sum(COMPLETED), written.sum(LEFT)), (1, 1));
    assert_eq!((written.sum(ENTERED), written.sum(PROMOTED)), (100, 41));
    run(40).await;
    assert_eq!(written.sum(NO_SHOWS), 37, "but for the three who claimed");

    let totals = line.view(&queue).await.expect("seen").totals;
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
async fn what_people_are_told_is_compared_with_what_comes_of_it() {
    let scene = Scene::new(paced_line());
    // The pace is one entry per second, so the estimate for the last of 100 visitors is 100 s.
    scene.lined_up(100, 1_000, 10).await;
    let written = Written::default();
    tokio::time::pause();
    scene.reporter(&written).run(sleep(Duration::from_mins(3))).await;
    let errors = written.values(ESTIMATE_ERROR);
    assert!(errors.len() >= 9, "one each ten seconds of the wait: {errors:?}");
    // The estimate may be off by one interval in each direction, because the first batch goes at once.
    assert!(errors.iter().all(|ms| ms.abs() <= 20_000), "{errors:?}");
}

#[tokio::test]
async fn a_queue_without_anybody_is_reported_once_a_minute() {
    let scene = Scene::new(paced_line());
    scene.queue("q", json!({})).await;
    let written = Written::default();
    tokio::time::pause();
    scene
        .reporter(&written)
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
async fn without_a_name_of_the_deployment_nothing_is_measured() {
    let scene = Scene::new(paced_line());
    let queue = scene.lined_up(3, 1, 1).await;
    tokio::time::pause();
    scene.promoter().run(sleep(Duration::from_secs(15))).await;
    let order = vestibule_line::ReportOrder {
        every_ms: 10_000,
        idle_ms: 60_000,
    };
    let reported = scene.line.report(&queue, order).await.expect("answered");
    assert!(
        matches!(&reported, vestibule_line::Reported::Due(report) if report.happened.entered == 3),
        "nobody took it before: {reported:?}"
    );
}

#[tokio::test]
async fn an_edit_is_taken_soon_or_seen_to_be_refused() {
    let metrics = Written::default();
    let scene = Scene::new(memory());
    let (queue, _) = scene.queue("q", json!({ "capacity": 7 })).await;
    let capacity = async || {
        let view = scene.line.view(&queue).await.expect("seen");
        view.configuration.settings.capacity
    };
    let operator = async {
        for edited in 10..20 {
            scene
                .edit(&queue, json!({ "capacity": edited.to_string() }))
                .await;
            let since = Instant::now();
            while capacity().await != edited {
                sleep(Duration::from_millis(50)).await;
            }
            assert!(since.elapsed() <= Duration::from_secs(5), "{:?}", since.elapsed());
            sleep(Duration::from_millis(730)).await;
        }
        for wrong in [json!("many"), json!("lots"), json!(0)] {
            scene.edit(&queue, json!({ "capacity": wrong })).await;
            sleep(Duration::from_secs(31)).await;
            assert_eq!(capacity().await, 19);
            assert_eq!(metrics.last(SETTINGS_REFUSED), 1);
        }
        assert!(
            metrics.sum(SETTINGS_REFUSED) >= 4,
            "as often as a queue is reported on"
        );
        scene.edit(&queue, json!({})).await;
        sleep(Duration::from_secs(10)).await;
        assert_eq!(capacity().await, 100, "what was deleted is at its default again");
        assert_eq!(metrics.last(SETTINGS_REFUSED), 0);
    };
    tokio::time::pause();
    scene.reporter(&metrics).run(operator).await;
}

#[tokio::test]
async fn a_queue_that_cannot_be_put_back_is_seen_to_be_refused() {
    let scene = Scene::new(Arc::new(MemoryLine::new()));
    scene.store("q", json!({ "capacity": "many" })).await;
    let written = Written::default();
    tokio::time::pause();
    scene.reporter(&written).run(sleep(Duration::from_secs(5))).await;
    assert_eq!(written.values(SETTINGS_REFUSED), [1]);
}

#[tokio::test]
async fn what_is_set_aside_is_tried_again_every_ten_minutes() {
    let scene = Scene::new(paced_line());
    let (queue, shelf) = scene.queue("q", json!({ "paused": true })).await;
    let written = Written::default();
    let promoter = scene.reporter(&written);
    tokio::time::pause();
    promoter.run(sleep(Duration::from_mins(1))).await;
    let change = scene.enter_unwritten(&queue, "a").await;
    scene.line.record(&queue, &change).await.expect("recorded");
    let journal = scene.line.journal(&queue, 1).await.expect("read");
    let done = scene.line.set_aside(&queue, &journal[0].key).await;
    done.expect("set aside");
    promoter.run(sleep(Duration::from_mins(5))).await;
    assert_eq!(
        written.last(SET_ASIDE),
        1,
        "the dead letter is not retried before ten minutes"
    );
    assert_eq!(scene.backup.entry(&shelf, change.id).await.expect("read"), None);
    for _ in 0..5 {
        // The thread of the file backup may be too slow for paused time, which jumps. So the test tries several
        // times.
        promoter.run(sleep(Duration::from_mins(11))).await;
        if written.last(SET_ASIDE) == 0 {
            break;
        }
    }
    assert_eq!(written.last(SET_ASIDE), 0);
    assert!(
        scene
            .backup
            .entry(&shelf, change.id)
            .await
            .expect("read")
            .is_some()
    );
}
