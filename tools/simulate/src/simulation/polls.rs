//! The polls of waiting visitors and their answers.

use rand::RngExt;
use vestibule_domain::{
    entry_status::EntryStatus,
    lane::LaneProgress,
    poll_pacing::{
        HOLD_MAX_MS, Hold, first_poll_ms, look_after_ms, retry_after_hold_ms, retry_after_ms, retry_cap_ms,
    },
};
use vestibule_line::{CheckIn, ClaimOutcome, EntryLookup};
use vestibule_sizing::ceilings::LANE_COST;

use super::{
    clients::{Clients, FIXED_POLL_MS},
    follower::FarEntry,
    process::process_of,
    state::{Simulation, resolve},
    visitor_state::Step,
};
use crate::{population::Behavior, scenario::Network};

/// The most that a claim comes after the visitor learned of the turn, in milliseconds, in a usual and in a slow network.
const CLAIM_DELAY_MS: u64 = 1_000;
const SLOW_CLAIM_DELAY_MS: u64 = 1_200;
/// The time from a tick to the answer of a held poll, in milliseconds.
const WAKE_MS: u64 = 25;

impl Simulation {
    pub(super) fn poll(&mut self, visitor: u32) {
        self.count_poll(visitor);
        self.answer_poll(visitor, true);
        self.serve_request(visitor);
    }

    /// Reads an entry for the poll of its visitor, who checks in with it. Every poll comes through here.
    pub(super) fn read_entry(&self, visitor: u32) -> CheckIn {
        let id = self.visitors[visitor as usize].id;
        resolve(self.line.check_in(&self.queue, id)).expect("the queue exists")
    }

    /// Reads the status for a poll that has just arrived, or for one whose hold has ended.
    pub(super) fn answer_poll(&mut self, visitor: u32, may_hold: bool) {
        let CheckIn { lookup, lane } = self.read_entry(visitor);
        match lookup {
            EntryLookup::Found(status @ EntryStatus::Waiting { score, position }) => {
                self.refresh_view();
                if lane.is_some_and(|lane| score.raw() <= lane.check_in_through) {
                    self.visitors[visitor as usize].checked_in_at_ms = Some(self.now_ms);
                }
                if !(may_hold && self.hold_poll(visitor, position)) {
                    self.answer_waiting(visitor, status, lane, true);
                }
            }
            EntryLookup::Found(EntryStatus::Ready { .. }) => self.schedule_claim(visitor, 0),
            EntryLookup::Found(active @ EntryStatus::Active { .. }) => {
                panic!("an entry is active without a claim: {active:?}")
            }
            EntryLookup::NotFound(_) => self.lose_turn(visitor),
        }
    }

    /// Answers a waiting visitor, and schedules the next request by that answer. `lane` is how far the lane of the entry
    /// has moved, read after the position, if it is known. `if_called` is what holds if the visitor is called.
    pub(super) fn answer_waiting(
        &mut self,
        visitor: u32,
        status: EntryStatus,
        lane: Option<LaneProgress>,
        was_poll: bool,
    ) {
        let EntryStatus::Waiting { score, position } = status else {
            unreachable!("the entry waits: {status:?}");
        };
        if self.outcome.estimates.is_sampled(visitor) {
            let estimate = self.view.estimate(&self.forecast, position);
            self.outcome
                .estimates
                .record_answer(visitor, self.now_ms, estimate);
        }
        let far_in_lane = lane.filter(|lane| score.raw() > lane.check_in_through);
        let settings = &self.view.configuration.settings;
        let is_called = far_in_lane.is_none();
        let was_check_in = was_poll && is_called;
        let (cap_ms, claim_ms) = (retry_cap_ms(settings, was_check_in), settings.claim_ms());
        let (eta_ms, age_ms) = (self.forecast.eta_ms(position), self.now_ms - self.viewed_at_ms);
        let retry_after_ms = retry_after_ms(eta_ms, cap_ms, age_ms, self.rng.random());
        let retry_after_ms = if self.visitors[visitor as usize].step == Step::EndHold {
            retry_after_hold_ms(eta_ms, retry_after_ms, self.rng.random())
        } else {
            let first_ms = first_poll_ms(settings, is_called).filter(|_| !was_poll);
            first_ms.unwrap_or(retry_after_ms)
        };
        self.outcome.retry_after_ms_max = self.outcome.retry_after_ms_max.max(retry_after_ms);
        if self.clients == Clients::Following {
            let far = far_in_lane.map(|lane| FarEntry {
                place: score.raw(),
                lane: score.lane(),
                position: narrow(position),
                gone_ahead: lane.gone_ahead,
                eta_ms: narrow(eta_ms),
                retry_after_ms: narrow(retry_after_ms),
                look_after_ms: narrow(look_after_ms(self.view.in_line(), self.rng.random())),
            });
            let jitter = self.rng.random();
            self.followers[visitor as usize].receive_entry(far, &self.documents, self.now_ms, jitter);
            if far.is_some() {
                return self.schedule_far_request(visitor);
            }
        }
        let delay_ms = self.draw_poll_delay_ms();
        let pause_ms = match self.visitors[visitor as usize].drawn.behavior {
            Behavior::Impatient => retry_after_ms / 3,
            Behavior::Late => claim_ms * 3 / 2,
            _ => retry_after_ms,
        };
        self.schedule_request(visitor, Step::Poll, self.now_ms + pause_ms + delay_ms);
    }

