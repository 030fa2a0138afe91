//! Consistency checks in the promoter's loop. The tests move the line's clock themselves and do not
//! pause tokio's time, because the backup is a real one and needs real time.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{SystemTime, UNIX_EPOCH},
};

use serde_json::json;
use vestibule_backup::{Backup, EntryPartition};
use vestibule_domain::id::{EntryId, QueueId};
use vestibule_line::{Arrival, CheckAssignment, CheckOrder, Line, ReportOrder, ReportOutcome};
use vestibule_telemetry::metrics::{CHECK_AGE, REPAIRED};

use super::{Fixture, captured_metrics::CapturedMetrics, entry_id, wait_until};

/// How far the line's clock is ahead of the system clock, in seconds.
#[derive(Clone, Default)]
struct AdvancedClock(Arc<AtomicU64>);

impl AdvancedClock {
    fn advance_seconds(&self, seconds: u64) {
        self.0.fetch_add(seconds, Ordering::SeqCst);
    }

    fn scene(&self) -> Fixture {
        let ahead = self.0.clone();
        Fixture::new(Line::in_process_with_clock(Arc::new(move || {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
            let micros = u64::try_from(now.as_micros()).expect("not that late");
            micros + ahead.load(Ordering::SeqCst) * 1_000_000
        })))
    }
}

impl Fixture {
    async fn is_written(&self, partition: &EntryPartition, id: EntryId) -> bool {
        self.backup
            .read_entry(partition, id)
            .await
            .expect("an answer")
            .is_some()
    }
}

/// Finds an entry whose shard is below the given one, or is not, depending on `below`.
fn find_entry_by_shard(queue: &QueueId, shard: u8, below: bool) -> EntryId {
    let mut ids = (0..).map(|n| entry_id(queue, &format!("visitor {n}")));
    ids.find(|id| (id.shard() < shard) == below)
        .expect("there is one")
}

#[tokio::test]
async fn one_of_two_promoters_writes_what_a_killed_request_did_not() {
    let ahead = AdvancedClock::default();
    let scene = ahead.scene();
    let (queue, partition) = scene.create_queue("q", json!({ "paused": true })).await;
    scene.enter(&partition, "ada").await;
    let bob = entry_id(&queue, "bob");
    scene
        .line
        .enter(&queue, bob, Arrival::Ordinary)
        .await
        .expect("entered");
    ahead.advance_seconds(301);
    let written = CapturedMetrics::default();
    let [one, other] = [
        scene.promoter_with_metrics(&written),
        scene.promoter_with_metrics(&written),
    ];
    let mended = async || wait_until(async || !written.values(REPAIRED).is_empty()).await;
    tokio::join!(one.run(mended()), other.run(mended()));
    assert!(scene.is_written(&partition, bob).await);
    assert_eq!(
        written.values(REPAIRED),
        [1],
        "one of the two promoters took the turn"
    );
    assert!(written.values(CHECK_AGE)[0] >= 300_000);
    ahead.advance_seconds(60);
    let order = ReportOrder {
        every_ms: 1,
        idle_ms: 1,
    };
    let reported = scene.line.take_report(&queue, order).await.expect("answered");
    assert!(
        matches!(&reported, ReportOutcome::Due(report) if (60_000..200_000).contains(&report.check_age_ms)),
        "{reported:?}"
    );
}

#[tokio::test]
async fn interrupted_check_continues_where_it_stopped() {
    let ahead = AdvancedClock::default();
    let scene = ahead.scene();
    let (queue, partition) = scene.create_queue("q", json!({ "paused": true })).await;
    let (early, late) = (
        find_entry_by_shard(&queue, 20, true),
        find_entry_by_shard(&queue, 20, false),
    );
    for id in [early, late] {
        scene
            .line
            .enter(&queue, id, Arrival::Ordinary)
            .await
            .expect("entered");
    }
    ahead.advance_seconds(301);
    // Another process has checked the first twenty shards and was then stopped.
    let order = CheckOrder {
        every_ms: 300_000,
        idle_ms: 300_000,
        loss_ms: 60_000,
        silent_ms: 60_000,
    };
    let turn = scene.line.take_check(&queue, order).await.expect("an answer");
    assert_eq!(turn, CheckAssignment::Due { from_shard: 0 });
    scene.line.record_check_progress(&queue, 20).await.expect("noted");
    ahead.advance_seconds(61);
    let written = CapturedMetrics::default();
    let mended = async |times| wait_until(async || written.values(REPAIRED).len() == times).await;
    scene.promoter_with_metrics(&written).run(mended(1)).await;
    assert!(scene.is_written(&partition, late).await);
    assert!(
        !scene.is_written(&partition, early).await,
        "the check did not start over"
    );
    ahead.advance_seconds(301);
    scene.promoter_with_metrics(&written).run(mended(2)).await;
    assert!(
        scene.is_written(&partition, early).await,
        "the next check starts over"
    );
    assert_eq!(written.values(REPAIRED), [1, 1]);
}
