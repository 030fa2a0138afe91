//! What answers have promised holds, whatever settings change afterwards: deadlines, sessions, held slots and passes.

use std::collections::BTreeMap;

use vestibule_domain::{
    id::EntryId,
    score::WaitScore,
    settings::{Entrance, Passes},
    state::EntryState,
};
use vestibule_line::LeaveReason;
use vestibule_tests::lines::visitor;

use super::rules::{Check, Moment, Step, require};
use crate::operations::Operation;

/// The step of an entry that waits for its second turn.
const WAITING_AGAIN: u64 = 2;
/// The ways in which a visitor, the protected service or an operator ends a visit.
const CHOSEN: [&str; 4] = ["left", "completed", "consumed", "evicted"];

impl Moment {
    /// The clock by which turns run out: it stands still while the queue is paused or its front door is down.
    fn claim_clock_ms(&self) -> i64 {
        let until_ms = if self.settings().paused {
            self.total("paused_at_ms")
        } else {
            self.view.now_ms.cast_signed()
        };
        until_ms - self.total("paused_ms")
    }

    fn times(&self, state: EntryState) -> BTreeMap<EntryId, u64> {
        self.set(state).iter().copied().collect()
    }
}

impl Step<'_> {
    pub(super) fn require_promises(&self) -> Check {
        if self.adopts() {
            return Ok(());
        }
        self.require_kept_deadlines()?;
        self.require_kept_held_slots()?;
        self.require_ways_of_ending()
    }

    /// No deadline of a turn and no end of a session comes earlier, and the claim clock never runs faster than time.
    fn require_kept_deadlines(&self) -> Check {
        for state in [EntryState::Ready, EntryState::Active] {
            let after = self.after.times(state);
            for (id, was_ms) in self.before.times(state) {
                let is_ms = after.get(&id).copied().unwrap_or(was_ms);
                require(is_ms >= was_ms, || {
                    format!("the deadline of {id} came from {was_ms} to {is_ms}")
                })?;
            }
        }
        let passed_ms = self.after.view.now_ms.saturating_sub(self.before.view.now_ms);
        let claim_passed_ms = self.after.claim_clock_ms() - self.before.claim_clock_ms();
        require(claim_passed_ms <= passed_ms.cast_signed(), || {
            format!("the claim clock passed {claim_passed_ms} ms in {passed_ms} ms")
        })
    }

    /// A slot is held as long as it was said to be, unless its visitor comes back or the service completes the visit.
    fn require_kept_held_slots(&self) -> Check {
        let after: BTreeMap<_, _> = self.after.dump.held.iter().copied().collect();
        for (id, until_ms) in &self.before.dump.held {
            let holds = after.get(id).is_some_and(|is_ms| is_ms >= until_ms);
            let is_over = *until_ms <= self.after.view.now_ms;
            require(holds || is_over || self.names(*id), || {
                format!("the slot of {id} is not held until {until_ms}")
            })?;
        }
        Ok(())
    }

    /// A visit ends by itself only in the way of its state, and after its time. Nothing but a visitor, the service or an
    /// operator ends it otherwise.
    fn require_ways_of_ending(&self) -> Check {
        let now_ms = self.after.view.now_ms;
        let (was_ended, progress) = (self.before.ends(), self.before.progress());
        let (ready, active) = (
            self.before.times(EntryState::Ready),
            self.before.times(EntryState::Active),
        );
        let waiting = self.before.times(EntryState::Waiting);
        for (id, end) in self.after.ends() {
            let Some((visit, step)) = progress.get(&id).copied() else {
                continue;
            };
            let (ended_visit, _, how) = &end;
            if was_ended.get(&id) == Some(&end) || *ended_visit != visit {
                continue;
            }
            let how = how.split(':').next().unwrap_or_default();
            if CHOSEN.contains(&how) {
                let is_closed = self.before.dump.closing.iter().any(|(closing, _)| *closing == id);
                require(self.names(id) || is_closed, || {
                    format!("{id} ended as {how} by {:?}", self.op)
                })?;
                continue;
            }
            let is_kept = if let Some(deadline_ms) = ready.get(&id) {
                how == "no-show" && deadline_ms.cast_signed() <= self.after.claim_clock_ms()
            } else if let Some(end_ms) = active.get(&id) {
                how == "expired" && *end_ms <= now_ms
            } else if let Some(place) = waiting.get(&id) {
                match how {
                    "absence" => self.after.settings().presence_seconds > 0,
                    "dismissed" => self.after.settings().entrance_at(now_ms) == Entrance::Finished,
                    "overlong-wait" => step != WAITING_AGAIN && self.is_overlong(*place, now_ms),
                    _ => false,
                }
            } else {
                true
            };
            require(is_kept, || {
                format!("{id} of step {step} ended as {how} at {now_ms}, too early or by no right")
            })?;
        }
        Ok(())
    }

    fn is_overlong(&self, place: u64, now_ms: u64) -> bool {
        let max_ms = u64::from(self.after.settings().waiting_seconds_max) * 1_000;
        let joined_ms = WaitScore::from_raw(place)
            .filter(|place| place.is_after_opening())
            .map_or(0, WaitScore::joined_at_ms);
        max_ms > 0 && joined_ms + max_ms <= now_ms
    }

    /// Whether the operation names this entry.
    fn names(&self, id: EntryId) -> bool {
        match self.op {
            Operation::Enter(number, ..)
            | Operation::Leave(number, ..)
            | Operation::Validate { visitor: number, .. } => visitor(*number) == id,
            Operation::Evict { visits, .. } => visits.iter().any(|(number, _)| visitor(*number) == id),
            _ => false,
        }
    }
}