    /// Reads how far the lane of an entry has moved, after its position was read. `None` if the entry is called.
    pub(super) fn read_lane_of_far_entry(&mut self, status: EntryStatus) -> Option<LaneProgress> {
        let EntryStatus::Waiting { score, .. } = status else {
            return None;
        };
        let mut lanes = self.view.lanes.iter();
        let (_, snapshot) = lanes.find(|(lane, _)| *lane == score.lane())?;
        if score.raw() <= snapshot.check_in_through {
            return None;
        }
        self.charge_slot(LANE_COST);
        resolve(self.line.lane_progress(&self.queue, score.lane())).ok()
    }

    /// Holds the poll if the pacing asks for it and the budget has room.
    fn hold_poll(&mut self, visitor: u32, position: u64) -> bool {
        let settings = &self.view.configuration.settings;
        let planned = self.forecast.plan_hold(
            position,
            HOLD_MAX_MS.min(settings.check_in_interval_ms()),
            self.scenario.held_budget,
            !settings.stops_promotion(self.now_ms),
        );
        let has_room = |hold: &Hold| {
            let limit = hold.unknown_speed_limit;
            self.held_polls < hold.held_polls_limit
                && limit.is_none_or(|limit| self.held_at_unknown_speed < limit)
        };
        let Some(hold) = planned.filter(has_room) else {
            return false;
        };
        self.held_polls += 1;
        let is_unknown = hold.unknown_speed_limit.is_some();
        self.held_at_unknown_speed += u64::from(is_unknown);
        self.visitors[visitor as usize].is_held_at_unknown_speed = is_unknown;
        self.processes[process_of(visitor)].add_held_poll();
        self.outcome.held_max = self.outcome.held_max.max(self.held_polls);
        self.visitors[visitor as usize].held_since_ms = self.now_ms;
        self.schedule(visitor, Step::EndHold, self.now_ms + hold.max_ms);
        true
    }

    pub(super) fn release_held_poll(&mut self, visitor: u32) {
        self.held_polls -= 1;
        let state = &mut self.visitors[visitor as usize];
        self.held_at_unknown_speed -= u64::from(std::mem::take(&mut state.is_held_at_unknown_speed));
        self.processes[process_of(visitor)].remove_held_poll();
        let held_ms = self.now_ms - self.visitors[visitor as usize].held_since_ms;
        self.visitors[visitor as usize].outcome.held_ms += narrow(held_ms);
    }

    /// Records that a visitor was promoted. The visitor learns of it at once if a poll is held, and otherwise
    /// with the next poll.
    pub(super) fn receive_turn(&mut self, visitor: u32) {
        let drawn = self.visitors[visitor as usize].drawn;
        let waited_ms = self.now_ms - drawn.arrives_at_ms;
        self.visitors[visitor as usize].outcome.waited_ms = Some(waited_ms);
        self.outcome.estimates.record_turn(visitor, self.now_ms);
        self.outcome.document_estimates.record_turn(visitor, self.now_ms);
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
                self.visitors[visitor as usize].outcome.polls = narrow(polls);
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

    pub(super) fn claim(&mut self, visitor: u32) {
        let id = self.visitors[visitor as usize].id;
        match resolve(self.line.claim(&self.queue, id)).expect("the queue exists") {
            ClaimOutcome::Active { .. } => {
                let state = &mut self.visitors[visitor as usize];
                let waited_ms = state.outcome.waited_ms.unwrap_or(0);
                let turn_at_ms = state.drawn.arrives_at_ms + waited_ms;
                state.outcome.claimed_after_ms = Some(narrow(self.now_ms - turn_at_ms));
                self.start_session(visitor);
            }
            ClaimOutcome::StillWaiting(status) => panic!("a ready entry is waiting again: {status:?}"),
            ClaimOutcome::NotFound(_) => self.lose_turn(visitor),
        }
        if self.clients == Clients::Fixed {
            // The poll by which the client learned of the turn.
            self.serve_request(visitor);
        }
    }
}

fn narrow(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
