//! What one visitor does next, and what comes of it.

use rand::RngExt;
use vestibule_domain::{
    entry_status::EntryStatus,
    poll_pacing::{HOLD_MAX_MS, plan_hold, retry_after_ms},
};
use vestibule_line::{ClaimOutcome, EnterOutcome, EntryLine, EntryLookup, LeaveOutcome, LeaveReason};

use super::{Clients, FIXED_MS, World, driver::process_of, now};
use crate::crowd::Manner;

/// From one answer to the next request a network and a timer take so long at most, beside what was told; a few take longer.
const DELAY_MS: u64 = 300;
const DELAY_MS_MAX: u64 = 3_000;
/// From a turn that is seen to its claim.
const CLAIM_DELAY_MS: u64 = 1_000;
/// From a tick to the answer of a held poll.
const WAKE_MS: u64 = 25;

/// What a visitor does when the time comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Enter,
    Poll,
    /// The poll is held, until now at the longest.
    Held,
    Claim,
    Finish,
    Leave,
    /// Is not there any more, and says nothing.
    Vanish,
    Gone,
}

impl World {
    pub(super) fn step(&mut self, visitor: u32) {
        match self.people[visitor as usize].step {
            Step::Enter => self.enter(visitor),
            Step::Poll => self.poll(visitor),
            Step::Held => {
                self.release(visitor);
                self.see(visitor, false);
            }
            Step::Claim => self.claim(visitor),
            Step::Finish => self.finish(visitor),
            Step::Leave => self.leave(visitor),
            Step::Vanish => self.vanish(visitor),
            Step::Gone => unreachable!("whoever is gone has no plans"),
        }
    }

    fn plan(&mut self, visitor: u32, step: Step, at_ms: u64) {
        self.people[visitor as usize].step = step;
        self.agenda.plan(visitor, at_ms);
    }

    fn enter(&mut self, visitor: u32) {
        let id = self.people[visitor as usize].id;
        let entered = now(self.line.enter(&self.queue, id)).expect("it is there");
        match entered {
            EnterOutcome::Joined {
                status: EntryStatus::Active { .. },
                ..
            } => {
                self.judge.served(self.now_ms, 1);
                self.sample.served += 1;
                self.stay(visitor);
            }
            EnterOutcome::Joined {
                status: EntryStatus::Waiting { position, .. },
                ..
            } => {
                self.sample.waiting += 1;
                match self.clients {
                    Clients::Paced => {
                        self.look();
                        self.told(visitor, position, self.forecast.eta_ms(position));
                    }
                    // Until the turn comes a look changes nothing for them, and the polls are counted when it does.
                    Clients::Fixed => {
                        self.polls_on(visitor);
                        self.wait_or_leave(visitor);
                    }
                }
            }
            other => panic!("everybody may enter: {other:?}"),
        }
        self.call(visitor);
    }

    fn poll(&mut self, visitor: u32) {
        self.people[visitor as usize].fate.polls += 1;
        self.sample.polls += 1;
        self.see(visitor, true);
        self.call(visitor);
    }

    /// Looks at the entry, as a poll does that was just received, or at the end of its hold.
    fn see(&mut self, visitor: u32, may_hold: bool) {
        let id = self.people[visitor as usize].id;
        let look = now(self.line.status(&self.queue, id)).expect("it is there");
        match look {
            EntryLookup::Found(EntryStatus::Waiting { position, .. }) => {
                self.look();
                let eta_ms = self.forecast.eta_ms(position);
                if !(may_hold && self.hold(visitor, eta_ms)) {
                    self.told(visitor, position, eta_ms);
                }
            }
            EntryLookup::Found(EntryStatus::Ready { .. }) => self.claim_soon(visitor, 0),
            EntryLookup::Found(active @ EntryStatus::Active { .. }) => panic!("nobody claimed: {active:?}"),
            EntryLookup::NotFound(_) => self.lose(visitor),
        }
    }

    /// Holds the poll, where the pacing would and the budget has room.
    fn hold(&mut self, visitor: u32, eta_ms: u64) -> bool {
        let decided = plan_hold(
            eta_ms,
            HOLD_MAX_MS,
            self.scenario.held_budget,
            self.forecast.expected_per_second(),
            self.view.configuration.settings.can_promote(),
        );
        let Some(hold) = decided.filter(|hold| self.held < hold.held_polls_limit) else {
            return false;
        };
        self.held += 1;
        self.processes[process_of(visitor)].hold();
        self.outcome.held_max = self.outcome.held_max.max(self.held);
        self.people[visitor as usize].held_since_ms = self.now_ms;
        self.plan(visitor, Step::Held, self.now_ms + hold.max_ms);
        true
    }

    fn release(&mut self, visitor: u32) {
        self.held -= 1;
        self.processes[process_of(visitor)].release();
        let held_ms = self.now_ms - self.people[visitor as usize].held_since_ms;
        self.people[visitor as usize].fate.held_ms += u32::try_from(held_ms).unwrap_or(u32::MAX);
    }

