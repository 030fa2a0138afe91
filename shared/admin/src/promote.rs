//! The command `promote`: promotes entries on request.

use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;
use vestibule_domain::id::QueueId;
use vestibule_engine::flush::{RECORDS_MAX, flush_journal};
use vestibule_line::{LineHistory, MinWatermark, PROMOTE_CHUNK, PromoteOrder};
use vestibule_wire::results::{Promotion, to_value};

use super::{Admin, Problem, entry_partition};

/// The flush may take as long as a function may run. The answer says whether all of the journal is
/// durable.
const FLUSH_TIME: Duration = Duration::from_mins(15);

impl Admin {
    /// Promotes at most `count` entries, within the capacity and the pace. It spends tokens from
    /// the same bucket as the promoter.
    pub(super) async fn promote(&self, queue: &QueueId, count: u64) -> Result<Value, Problem> {
        let stored = self.read_stored_queue(queue).await?;
        let mut promoted = 0;
        let last = loop {
            let order = PromoteOrder {
                max_entries: (count - promoted).min(PROMOTE_CHUNK),
                is_promoter: false,
                min_watermark: Some(MinWatermark {
                    epoch: stored.metadata.epoch,
                    watermark: stored.metadata.watermark,
                }),
                history: LineHistory::default(),
            };
            let step = self.line.promote(queue, order).await?;
            promoted += step.promoted;
            if !step.has_more || promoted >= count {
                break step;
            }
        };
        let partition = entry_partition(queue, &stored);
        let until = Instant::now() + FLUSH_TIME;
        let flushed = flush_journal(&self.line, &*self.backup, &partition, RECORDS_MAX, until).await;
        Ok(to_value(Promotion {
            queue: queue.to_string(),
            requested: count,
            promoted,
            limited_by: last.limited_by,
            waiting: last.waiting,
            ready: last.ready,
            active: last.active,
            durable: flushed.is_ok_and(|flushed| flushed.refused + flushed.dead_lettered == 0),
        }))
    }
}
