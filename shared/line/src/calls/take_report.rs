//! Takes the report of what happened in a queue since the last report: sends `take_report.lua`.

use vestibule_domain::{id::QueueId, score::WaitScore};

use super::{Line, script::script};
use crate::{LineError, QueueEvents, Report, ReportOrder, ReportOutcome};

script!(TAKE_REPORT, "tick/take_report");

impl Line {
    /// Takes the next report: what happened to the queue since the report before.
    ///
    /// If a report is due, the first caller gets it. Any number of callers may ask at any moment,
    /// and each event is in exactly one report.
    pub async fn take_report(&self, queue: &QueueId, order: ReportOrder) -> Result<ReportOutcome, LineError> {
        let call = self
            .begin_call(&TAKE_REPORT, queue)
            .arg(order.every_ms)
            .arg(order.idle_ms);
        let mut reply = call.send(self).await?;
        match reply.outcome() {
            "early" => {
                let due_in_ms = reply.read_number()?;
                return Ok(ReportOutcome::NotDue { due_in_ms });
            }
            "report" => {}
            _ => return Err(reply.protocol_error("a known outcome")),
        }
        let now_ms = reply.read_number()?;
        let (waiting, ready, active) = (reply.read_number()?, reply.read_number()?, reply.read_number()?);
        let (journal, dead_letters) = (reply.read_number()?, reply.read_number()?);
        let oldest_at_ms = Some(reply.read_number()?).filter(|at_ms| *at_ms > 0);
        let (head, tail) = (reply.read_score()?, reply.read_score()?);
        let is_place = |score: &WaitScore| score.raw() > 0;
        Ok(ReportOutcome::Due(Box::new(Report {
            now_ms,
            waiting,
            ready,
            active,
            journal_len: journal,
            dead_letters,
            backup_lag_ms: oldest_at_ms.map_or(0, |at_ms| now_ms.saturating_sub(at_ms)),
            head: Some(head).filter(is_place),
            tail: Some(tail).filter(is_place),
            tick_age_ms: reply.read_number()?,
            waited_ms: reply.read_number()?,
            waited_max_ms: reply.read_number()?,
            stayed_ms: reply.read_number()?,
            stays: reply.read_number()?,
            events: QueueEvents {
                entered: reply.read_number()?,
                promoted: reply.read_number()?,
                completed: reply.read_number()?,
                left: reply.read_number()?,
                expired: reply.read_number()?,
                no_shows: reply.read_number()?,
                absences: reply.read_number()?,
            },
            generation: u32::try_from(reply.read_number()?)
                .map_err(|_| reply.protocol_error("a valid generation"))?,
            check_age_ms: reply.read_number()?,
            called: reply.read_number()?,
            present: reply.read_number()?,
            absent: reply.read_number()?,
            load_age_ms: Some(reply.read_number()?)
                .filter(|at_ms| *at_ms > 0)
                .map(|at_ms| now_ms.saturating_sub(at_ms)),
        })))
    }
}
