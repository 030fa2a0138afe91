//! The share of the lower lanes under a flood of visitors with priority.

use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::{StreamExt, TryStreamExt, stream};
use serde_json::json;
use vestibule_domain::{change::Event, id::QueueId, lane::Lane};
use vestibule_line::{Arrival, Line, LineError};
use vestibule_tests::lines::{tick_order, visitor};

use super::create_queue;
use crate::{
    BenchResult,
    figures::{print_figure, ratio},
    size::Size,
};

/// The part of the promotions that the lower lanes are promised.
const SHARE_PERCENT: u32 = 10;
/// The entries of a batch.
const BATCH: u64 = 50;
/// The batches that are measured.
const BATCHES: u64 = 100;
/// The visitors with priority who enter at the same time.
const ENTRANTS: u64 = 64;

/// Promotes batch by batch while visitors with priority enter as fast as they can, and counts the promotions of each lane.
pub(super) async fn measure(line: &Line, size: Size) -> BenchResult {
    let batches = size.count(BATCHES);
    // The visitors of the default lane, who are there before the flood. They are more than their share.
    let ordinary_visitors = BATCH * batches;
    // Without presence every entry may be promoted, so that the lanes alone decide.
    let queue = create_queue(
        line,
        json!({ "capacity": 1_000_000, "batch": 1_000_000, "fast_track": false, "presence_seconds": 0,
            "lane_share": SHARE_PERCENT }),
    )
    .await?;
    stream::iter((0..ordinary_visitors).map(Ok::<_, LineError>))
        .try_for_each_concurrent(64, async |number| {
            line.enter(&queue, visitor(number), Arrival::Ordinary)
                .await
                .map(drop)
        })
        .await?;
    let lane = Lane::new(0).ok_or("there is a lane 0")?;
    let flood = Flood {
        line,
        queue: &queue,
        lane,
        first_visitor: ordinary_visitors,
        entered: AtomicU64::new(0),
    };
    // The first visitors of the flood are there before the first batch.
    flood.enter(BATCH * 2).await?;
    tokio::select! {
        failed = flood.enter(u64::MAX) => return Err(failed.err().map_or_else(|| "the flood has ended".into(), Box::from)),
        counted = count_batches(line, &queue, lane, batches) => counted?.print(&flood),
    }
    Ok(())
}

struct Flood<'a> {
    line: &'a Line,
    queue: &'a QueueId,
    lane: Lane,
    /// The number of its first visitor.
    first_visitor: u64,
    entered: AtomicU64,
}

impl Flood<'_> {
    /// Lets so many visitors with priority enter.
    async fn enter(&self, visitors: u64) -> Result<(), LineError> {
        let arrivals = (0..visitors).map(|_| {
            let number = self.first_visitor + self.entered.fetch_add(1, Ordering::Relaxed);
            self.line
                .enter_lane(self.queue, visitor(number), Arrival::Ordinary, None, self.lane)
        });
        let mut arrivals =
            stream::iter(arrivals).buffer_unordered(usize::try_from(ENTRANTS).unwrap_or(usize::MAX));
        while arrivals.try_next().await?.is_some() {}
        Ok(())
    }
}

/// How many entries of each kind of lane were promoted.
#[derive(Default)]
struct Counts {
    promoted: u64,
    lower: u64,
    /// The greatest difference between the promotions of the lower lanes and their share, after any batch.
    deviation_max: u64,
}

impl Counts {
    fn print(&self, flood: &Flood<'_>) {
        println!("priority_visitors={}", flood.entered.load(Ordering::Relaxed));
        println!("promotions={}", self.promoted);
        println!("lane_share_asked_percent={SHARE_PERCENT}");
        let had_percent = 100.0 * ratio(self.lower, self.promoted);
        print_figure("lane_share_had_percent", had_percent, 2);
        print_figure(
            "lane_share_had_vs_asked",
            had_percent / f64::from(SHARE_PERCENT),
            3,
        );
        println!("batch={BATCH}");
        println!("deviation_entries={}", self.deviation_max);
    }
}

async fn count_batches(line: &Line, queue: &QueueId, first: Lane, batches: u64) -> BenchResult<Counts> {
    let mut counts = Counts::default();
    for _ in 0..batches {
        let promoted = line.promote(queue, tick_order(BATCH)).await?.promoted;
        if promoted != BATCH {
            return Err(format!("a batch had {promoted} entries").into());
        }
        for record in line.journal_records(queue, 1_000).await? {
            for change in &record.changes {
                if let Event::Promoted { place, .. } = change.event {
                    counts.promoted += 1;
                    counts.lower += u64::from(place.lane() != first.number());
                }
            }
            line.acknowledge(queue, &[record.key], &[]).await?;
        }
        let share = counts.promoted * u64::from(SHARE_PERCENT) / 100;
        counts.deviation_max = counts.deviation_max.max(counts.lower.abs_diff(share));
    }
    Ok(counts)
}