/// The visit of each active visitor, and until when the visitor may show a pass that was issued for it since the queue began
/// or was restored.
#[derive(Default)]
pub(super) struct PassPromises(BTreeMap<EntryId, (u64, u64)>);

impl PassPromises {
    /// Forgets all, because a queue without its data knows of no earlier settings but what the backup keeps.
    pub(super) fn begin(&mut self, moment: &Moment) {
        self.0.clear();
        self.issue(moment);
    }

    pub(super) fn check(&mut self, step: &Step<'_>) -> Check {
        let is_offline = |moment: &Moment| moment.settings().passes == Passes::Offline;
        if let Operation::Leave(number, _, LeaveReason::Leave | LeaveReason::Evict) = step.op
            && is_offline(step.before)
            && let Some((_, pass_ends_ms)) = self.0.get(&visitor(*number))
            && step
                .before
                .times(EntryState::Active)
                .contains_key(&visitor(*number))
            && !step
                .after
                .times(EntryState::Active)
                .contains_key(&visitor(*number))
        {
            let held: BTreeMap<_, _> = step.after.dump.held.iter().copied().collect();
            let until_ms = held
                .get(&visitor(*number))
                .copied()
                .unwrap_or(step.after.view.now_ms);
            require(until_ms >= *pass_ends_ms, || {
                format!("a slot is free at {until_ms}, and a pass of its visitor ends at {pass_ends_ms}")
            })?;
        }
        if !is_offline(step.after) {
            self.0.clear();
        }
        self.issue(step.after);
        Ok(())
    }

    /// Each active visitor gets a pass.
    fn issue(&mut self, moment: &Moment) {
        let active = moment.times(EntryState::Active);
        let progress = moment.progress();
        // A record may name another visit than the line did.
        self.0.retain(|id, (visit, _)| {
            active.contains_key(id) && progress.get(id).is_some_and(|(now, _)| now == visit)
        });
        let now_ms = moment.view.now_ms;
        for (id, session_end_ms) in active {
            let pass_ms = moment.settings().pass_ms(session_end_ms.saturating_sub(now_ms));
            let visit = progress.get(&id).map_or(0, |(visit, _)| *visit);
            let (_, pass_ends_ms) = self.0.entry(id).or_insert((visit, 0));
            // The session may be over, and its end not noticed yet.
            *pass_ends_ms = (*pass_ends_ms).max((now_ms + pass_ms).min(session_end_ms));
        }
    }
}
