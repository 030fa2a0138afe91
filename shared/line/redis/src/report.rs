//! Takes the report of what happened in a queue since the last report: sends `take_report.lua`.

use std::sync::LazyLock;

use vestibule_domain::{id::QueueId, score::WaitScore};
use vestibule_line::{Happened, LineError, Report, ReportOrder, Reported};

use super::{RedisLine, script::Command};

pub(super) static REPORT: LazyLock<Command> =
    LazyLock::new(|| Command::new("report", include_str!("report.lua")));

pub(super) async fn report(
    line: &RedisLine,
    queue: &QueueId,
    order: ReportOrder,
) -> Result<Reported, LineError> {
    let call = line.call(&REPORT, queue).arg(order.every_ms).arg(order.idle_ms);
    let mut reply = call.send(line).await?;
    match reply.outcome() {
        "early" => {
            let due_in_ms = reply.number()?;
            return Ok(Reported::Early { due_in_ms });
        }
        "report" => {}
        _ => return Err(reply.nonsense("a known outcome")),
    }
    let now_ms = reply.number()?;
    let (waiting, ready, active) = (reply.number()?, reply.number()?, reply.number()?);
    let (journal, aside) = (reply.number()?, reply.number()?);
    let oldest_at_ms = Some(reply.number()?).filter(|at_ms| *at_ms > 0);
    let (head, tail) = (reply.score()?, reply.score()?);
    let is_place = |score: &WaitScore| score.raw() > 0;
    Ok(Reported::Due(Box::new(Report {
        now_ms,
        waiting,
        ready,
        active,
        journal,
        aside,
        backup_lag_ms: oldest_at_ms.map_or(0, |at_ms| now_ms.saturating_sub(at_ms)),
        head: Some(head).filter(is_place),
        tail: Some(tail).filter(is_place),
        tick_age_ms: reply.number()?,
        waited_ms: reply.number()?,
        waited_max_ms: reply.number()?,
        happened: Happened {
            entered: reply.number()?,
            promoted: reply.number()?,
            completed: reply.number()?,
            left: reply.number()?,
            expired: reply.number()?,
            no_shows: reply.number()?,
        },
        generation: u32::try_from(reply.number()?).map_err(|_| reply.nonsense("a valid generation"))?,
        check_age_ms: reply.number()?,
    })))
}
