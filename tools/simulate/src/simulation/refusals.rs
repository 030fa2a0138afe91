//! Requests that a part of the deployment does not serve: the problem, and when the client may try again, as `api` says it.

use rand::RngExt;
use vestibule_api::{Code, KnownQueue, Problem, StoredPlace, describe_stored_entry};
use vestibule_crowd::{
    act::{Act, Answer},
    rules::Refusal,
};
use vestibule_domain::{
    entry_status::EntryStatus,
    poll_pacing::{RETRY_AFTER_MIN_SECONDS, RefusedQueue},
};
use vestibule_line::EntryLookup;
use vestibule_wire::{Entry, Pass};

use super::{
    front_door::ServiceFailure,
    state::{Simulation, resolve},
    unix_time::START_MS,
};

impl Simulation {
    /// What a visitor is told whose request is not served. A poll is answered from the backup if the line is overloaded.
    pub(super) fn answer_without_line(
        &mut self,
        number: u32,
        act: Act,
        failure: ServiceFailure,
    ) -> Result<Answer, Refusal> {
        let is_overload = failure == ServiceFailure::LineUnavailable && self.front_door.is_some();
        let is_poll = matches!(act, Act::Poll | Act::HeldPoll { .. });
        if is_overload
            && is_poll
            && let Some(entry) = self.read_backup(number)
        {
            self.record_return(number);
            return Ok(Answer::Entry(Box::new(entry)));
        }
        // A client that follows the document goes on with it.
        if !self.visitor(number).follower.is_far() {
            self.visitors[number as usize].refusals += 1;
        }
        Err(self.refuse(act, failure))
    }

    fn refuse(&mut self, act: Act, failure: ServiceFailure) -> Refusal {
        let (code, seconds) = match failure {
            ServiceFailure::Unreachable => return Refusal::NO_ANSWER,
            // The gateway's own answers are static.
            ServiceFailure::Throttled => (Code::TooManyRequests, Some(RETRY_AFTER_MIN_SECONDS)),
            ServiceFailure::LineUnavailable => {
                let code = Code::LineUnavailable;
                let problem = Problem::new(code, code.detail());
                let queue = self.refused_queue(act);
                (code, problem.retry_after_seconds(Some(&queue), self.rng.random()))
            }
        };
        Refusal {
            status: code.status(),
            code: Some(code),
            retry_after_ms: seconds.map_or(0.0, milliseconds),
            state: None,
        }
    }

    /// What the last reading before the outage tells.
    fn refused_queue(&self, act: Act) -> RefusedQueue {
        let known = self.reading.refused_queue();
        let is_of_crowd = matches!(act, Act::Enter | Act::Poll | Act::HeldPoll { .. } | Act::Document);
        RefusedQueue {
            waiting: if is_of_crowd { known.waiting } else { 0 },
            ..known
        }
    }

    /// The answer to a poll from the backup, without a position and without a place that the client could follow. `None` if
    /// the visit has ended, which a client is not told by the backup alone.
    fn read_backup(&mut self, number: u32) -> Option<Entry> {
        let state = &self.visitors[number as usize];
        let lookup = resolve(self.line.status(&self.queue, state.id)).expect("the queue exists");
        let EntryLookup::Found(status) = lookup else {
            return None;
        };
        let (deadline_ms, joined_at_ms) = match status {
            EntryStatus::Waiting { score, .. } => (None, Some(score.joined_at_ms())),
            EntryStatus::Ready { claim_by_ms, .. } => (Some(claim_by_ms), None),
            EntryStatus::Active { session_end_ms, .. } => (Some(session_end_ms), None),
        };
        let place = StoredPlace {
            id: state.id,
            visit: status.visit(),
            state: status.state(),
            deadline_ms,
            joined_at_ms,
            promoted_at_ms: state.turn_at_ms().map(|at_ms| START_MS + at_ms),
        };
        let settings = self.reading.settings();
        let known = KnownQueue {
            queue: &self.queue,
            settings,
            claim_ms: settings.claim_ms(),
            state: self.reading.view.state(),
        };
        let pass = matches!(status, EntryStatus::Active { .. }).then(|| Pass::new(String::new()));
        let now_ms = START_MS + self.now_ms;
        Some(describe_stored_entry(
            &known,
            &place,
            pass,
            now_ms,
            self.rng.random(),
        ))
    }

    /// Records that a visitor whose requests were not served is served again.
    pub(super) fn record_return(&mut self, number: u32) {
        let state = &mut self.visitors[number as usize];
        if std::mem::take(&mut state.refusals) == 0 {
            return;
        }
        let front_door_down_ms = &self.scenario.deployment.front_door_down_ms;
        if let Some(outage_ms) = self.scenario.outage_ms.as_ref().or(front_door_down_ms.as_ref()) {
            self.outcome.refused_visitors += 1;
            let after_ms = self.now_ms.saturating_sub(outage_ms.end);
            self.outcome.return_ms_max = self.outcome.return_ms_max.max(after_ms);
        }
    }
}

#[allow(clippy::cast_precision_loss)] // Some seconds.
fn milliseconds(seconds: u64) -> f64 {
    seconds as f64 * 1_000.0
}
