//! Deletes journal records and dead letters that the backup has, and settles ends: sends
//! `acknowledge.lua`.

use vestibule_domain::{change::VisitEnd, id::QueueId};

use super::{Line, script::script};
use crate::{LineError, SETTLED_END_KEPT_MS};

script!(ACKNOWLEDGE, "journal/acknowledge");

impl Line {
    /// Acknowledges what the backup has: drops these records from the journal and the dead letters,
    /// and marks these ends as settled. The line keeps a settled end for
    /// [`SETTLED_END_KEPT_MS`](crate::SETTLED_END_KEPT_MS), because another process may still hold
    /// an older record.
    ///
    /// The end of an entry that entered and ended again since then stays unsettled, because its
    /// fact is greater.
    pub async fn acknowledge(
        &self,
        queue: &QueueId,
        keys: &[String],
        ended: &[VisitEnd],
    ) -> Result<(), LineError> {
        let ends = ended.iter().flat_map(|end| {
            let fact = end.fact;
            [
                end.id.to_member(),
                fact.visit.number().to_string(),
                fact.step.number().to_string(),
                fact.step_ms.to_string(),
                u8::from(fact.is_over).to_string(),
            ]
        });
        let call = self
            .begin_call(&ACKNOWLEDGE, queue)
            .arg(SETTLED_END_KEPT_MS)
            .arg(keys.len())
            .args(keys)
            .args(ends);
        call.send(self).await.map(drop)
    }
}