    /// The visitor is told how long it takes, and when to come back.
    fn told(&mut self, visitor: u32, position: u64, eta_ms: u64) {
        if self.outcome.told.keeps(visitor) {
            let estimate = self.view.estimate(&self.forecast, position);
            self.outcome.told.answered(visitor, self.now_ms, estimate);
        }
        let claim_ms = self.view.configuration.settings.claim_ms();
        let age_ms = self.now_ms - self.viewed_at_ms;
        let told_ms = retry_after_ms(eta_ms, claim_ms, age_ms, self.rng.random());
        let delay_ms = match self.rng.random_range(0..100) {
            0 => self.rng.random_range(0..DELAY_MS_MAX),
            _ => self.rng.random_range(10..DELAY_MS),
        };
        let comes_ms = match self.people[visitor as usize].drawn.manner {
            Manner::Impatient => told_ms / 3,
            _ => told_ms,
        };
        let at_ms = self.now_ms + comes_ms + delay_ms;
        match self.people[visitor as usize].drawn.manner {
            Manner::Leaves(leaves_ms) if leaves_ms <= at_ms => self.plan(visitor, Step::Leave, leaves_ms),
            Manner::Vanishes(gone_ms) if gone_ms <= at_ms => self.people[visitor as usize].step = Step::Gone,
            _ => self.plan(visitor, Step::Poll, at_ms),
        }
    }

    fn wait_or_leave(&mut self, visitor: u32) {
        match self.people[visitor as usize].drawn.manner {
            Manner::Leaves(leaves_ms) => self.plan(visitor, Step::Leave, leaves_ms),
            Manner::Vanishes(gone_ms) => self.plan(visitor, Step::Vanish, gone_ms),
            Manner::Keeps | Manner::Impatient => self.people[visitor as usize].step = Step::Poll,
        }
    }

    /// The turn came: whoever is held hears of it at once, everybody else at the next poll.
    pub(super) fn called(&mut self, visitor: u32) {
        let seen = self.people[visitor as usize].drawn;
        let waited_ms = self.now_ms - seen.comes_at_ms;
        self.people[visitor as usize].fate.waited_ms = Some(waited_ms);
        self.outcome.told.came_true(visitor, self.now_ms);
        if self.people[visitor as usize].step == Step::Held {
            self.release(visitor);
            self.claim_soon(visitor, WAKE_MS);
        } else if self.clients == Clients::Fixed && self.people[visitor as usize].step != Step::Gone {
            self.polls.leave(seen.comes_at_ms);
            let polls = waited_ms / FIXED_MS + 1;
            let at_ms = seen.comes_at_ms + polls * FIXED_MS;
            // Whoever vanishes before that poll does so when it is time.
            if !matches!(seen.manner, Manner::Vanishes(gone_ms) if gone_ms < at_ms) {
                self.plan(visitor, Step::Claim, at_ms);
                self.people[visitor as usize].fate.polls = u32::try_from(polls).unwrap_or(u32::MAX);
            }
        }
    }

    fn claim_soon(&mut self, visitor: u32, after_ms: u64) {
        let delay_ms = self.rng.random_range(0..=CLAIM_DELAY_MS);
        self.plan(visitor, Step::Claim, self.now_ms + after_ms + delay_ms);
    }

    fn claim(&mut self, visitor: u32) {
        let id = self.people[visitor as usize].id;
        match now(self.line.claim(&self.queue, id)).expect("it is there") {
            ClaimOutcome::Active { .. } => self.stay(visitor),
            ClaimOutcome::StillWaiting(standing) => panic!("it was ready: {standing:?}"),
            ClaimOutcome::NotFound(_) => self.lose(visitor),
        }
        if self.clients == Clients::Fixed {
            // The poll that saw the turn.
            self.call(visitor);
        }
    }

    fn lose(&mut self, visitor: u32) {
        self.people[visitor as usize].step = Step::Gone;
        let keeps = self.people[visitor as usize].drawn.manner == Manner::Keeps;
        self.outcome.lost_turns += u64::from(keeps);
    }

    fn stay(&mut self, visitor: u32) {
        let session_ms = self.settings.session_ms();
        match self.people[visitor as usize].drawn.stays_ms {
            Some(stays_ms) if stays_ms < session_ms => {
                self.plan(visitor, Step::Finish, self.now_ms + stays_ms);
            }
            // The session ends by itself.
            _ => self.people[visitor as usize].step = Step::Gone,
        }
    }

    fn finish(&mut self, visitor: u32) {
        self.people[visitor as usize].step = Step::Gone;
        self.depart(visitor, LeaveReason::Complete);
    }

    fn leave(&mut self, visitor: u32) {
        self.people[visitor as usize].step = Step::Gone;
        self.outcome.left += 1;
        if self.clients == Clients::Fixed {
            self.polls_no_more(visitor);
        }
        self.depart(visitor, LeaveReason::Leave);
    }

    fn vanish(&mut self, visitor: u32) {
        self.people[visitor as usize].step = Step::Gone;
        self.polls_no_more(visitor);
    }

    /// A fixed client is gone, before the turn was seen.
    fn polls_no_more(&mut self, visitor: u32) {
        let came_at_ms = self.people[visitor as usize].drawn.comes_at_ms;
        let fate = &mut self.people[visitor as usize].fate;
        fate.polls = u32::try_from((self.now_ms - came_at_ms) / FIXED_MS).unwrap_or(u32::MAX);
        if fate.waited_ms.is_none() {
            self.polls.leave(came_at_ms);
        }
    }

    fn depart(&mut self, visitor: u32, departure: LeaveReason) {
        let id = self.people[visitor as usize].id;
        let departed = now(self.line.leave(&self.queue, id, None, departure)).expect("it is there");
        let LeaveOutcome::Ended(change) = departed else {
            return;
        };
        self.endings.extend(change.visit_end());
        let had_turn = self.people[visitor as usize].fate.waited_ms.is_some();
        if had_turn || departure == LeaveReason::Complete {
            self.judge.freed(1);
        }
    }
}
