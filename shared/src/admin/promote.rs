//! Promoting by hand.

use serde_json::{Value, json};

use super::{Admin, Problem, shelf};
use crate::{
    backup::drain,
    domain::id::QueueId,
    line::{PROMOTE_CHUNK, PromoteOrder},
    promoter::tick::RECORDS_MAX,
};

impl Admin {
    /// Promotes at most so many, as far as room and pace allow: it spends from the bucket that the promoter spends from.
    pub(super) async fn promote(&self, queue: &QueueId, count: u64) -> Result<Value, Problem> {
        let stored = self.stored(queue).await?;
        let mut promoted = 0;
        let last = loop {
            let order = PromoteOrder {
                asked: (count - promoted).min(PROMOTE_CHUNK),
                heartbeat: false,
            };
            let step = self.line.promote(queue, order).await?;
            promoted += step.promoted;
            if !step.more || promoted >= count {
                break step;
            }
        };
        let drained = drain::drain(&*self.line, &*self.backup, &shelf(queue, &stored), RECORDS_MAX).await;
        Ok(json!({
            "queue": queue.as_str(),
            "asked": count,
            "promoted": promoted,
            "held_back_by": last.held_back_by,
            "waiting": last.waiting,
            "ready": last.ready,
            "active": last.active,
            "durable": drained.is_ok(),
        }))
    }
}
