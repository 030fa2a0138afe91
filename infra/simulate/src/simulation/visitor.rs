//! The next step of one visitor, and its result.

use rand::RngExt;
use vestibule_domain::{
    entry_status::EntryStatus,
    poll_pacing::{HOLD_MAX_MS, plan_hold, retry_after_ms},
};
use vestibule_line::{ClaimOutcome, EnterOutcome, EntryLine, EntryLookup, LeaveOutcome, LeaveReason};

use super::{
    clients::{Clients, FIXED_POLL_MS},
    process::process_of,
    state::{Simulation, resolve},
    visitor_state::Step,
};
use crate::{population::Behavior, scenario::Network};

/// The most that a poll is late in a usual network, in milliseconds, and the most for one poll in 100.
const POLL_DELAY_MS: u64 = 300;
const POLL_DELAY_MS_MAX: u64 = 3_000;
/// The most that a claim comes after the visitor learned of the turn, in milliseconds.
const CLAIM_DELAY_MS: u64 = 1_000;
/// The same delays in a slow network.
const SLOW_POLL_DELAY_MS: u64 = 2_000;
const SLOW_CLAIM_DELAY_MS: u64 = 1_200;
/// The time from a tick to the answer of a held poll, in milliseconds.
const WAKE_MS: u64 = 25;

impl Simulation {
    pub(super) fn run_step(&mut self, visitor: u32) {
        if self.refuse_step(visitor) {
            return;
        }
        match self.visitors[visitor as usize].step {
            Step::Enter => self.enter(visitor),
            Step::Poll => self.poll(visitor),
            Step::EndHold => {
                self.release_held_poll(visitor);
                self.answer_poll(visitor, false);
            }
            Step::Claim => self.claim(visitor),
            Step::Complete => self.complete(visitor),
            Step::Leave => self.leave(visitor),
            Step::Vanish => self.vanish(visitor),
            Step::None => unreachable!("the event queue has no step for this visitor"),
        }
    }

    pub(super) fn schedule(&mut self, visitor: u32, step: Step, at_ms: u64) {
        self.visitors[visitor as usize].step = step;
        self.event_queue.schedule(visitor, at_ms);
    }

    fn enter(&mut self, visitor: u32) {
        let id = self.visitors[visitor as usize].id;
        let turn = self.entered;
        self.visitors[visitor as usize].turn = turn;
        self.entered += 1;
        match resolve(self.line.enter(&self.queue, id)).expect("the queue exists") {
            EnterOutcome::Joined {
                status: EntryStatus::Active { .. },
                ..
            } => {
                self.checker.admit(self.now_ms, &[turn]);
                self.sample.served += 1;
                self.start_session(visitor);
            }
            EnterOutcome::Joined {
                status: EntryStatus::Waiting { position, .. },
                ..
            } => {
                self.sample.waiting += 1;
                match self.clients {
                    Clients::Paced => {
                        self.refresh_view();
                        self.schedule_next_poll(visitor, position, self.forecast.eta_ms(position));
                    }
                    // A poll changes nothing for a fixed client until its turn comes. Its polls are counted then.
                    Clients::Fixed => {
                        self.start_fixed_polls(visitor);
                        self.wait_or_leave(visitor);
                    }
                }
            }
            other => panic!("the line refused a visitor: {other:?}"),
        }
        self.serve_request(visitor);
    }

    fn poll(&mut self, visitor: u32) {
        self.count_poll(visitor);
        self.answer_poll(visitor, true);
        self.serve_request(visitor);
    }

    /// Reads the status for a poll that has just arrived, or for one whose hold has ended.
    fn answer_poll(&mut self, visitor: u32, may_hold: bool) {
        let id = self.visitors[visitor as usize].id;
        match resolve(self.line.status(&self.queue, id)).expect("the queue exists") {
            EntryLookup::Found(EntryStatus::Waiting { position, .. }) => {
                self.refresh_view();
                let eta_ms = self.forecast.eta_ms(position);
                if !(may_hold && self.hold_poll(visitor, eta_ms)) {
                    self.schedule_next_poll(visitor, position, eta_ms);
                }
            }
            EntryLookup::Found(EntryStatus::Ready { .. }) => self.schedule_claim(visitor, 0),
            EntryLookup::Found(active @ EntryStatus::Active { .. }) => {
                panic!("an entry is active without a claim: {active:?}")
            }
            EntryLookup::NotFound(_) => self.lose_turn(visitor),
        }
    }

