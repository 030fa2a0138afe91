//! The fallback tick, with everything that belongs to it.

use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep};
use vestibule_backup::{Backup, EntryPartition};
use vestibule_domain::{pace::LimitedBy, state::EntryState};
use vestibule_engine::{
    fallback_tick::{FallbackTickError, FallbackTickOutcome, fallback_tick},
    tick::tick,
    tick_history::TickHistory,
};

use super::{Fixture, slow_backup::paced_line};

/// Sets up a queue with this many waiting visitors that has never been ticked. Two entries may go
/// each second.
async fn queue_with_waiting_visitors(
    scene: &Fixture,
    visitors: u32,
) -> (EntryPartition, Vec<vestibule_domain::id::EntryId>) {
    let settings = json!({ "capacity": 100, "batch": 2, "interval_seconds": 1, "paused": true });
    let (queue, partition) = scene.create_queue("q", settings.clone()).await;
    let mut ids = Vec::new();
    for visitor in 0..visitors {
        ids.push(scene.enter(&partition, &visitor.to_string()).await);
    }
    let mut going = settings;
    going["paused"] = json!(false);
    scene.replace_stored_settings(&queue, going).await;
    scene.sync(&queue).await.expect("synced");
    (partition, ids)
}

impl Fixture {
    pub(super) async fn fallback_tick(
        &self,
        partition: &EntryPartition,
    ) -> Result<FallbackTickOutcome, FallbackTickError> {
        let view = self.line.queue_view(&partition.queue).await.expect("seen");
        let pace = view.configuration.settings.pace();
        let until = Instant::now() + Duration::from_secs(1);
        fallback_tick(
            &self.line,
            &*self.backup,
            partition,
            pace,
            &TickHistory::default(),
            until,
        )
        .await
    }

    /// Runs a fallback tick that must not be refused. Returns how many entries it promoted.
    pub(super) async fn fallback_tick_and_count_promoted(&self, partition: &EntryPartition) -> u64 {
        match self.fallback_tick(partition).await {
            Ok(FallbackTickOutcome::Ticked(ticked)) => ticked.promoted,
            other => panic!("no fallback tick: {other:?}"),
        }
    }

    async fn fence(&self, partition: &EntryPartition) -> u64 {
        let stored = self.backup.read_queue(&partition.queue).await.expect("read");
        stored.expect("is there").metadata.watermark
    }
}

#[tokio::test]
async fn fallback_tick_promotes_flushes_and_raises_the_fence() {
    let scene = Fixture::new(paced_line());
    let (partition, ids) = queue_with_waiting_visitors(&scene, 5).await;
    tokio::time::pause();
    let fence = scene.fence(&partition).await;
    assert_eq!(scene.fallback_tick_and_count_promoted(&partition).await, 2);
    assert_eq!(
        scene.fallback_tick(&partition).await.expect("answered"),
        FallbackTickOutcome::NotDue,
        "a moment later"
    );
    let view = scene.line.queue_view(&partition.queue).await.expect("seen");
    assert_eq!((view.waiting, view.ready, view.journal_len), (3, 2, 0));
    assert_eq!(view.heartbeat_ms, 0, "no promoter has ticked the queue");
    assert_eq!(view.fallback_ticked_at_ms, view.now_ms);
    for (id, state) in ids
        .iter()
        .zip([EntryState::Ready, EntryState::Ready, EntryState::Waiting])
    {
        let record = scene.backup.read_entry(&partition, *id).await.expect("read");
        assert_eq!(
            record.expect("is there").state,
            state,
            "the journal is in the backup"
        );
    }
    // This fallback tick raises the fence to what preceded it. The next one raises the fence to
    // cover its promotions.
    assert!(scene.fence(&partition).await >= fence);
    sleep(Duration::from_secs(1)).await;
    assert_eq!(scene.fallback_tick_and_count_promoted(&partition).await, 2);
    assert!(scene.fence(&partition).await > fence);
}

#[tokio::test]
async fn running_promoter_prevents_fallback_ticks() {
    let scene = Fixture::new(paced_line());
    let (partition, _) = queue_with_waiting_visitors(&scene, 5).await;
    tokio::time::pause();
    tick(&scene.line, &partition.queue, None, &TickHistory::default())
        .await
        .expect("ticked");
    sleep(Duration::from_millis(2_900)).await;
    assert_eq!(
        scene.fallback_tick(&partition).await.expect("answered"),
        FallbackTickOutcome::NotDue
    );
    sleep(Duration::from_millis(100)).await;
    assert_eq!(
        scene.fallback_tick_and_count_promoted(&partition).await,
        2,
        "three intervals without a heartbeat"
    );
}

#[tokio::test]
async fn stale_or_lost_line_gets_no_fallback_tick() {
    let scene = Fixture::new(paced_line());
    let (partition, _) = queue_with_waiting_visitors(&scene, 5).await;
    tokio::time::pause();
    // Another function has seen the line with a higher watermark than the line has now.
    let fence = scene.fence(&partition).await;
    scene
        .backup
        .raise_watermark(&partition.queue, 1, fence + 5)
        .await
        .expect("raised");
    assert_eq!(
        scene.fallback_tick(&partition).await.expect("answered"),
        FallbackTickOutcome::LineNotCurrent
    );
    let view = scene.line.queue_view(&partition.queue).await.expect("seen");
    assert_eq!((view.waiting, view.ready), (5, 0), "no entry is promoted");

    assert!(scene.line.drop_queue(&partition.queue, 2).await.expect("dropped"));
    let until = Instant::now() + Duration::from_secs(1);
    let pace = view.configuration.settings.pace();
    let driven = fallback_tick(
        &scene.line,
        &*scene.backup,
        &partition,
        pace,
        &TickHistory::default(),
        until,
    )
    .await;
    assert_eq!(driven.expect("answered"), FallbackTickOutcome::LineNotCurrent);
}

#[tokio::test]
async fn line_of_earlier_epoch_gets_no_fallback_tick() {
    let scene = Fixture::new(paced_line());
    let (partition, _) = queue_with_waiting_visitors(&scene, 5).await;
    let salt = vestibule_domain::id::Salt::new([4; 32]);
    let begun = scene.backup.begin_generation(&partition.queue, 1, salt).await;
    assert!(begun.expect("written").is_some());
    assert_eq!(
        scene.fallback_tick(&partition).await.expect("answered"),
        FallbackTickOutcome::LineNotCurrent
    );
    assert_eq!(
        scene.line.queue_view(&partition.queue).await.expect("seen").ready,
        0
    );
}

#[tokio::test]
async fn fallback_tick_of_a_paused_queue_promotes_none() {
    let scene = Fixture::new(paced_line());
    let (partition, _) = queue_with_waiting_visitors(&scene, 5).await;
    scene
        .replace_stored_settings(
            &partition.queue,
            json!({ "capacity": 100, "batch": 2, "interval_seconds": 1, "paused": true }),
        )
        .await;
    scene.sync(&partition.queue).await.expect("synced");
    match scene.fallback_tick(&partition).await {
        Ok(FallbackTickOutcome::Ticked(ticked)) => {
            assert_eq!((ticked.promoted, ticked.limited_by), (0, LimitedBy::Switch));
        }
        other => panic!("no fallback tick: {other:?}"),
    }
}
