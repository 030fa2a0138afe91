//! Entering the line, and leaving or vanishing before the turn.

use vestibule_domain::entry_status::EntryStatus;
use vestibule_line::{Arrival, EnterOutcome, LeaveOutcome, LeaveReason};

use super::{
    clients::{Clients, FIXED_POLL_MS},
    state::{Simulation, resolve},
    visitor_state::Step,
};
use crate::population::Behavior;

impl Simulation {
    pub(super) fn enter(&mut self, visitor: u32) {
        let id = self.visitors[visitor as usize].id;
        let turn = self.turn_order.enter(visitor);
        self.visitors[visitor as usize].turn = turn;
        self.entered += 1;
        match resolve(self.line.enter(&self.queue, id, Arrival::Ordinary)).expect("the queue exists") {
            EnterOutcome::Joined {
                status: EntryStatus::Active { .. },
                ..
            } => {
                self.record_admission(&[turn]);
                self.sample.served += 1;
                self.start_session(visitor);
            }
            EnterOutcome::Joined {
                status: status @ EntryStatus::Waiting { position, .. },
                ..
            } => {
                self.sample.waiting += 1;
                self.refresh_view();
                let eta_ms = self.forecast.eta_ms(position);
                let behavior = &mut self.visitors[visitor as usize].drawn.behavior;
                *behavior = behavior.after_entering(self.now_ms, eta_ms);
                match self.clients {
                    _ if *behavior == Behavior::Fake => {
                        self.visitors[visitor as usize].step = Step::None;
                    }
                    Clients::Paced | Clients::Following => {
                        let lane = self.read_lane_of_far_entry(status);
                        self.answer_waiting(visitor, status, lane, false);
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

    /// Records that the line admitted entries, by the numbers of their turns.
    pub(super) fn record_admission(&mut self, turns: &[u32]) {
        if turns.is_empty() {
            return;
        }
        let (now_ms, presence_ms) = (self.now_ms, self.settings.presence_ms());
        self.checker.admit(now_ms, turns.len() as u64);
        let visitors = &self.visitors;
        let attendance = |visitor: u32| visitors[visitor as usize].attendance(now_ms, presence_ms);
        self.turn_order.serve(now_ms, turns, attendance);
        let outcome = &mut self.outcome;
        outcome.served_from_ms = outcome.served_from_ms.min(now_ms);
        outcome.served_until_ms = now_ms;
    }

    fn wait_or_leave(&mut self, visitor: u32) {
        match self.visitors[visitor as usize].drawn.behavior {
            Behavior::LeavesAt(leaves_ms) => self.schedule(visitor, Step::Leave, leaves_ms),
            Behavior::VanishesAt(vanishes_ms) => self.schedule(visitor, Step::Vanish, vanishes_ms),
            _ => self.visitors[visitor as usize].step = Step::Poll,
        }
    }

    pub(super) fn leave(&mut self, visitor: u32) {
        let turn = self.visitors[visitor as usize].turn;
        self.visitors[visitor as usize].step = Step::None;
        self.outcome.left += 1;
        if self.clients == Clients::Fixed {
            self.stop_fixed_polls(visitor);
        }
        if self.visitors[visitor as usize].outcome.waited_ms.is_none() {
            self.turn_order.leave(turn);
        }
        self.end_visit(visitor, LeaveReason::Leave);
    }

    pub(super) fn vanish(&mut self, visitor: u32) {
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

    pub(super) fn end_visit(&mut self, visitor: u32, reason: LeaveReason) {
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