    /// Holds the poll if the pacing asks for it and the budget has room.
    fn hold_poll(&mut self, visitor: u32, eta_ms: u64) -> bool {
        let planned = plan_hold(
            eta_ms,
            HOLD_MAX_MS,
            self.scenario.held_budget,
            self.forecast.expected_per_second(),
            self.view.configuration.settings.can_promote(),
        );
        let Some(hold) = planned.filter(|hold| self.held_polls < hold.held_polls_limit) else {
            return false;
        };
        self.held_polls += 1;
        self.processes[process_of(visitor)].add_held_poll();
        self.outcome.held_max = self.outcome.held_max.max(self.held_polls);
        self.visitors[visitor as usize].held_since_ms = self.now_ms;
        self.schedule(visitor, Step::EndHold, self.now_ms + hold.max_ms);
        true
    }

    pub(super) fn release_held_poll(&mut self, visitor: u32) {
        self.held_polls -= 1;
        self.processes[process_of(visitor)].remove_held_poll();
        let held_ms = self.now_ms - self.visitors[visitor as usize].held_since_ms;
        self.visitors[visitor as usize].outcome.held_ms += u32::try_from(held_ms).unwrap_or(u32::MAX);
    }

    /// Answers a waiting visitor with the wait estimate and `retry_after_ms`, and schedules the next poll.
    fn schedule_next_poll(&mut self, visitor: u32, position: u64, eta_ms: u64) {
        if self.outcome.estimates.is_sampled(visitor) {
            let estimate = self.view.estimate(&self.forecast, position);
            self.outcome
                .estimates
                .record_answer(visitor, self.now_ms, estimate);
        }
        let claim_ms = self.view.configuration.settings.claim_ms();
        let age_ms = self.now_ms - self.viewed_at_ms;
        let retry_after_ms = retry_after_ms(eta_ms, claim_ms, age_ms, self.rng.random());
        self.outcome.retry_after_ms_max = self.outcome.retry_after_ms_max.max(retry_after_ms);
        let delay_ms = self.draw_poll_delay_ms();
        let behavior = self.visitors[visitor as usize].drawn.behavior;
        let pause_ms = match behavior {
            Behavior::Impatient => retry_after_ms / 3,
            Behavior::Late => claim_ms * 3 / 2,
            _ => retry_after_ms,
        };
        self.schedule_poll(visitor, self.now_ms + pause_ms + delay_ms);
    }

    /// Schedules the next poll, unless the visitor leaves or vanishes before it.
    pub(super) fn schedule_poll(&mut self, visitor: u32, at_ms: u64) {
        match self.visitors[visitor as usize].drawn.behavior {
            Behavior::LeavesAt(leaves_ms) if leaves_ms <= at_ms => {
                self.schedule(visitor, Step::Leave, leaves_ms);
            }
            Behavior::VanishesAt(vanishes_ms) if vanishes_ms <= at_ms => {
                self.visitors[visitor as usize].step = Step::None;
            }
            _ => self.schedule(visitor, Step::Poll, at_ms),
        }
    }

    pub(super) fn draw_poll_delay_ms(&mut self) -> u64 {
        match self.scenario.network {
            Network::Slow => self.rng.random_range(0..=SLOW_POLL_DELAY_MS),
            Network::Usual => match self.rng.random_range(0..100) {
                0 => self.rng.random_range(0..POLL_DELAY_MS_MAX),
                _ => self.rng.random_range(10..POLL_DELAY_MS),
            },
        }
    }

    fn wait_or_leave(&mut self, visitor: u32) {
        match self.visitors[visitor as usize].drawn.behavior {
            Behavior::LeavesAt(leaves_ms) => self.schedule(visitor, Step::Leave, leaves_ms),
            Behavior::VanishesAt(vanishes_ms) => self.schedule(visitor, Step::Vanish, vanishes_ms),
            Behavior::Punctual | Behavior::Impatient | Behavior::Late => {
                self.visitors[visitor as usize].step = Step::Poll;
            }
        }
    }

