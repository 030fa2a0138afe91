//! Ends what timed out and promotes entries: sends `promote.lua`.

use vestibule_domain::{
    clock::ClockDifference,
    estimate::{LONG_WINDOW_MS, SHORT_WINDOW_MS, TICK_GAP_MAX_MS},
    id::QueueId,
    pace::LimitedBy,
};

use super::{Line, reply::ScriptReply, script::script};
use crate::{LineError, LossSign, PROMOTE_CHUNK, PromoteOrder, Promotion, SETTLED_END_KEPT_MS, TickMark};

script!(PROMOTE, "tick/promote");

impl Line {
    /// Drops entries whose deadline has passed, promotes as many present entries as the pace and the
    /// capacity allow, and writes both to the journal. Goes past absent entries: see
    /// [`presence`](vestibule_domain::presence). If presence is off, all entries are promoted in turn.
    ///
    /// Any number of callers may call this at any moment, because the amount depends only on stored
    /// time and state. Two cases promote and drop nothing and only record the heartbeat: the
    /// journal is at its overall limit, or the clocks of the server and the caller are
    /// apart.
    pub async fn promote(&self, queue: &QueueId, order: PromoteOrder) -> Result<Promotion, LineError> {
        let call = self
            .begin_call(&PROMOTE, queue)
            .arg(order.max_entries)
            .arg(PROMOTE_CHUNK)
            .arg(u8::from(order.is_promoter));
        let (epoch, mark) = match order.min_watermark {
            Some(fence) => (fence.epoch.to_string(), fence.watermark),
            None => (String::new(), 0),
        };
        let call = call
            .arg(self.journal_limits.new_entries)
            .arg(self.journal_limits.all_changes)
            .arg(epoch)
            .arg(mark);
        let call = call
            .arg(SHORT_WINDOW_MS)
            .arg(LONG_WINDOW_MS)
            .arg(TICK_GAP_MAX_MS)
            .arg(SETTLED_END_KEPT_MS);
        let call = match order.history.last_tick {
            Some(tick) => call.arg(tick.epoch).arg(tick.ticks).arg(tick.at_ms),
            None => call.arg("").arg(0).arg(0),
        };
        let call = call.arg(u8::from(order.history.has_changed_server));
        let mut reply = call.send(self).await?;
        let (promoted, no_shows, expired) =
            (reply.read_number()?, reply.read_number()?, reply.read_number()?);
        let (silent, absences) = (reply.read_number()?, reply.read_number()?);
        let (overlong_waits, dismissed, left) =
            (reply.read_number()?, reply.read_number()?, reply.read_number()?);
        let limited_by = LimitedBy::from_name(&reply.read_text()?)
            .ok_or_else(|| reply.protocol_error("a known limit of the promotion"))?;
        let (waiting, ready, active) = (reply.read_number()?, reply.read_number()?, reply.read_number()?);
        let (promoted_through, now_ms) = (reply.read_number()?, reply.read_number()?);
        let clocks = ClockDifference {
            apart: reply.read_number()? == 1,
            ahead_ms: reply.read_signed()?,
            offset_ms: reply.read_signed()?,
        };
        let epoch = u32::try_from(reply.read_number()?).map_err(|_| reply.protocol_error("a valid epoch"))?;
        let tick = TickMark {
            epoch,
            ticks: reply.read_number()?,
            at_ms: now_ms,
        };
        Ok(Promotion {
            promoted,
            no_shows,
            expired,
            absences,
            overlong_waits,
            dismissed,
            left,
            limited_by,
            has_more: promoted + no_shows + expired + silent + absences + overlong_waits + dismissed + left
                == PROMOTE_CHUNK,
            waiting,
            ready,
            active,
            promoted_through,
            now_ms,
            clocks,
            tick,
            loss_sign: read_loss_sign(&mut reply)?,
            is_check_due: reply.read_number()? == 1,
        })
    }
}

fn read_loss_sign(reply: &mut ScriptReply) -> Result<Option<LossSign>, LineError> {
    let word = reply.read_text()?;
    let signs = [LossSign::LostTick, LossSign::ChangedServer, LossSign::Imbalance];
    let sign = signs.into_iter().find(|sign| sign.name() == word);
    if sign.is_none() && !word.is_empty() {
        return Err(reply.protocol_error("a known sign of a loss"));
    }
    Ok(sign)
}
