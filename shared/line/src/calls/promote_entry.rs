//! Promotes one entry by order of an operator: sends `promote_entry.lua`.

use vestibule_domain::{
    change::{Change, Event},
    entry_status::EntryStatus,
    fact::{Step, Turn},
    id::{EntryId, QueueId},
    pace::LimitedBy,
};

use super::{Line, reply::ScriptReply, script::script};
use crate::{EntryPromotionOutcome, LineError, PromoteEntryOrder};

script!(PROMOTE_ENTRY, "operator/promote_entry");

impl Line {
    /// Promotes one waiting entry, wherever in line it is. It takes a token of the pace, or goes beyond
    /// the pace if the order says so, but never beyond the capacity. It does not count as gone ahead,
    /// because no entry goes past the head of its lane by it.
    pub async fn promote_entry(
        &self,
        queue: &QueueId,
        order: PromoteEntryOrder,
    ) -> Result<EntryPromotionOutcome, LineError> {
        let id = order.id;
        let call = self
            .begin_call(&PROMOTE_ENTRY, queue)
            .arg(id.to_member())
            .arg(u8::from(order.over_pace));
        let mut reply = call.send(self).await?;
        match reply.outcome() {
            "promoted" => read_promotion(id, reply),
            "limited" => {
                let name = reply.read_text()?;
                let limit = LimitedBy::from_name(&name);
                let limit = limit.ok_or_else(|| reply.protocol_error("a known limit"))?;
                Ok(EntryPromotionOutcome::Limited(limit))
            }
            "not-waiting" => Ok(EntryPromotionOutcome::NotWaiting(reply.read_status()?)),
            "gone" => Ok(EntryPromotionOutcome::NotFound(reply.read_not_found(id)?)),
            _ => Err(reply.protocol_error("a known outcome")),
        }
    }
}

fn read_promotion(id: EntryId, mut reply: ScriptReply) -> Result<EntryPromotionOutcome, LineError> {
    let (version, place) = (reply.read_new_version()?, reply.read_score()?);
    let turn = match reply.read_step()? {
        Step::ReadyAgain => Turn::Second,
        _ => Turn::First,
    };
    let (status, at_ms) = reply.read_status_with_time()?;
    let EntryStatus::Ready { claim_by_ms, .. } = status else {
        return Err(reply.protocol_error("a ready entry"));
    };
    let event = Event::Promoted {
        place,
        turn,
        claim_by_ms,
    };
    let change = Change {
        id,
        version,
        at_ms,
        event,
        source: None,
    };
    Ok(EntryPromotionOutcome::Promoted { status, change })
}