    /// Records that a visitor was promoted. The visitor learns of it at once if a poll is held, and otherwise
    /// with the next poll.
    pub(super) fn receive_turn(&mut self, visitor: u32) {
        let drawn = self.visitors[visitor as usize].drawn;
        let waited_ms = self.now_ms - drawn.arrives_at_ms;
        self.visitors[visitor as usize].outcome.waited_ms = Some(waited_ms);
        self.outcome.estimates.record_turn(visitor, self.now_ms);
        if self.visitors[visitor as usize].step == Step::EndHold {
            self.release_held_poll(visitor);
            self.schedule_claim(visitor, WAKE_MS);
        } else if self.clients == Clients::Fixed && self.visitors[visitor as usize].step != Step::None {
            self.fixed_polls.remove(drawn.arrives_at_ms);
            let polls = waited_ms / FIXED_POLL_MS + 1;
            let at_ms = drawn.arrives_at_ms + polls * FIXED_POLL_MS;
            // A visitor who vanishes before that poll keeps the step to vanish.
            if !matches!(drawn.behavior, Behavior::VanishesAt(vanishes_ms) if vanishes_ms < at_ms) {
                self.schedule(visitor, Step::Claim, at_ms);
                self.visitors[visitor as usize].outcome.polls = u32::try_from(polls).unwrap_or(u32::MAX);
            }
        }
    }

    fn schedule_claim(&mut self, visitor: u32, after_ms: u64) {
        let delay_ms_max = match self.scenario.network {
            Network::Usual => CLAIM_DELAY_MS,
            Network::Slow => SLOW_CLAIM_DELAY_MS,
        };
        let delay_ms = self.rng.random_range(0..=delay_ms_max);
        self.schedule(visitor, Step::Claim, self.now_ms + after_ms + delay_ms);
    }

    fn claim(&mut self, visitor: u32) {
        let id = self.visitors[visitor as usize].id;
        match resolve(self.line.claim(&self.queue, id)).expect("the queue exists") {
            ClaimOutcome::Active { .. } => self.start_session(visitor),
            ClaimOutcome::StillWaiting(status) => panic!("a ready entry is waiting again: {status:?}"),
            ClaimOutcome::NotFound(_) => self.lose_turn(visitor),
        }
        if self.clients == Clients::Fixed {
            // The poll by which the client learned of the turn.
            self.serve_request(visitor);
        }
    }

    fn lose_turn(&mut self, visitor: u32) {
        self.visitors[visitor as usize].step = Step::None;
        let is_punctual = self.visitors[visitor as usize].drawn.behavior == Behavior::Punctual;
        self.outcome.lost_turns += u64::from(is_punctual);
    }

    fn start_session(&mut self, visitor: u32) {
        let session_ms = self.settings.session_ms();
        match self.visitors[visitor as usize].drawn.stay_ms {
            Some(stay_ms) if stay_ms < session_ms => {
                self.schedule(visitor, Step::Complete, self.now_ms + stay_ms);
            }
            // The session expires.
            _ => self.visitors[visitor as usize].step = Step::None,
        }
    }

    fn complete(&mut self, visitor: u32) {
        self.visitors[visitor as usize].step = Step::None;
        self.end_visit(visitor, LeaveReason::Complete);
    }

    fn leave(&mut self, visitor: u32) {
        self.visitors[visitor as usize].step = Step::None;
        self.outcome.left += 1;
        if self.clients == Clients::Fixed {
            self.stop_fixed_polls(visitor);
        }
        self.end_visit(visitor, LeaveReason::Leave);
    }

    fn vanish(&mut self, visitor: u32) {
        self.visitors[visitor as usize].step = Step::None;
        self.stop_fixed_polls(visitor);
    }

    /// Counts the polls of a fixed client that stops polling before it learned of its turn.
    fn stop_fixed_polls(&mut self, visitor: u32) {
        let arrived_at_ms = self.visitors[visitor as usize].drawn.arrives_at_ms;
        let outcome = &mut self.visitors[visitor as usize].outcome;
        outcome.polls = u32::try_from((self.now_ms - arrived_at_ms) / FIXED_POLL_MS).unwrap_or(u32::MAX);
        if outcome.waited_ms.is_none() {
            self.fixed_polls.remove(arrived_at_ms);
        }
    }

    fn end_visit(&mut self, visitor: u32, reason: LeaveReason) {
        let id = self.visitors[visitor as usize].id;
        let left = resolve(self.line.leave(&self.queue, id, None, reason)).expect("the queue exists");
        let LeaveOutcome::Ended(change) = left else {
            return;
        };
        self.visit_ends.extend(change.visit_end());
        let had_turn = self.visitors[visitor as usize].outcome.waited_ms.is_some();
        if had_turn || reason == LeaveReason::Complete {
            self.checker.release_slots(1);
        }
    }
}
