//! The command `promote`: promotes entries on request.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use vestibule_domain::id::QueueId;
use vestibule_engine::drain::{RECORDS_MAX, drain};
use vestibule_line::{Fence, PROMOTE_CHUNK, PromoteOrder};

use super::{Admin, Problem, shelf};

/// The flush may take as long as a function may run. The answer says whether all of the journal is durable.
const DRAIN_TIME: Duration = Duration::from_mins(15);

impl Admin {
    /// Promotes at most `count` entries, within the capacity and the pace. It spends tokens from the same
    /// bucket as the promoter.
    pub(super) async fn promote(&self, queue: &QueueId, count: u64) -> Result<Value, Problem> {
        let stored = self.stored(queue).await?;
        let mut promoted = 0;
        let last = loop {
            let order = PromoteOrder {
                asked: (count - promoted).min(PROMOTE_CHUNK),
                heartbeat: false,
                fence: Some(Fence {
                    epoch: stored.line.epoch,
                    mark: stored.line.fence,
                }),
            };
            let step = self.line.promote(queue, order).await?;
            promoted += step.promoted;
            if !step.more || promoted >= count {
                break step;
            }
        };
        let shelf = shelf(queue, &stored);
        let until = Instant::now() + DRAIN_TIME;
        let drained = drain(&*self.line, &*self.backup, &shelf, RECORDS_MAX, until).await;
        Ok(json!({
            "queue": queue.as_str(),
            "asked": count,
            "promoted": promoted,
            "held_back_by": last.held_back_by,
            "waiting": last.waiting,
            "ready": last.ready,
            "active": last.active,
            "durable": drained.is_ok_and(|drained| drained.refused + drained.set_aside == 0),
        }))
    }
}
