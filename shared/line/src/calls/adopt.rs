//! Makes one entry agree with its record in the backup: sends `adopt.lua`.

use std::fmt::Display;

use vestibule_domain::{
    change::{Change, EndReason},
    id::{EntryId, QueueId},
    record::EntryRecord,
    score::WaitScore,
};

use super::{
    Line,
    reply::{ScriptReply, repeat_status},
    script::script,
};
use crate::{ADOPT_WITHIN_MS, AdoptBasis, AdoptOrder, AdoptOutcome, LineError};

script!(ADOPT, "recovery/adopt");

impl Line {
    /// Compares one entry with its record in the backup. The greater fact wins.
    ///
    /// - If the record's fact is greater, the line takes it over: the entry goes to its place, gets
    ///   a new claim deadline, stays active until its session ends, or is removed because it ended.
    /// - If the line's fact is greater, the answer has the change to write.
    /// - A provisional place that the backup refused yields to an earlier visit that goes on, by
    ///   [`resolve_provisional`](vestibule_domain::reconcile::resolve_provisional).
    ///
    /// An entry that the line does not know is taken over only if the caller learned that within
    /// [`ADOPT_WITHIN_MS`](crate::ADOPT_WITHIN_MS). So a process that was suspended does not bring
    /// an ended visit back.
    pub async fn adopt(&self, queue: &QueueId, order: &AdoptOrder) -> Result<AdoptOutcome, LineError> {
        let (basis, unknown_at_ms, given_visit, grace_seconds) = match order.basis {
            AdoptBasis::Known => ("known", None, None, None),
            AdoptBasis::UnknownAt(at_ms) => ("unknown", Some(at_ms), None, None),
            AdoptBasis::Provisional { place, grace_seconds } => (
                "provisional",
                None,
                Some(place.visit().number()),
                Some(grace_seconds),
            ),
        };
        let call = self
            .begin_call(&ADOPT, queue)
            .arg(order.id.to_member())
            .arg(order.generation)
            .arg(basis)
            .arg(or_empty(unknown_at_ms))
            .arg(ADOPT_WITHIN_MS)
            .arg(or_empty(given_visit))
            .arg(or_empty(grace_seconds))
            .args(record_args(order.record.as_ref()));
        read_outcome(order.id, call.send(self).await?)
    }
}

/// The record as arguments of the script. They are all empty if there is no record.
fn record_args(record: Option<&EntryRecord>) -> [String; 10] {
    let Some(record) = record else {
        return Default::default();
    };
    let fact = record.fact;
    [
        record.version.epoch.to_string(),
        record.version.v.to_string(),
        fact.visit.number().to_string(),
        fact.step.number().to_string(),
        fact.step_ms.to_string(),
        u8::from(fact.is_over).to_string(),
        or_empty(record.score.map(WaitScore::raw)),
        or_empty(record.end_reason().map(EndReason::name)),
        or_empty(record.ended_at_ms),
        or_empty(record.claimed_at_ms),
    ]
}

fn or_empty(value: Option<impl Display>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

fn read_outcome(id: EntryId, mut reply: ScriptReply) -> Result<AdoptOutcome, LineError> {
    match reply.outcome() {
        "rejected" => Ok(AdoptOutcome::Rejected),
        "future" => Ok(AdoptOutcome::FromTheFuture),
        "enter-again" => Ok(AdoptOutcome::EnterAgain),
        "stands" => Ok(AdoptOutcome::Stands {
            after: reply.read_optional_visit()?,
        }),
        "ended" => Ok(AdoptOutcome::Ended {
            has_removed: reply.read_number()? == 1,
            change: None,
        }),
        "end-to-write" => Ok(AdoptOutcome::Ended {
            has_removed: reply.read_number()? == 1,
            change: Some(reply.read_end(id)?),
        }),
        "live" => read_live(id, reply),
        _ => Err(reply.protocol_error("a known outcome")),
    }
}

fn read_live(id: EntryId, mut reply: ScriptReply) -> Result<AdoptOutcome, LineError> {
    let (version, has_adopted) = (reply.read_version()?, reply.read_number()? == 1);
    let (status, at_ms) = reply.read_status_with_time()?;
    let (step, is_fast_tracked) = (reply.read_step()?, reply.read_number()? == 1);
    let event = repeat_status(&status, step, is_fast_tracked, reply.read_number()?);
    let change = version.zip(event).map(|(version, event)| Change {
        id,
        version,
        at_ms,
        event,
        source: None,
    });
    Ok(AdoptOutcome::Live {
        status,
        change,
        has_adopted,
    })
}
