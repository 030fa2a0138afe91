//! Polls that the server holds: until the turn comes, or until their time is up.

use rand::RngExt;
use vestibule_api::shorten_pause_after_hold;
use vestibule_crowd::{
    act::{Act, Answer},
    rules::Refusal,
};
use vestibule_domain::{entry_status::EntryStatus, poll_pacing::Hold};
use vestibule_line::{CheckIn, EntryLookup};

use super::{
    clients::Clients,
    front_door::ServiceFailure,
    process::process_of,
    state::{Availability, Simulation},
    visitor_state::{HeldPoll, Step},
};

/// The time from a tick to the answer of a held poll, in milliseconds.
const WAKE_MS: u64 = 25;

impl Simulation {
    /// Answers a poll that may be held. `None` if it is.
    pub(super) fn begin_held_poll(
        &mut self,
        number: u32,
        act: Act,
        seconds: u32,
    ) -> Option<Result<Answer, Refusal>> {
        let CheckIn { lookup, lane } = self.check_in(number);
        if let EntryLookup::Found(EntryStatus::Waiting { score, position }) = lookup {
            self.refresh_reading();
            let budget = self.scenario.held_budget;
            let (moment, _) = self.moment();
            let hold = moment.plan_hold(score, position, u64::from(seconds) * 1_000, budget);
            if let Some(hold) = hold.filter(|hold| self.has_room_for(hold)) {
                self.hold(number, act, hold);
                return None;
            }
        }
        Some(self.answer_lookup(number, lookup, lane))
    }

    fn has_room_for(&self, hold: &Hold) -> bool {
        let limit = hold.unknown_speed_limit;
        self.held_polls < hold.held_polls_limit
            && limit.is_none_or(|limit| self.held_at_unknown_speed < limit)
    }

    fn hold(&mut self, number: u32, act: Act, hold: Hold) {
        let is_at_unknown_speed = hold.unknown_speed_limit.is_some();
        self.held_polls += 1;
        self.held_at_unknown_speed += u64::from(is_at_unknown_speed);
        self.processes[process_of(number)].add_held_poll();
        self.outcome.held_max = self.outcome.held_max.max(self.held_polls);
        self.visitors[number as usize].held = Some(HeldPoll {
            since_ms: self.now_ms,
            is_at_unknown_speed,
        });
        self.schedule(number, Step::EndHold(act), self.now_ms + hold.max_ms);
    }

    fn release_held_poll(&mut self, number: u32) {
        let Some(held) = self.visitors[number as usize].held.take() else {
            return;
        };
        self.held_polls -= 1;
        self.held_at_unknown_speed -= u64::from(held.is_at_unknown_speed);
        self.processes[process_of(number)].remove_held_poll();
        let held_ms = u32::try_from(self.now_ms - held.since_ms).unwrap_or(u32::MAX);
        self.visitors[number as usize].outcome.held_ms += held_ms;
    }

    /// Answers a held poll. `promoted` is the status of an entry whose turn has come.
    pub(super) fn end_hold(&mut self, number: u32, act: Act, promoted: Option<EntryStatus>) {
        self.release_held_poll(number);
        let is_door_down = self.front_door.as_ref().is_some_and(|door| door.is_down);
        let answer = if is_door_down {
            self.answer_without_line(number, act, ServiceFailure::Unreachable)
        } else if self.availability == Availability::Outage {
            self.answer_without_line(number, act, ServiceFailure::LineUnavailable)
        } else if let Some(status) = promoted {
            Ok(self.answer_entry(number, status, None, false))
        } else {
            self.answer_after_hold(number)
        };
        self.deliver(number, act, answer);
    }

    fn answer_after_hold(&mut self, number: u32) -> Result<Answer, Refusal> {
        let CheckIn { lookup, lane } = self.check_in(number);
        let mut answer = self.answer_lookup(number, lookup, lane)?;
        if let Answer::Entry(entry) = &mut answer {
            let (moment, rng) = self.moment();
            shorten_pause_after_hold(entry, moment, rng.random());
        }
        Ok(answer)
    }

    /// Records that a visitor was promoted, so that the entry has this status. The visitor learns of it at once if a poll is
    /// held, and otherwise with the next poll.
    pub(super) fn receive_turn(&mut self, number: u32, status: EntryStatus) {
        let now_ms = self.now_ms;
        let state = &mut self.visitors[number as usize];
        let is_first_turn = state.outcome.waited_ms.is_none();
        state.outcome.waited_ms = Some(now_ms - state.drawn.arrives_at_ms);
        if is_first_turn {
            self.outcome.estimates.record_turn(number, now_ms);
            self.outcome.document_estimates.record_turn(number, now_ms);
        }
        if let Step::EndHold(act) = state.step {
            self.release_held_poll(number);
            self.schedule(number, Step::Wake(act, status), now_ms + WAKE_MS);
        } else if self.clients == Clients::Fixed && self.visitors[number as usize].visitor.is_some() {
            self.call_fixed_client(number);
        }
    }

    /// Answers all held polls now.
    pub(super) fn end_holds(&mut self) {
        for number in 0..self.scenario.visitors {
            if let Step::EndHold(act) = self.visitors[number as usize].step {
                self.schedule(number, Step::EndHold(act), self.now_ms);
            }
        }
    }
}
