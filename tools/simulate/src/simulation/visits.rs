//! What visitors do, by the rules of `crowd`: each act is sent when it is due, and the visitor gets the server's answer.

use rand::RngExt;
use vestibule_crowd::{
    act::{Act, Answer},
    door::Caller,
    record::VisitEnd,
    rules::{Chance, Refusal},
    temper::{Conduct, ConductKind, Temper},
    visitor::{Stage, Visitor},
};

use super::{
    clients::{Clients, FIXED_POLL_MS},
    state::Simulation,
    unix_time::START_MS,
    visitor_state::Step,
};
use crate::scenario::Network;

/// The most that a poll is late in a usual network, in milliseconds, and the most for one poll in 100.
const POLL_DELAY_MS: u64 = 300;
const POLL_DELAY_MS_MAX: u64 = 3_000;
/// The same delay in a slow network.
const SLOW_POLL_DELAY_MS: u64 = 2_000;
/// The most that a claim comes after the visitor learned of the turn, in milliseconds, in a usual and in a slow network.
const CLAIM_DELAY_MS: u64 = 1_000;
const SLOW_CLAIM_DELAY_MS: u64 = 1_200;

impl Simulation {
    /// Runs the step of a visitor that is due.
    pub(super) fn run_step(&mut self, number: u32) {
        let state = &self.visitors[number as usize];
        if state.due_ms > self.now_ms {
            // The event queue reaches less far ahead.
            return self.event_queue.schedule(number, state.due_ms);
        }
        match std::mem::replace(&mut self.visitors[number as usize].step, Step::None) {
            Step::Arrive => {
                self.arrive(number);
                self.perform(number, Act::Enter);
            }
            Step::Act(act) => self.perform(number, act),
            Step::EndHold(act) => self.end_hold(number, act, None),
            Step::Wake(act, status) => self.end_hold(number, act, Some(status)),
            Step::GiveUp => self.give_up(number),
            Step::None => unreachable!("the event queue has no step for this visitor"),
        }
    }

    fn arrive(&mut self, number: u32) {
        let (now_ms, seed) = (self.unix_ms(), self.rng.random());
        let temper = self.visitors[number as usize].drawn.temper.clone();
        let conduct = self.plan_sleep(temper.conduct);
        let temper = Temper { conduct, ..temper };
        let mut visitor = Visitor::new(Caller::default(), temper, Chance::of_seed(seed), now_ms);
        visitor.keeps_estimates = self.outcome.estimates.is_sampled(number);
        self.visitors[number as usize].visitor = Some(Box::new(visitor));
    }

    /// When the phone of one who oversleeps falls asleep: by the turn that the queue expects for the last place. What its
    /// visitor will be told is a range, which is wide at first.
    #[allow(clippy::cast_precision_loss)] // A wait is far below 2^53 milliseconds.
    fn plan_sleep(&mut self, conduct: Conduct) -> Conduct {
        let Conduct::Oversleeps { from_share, by_ms } = conduct else {
            return conduct;
        };
        self.refresh_reading();
        let position = self.reading.view.in_line() + 1;
        let wait_ms = self.reading.forecast.eta_ms(position) as f64;
        Conduct::Sleeps {
            from_ms: from_share * wait_ms,
            until_ms: wait_ms + by_ms,
        }
    }

    pub(super) fn visitor(&mut self, number: u32) -> &mut Visitor {
        let state = &mut self.visitors[number as usize];
        state.visitor.as_mut().expect("the visit goes on")
    }

    /// Sends what a visitor does, and hands over the answer, unless the server holds it.
    fn perform(&mut self, number: u32, act: Act) {
        let now_ms = self.unix_ms();
        let visitor = self.visitor(number);
        visitor.send(act, now_ms);
        let is_in_line = visitor.stage() != Stage::Active;
        if is_in_line && matches!(act, Act::Poll | Act::HeldPoll { .. }) {
            self.count_poll(number);
        }
        if let Some(outcome) = self.answer(number, act) {
            self.deliver(number, act, outcome);
        }
    }

    /// Hands an answer over to a visitor, and schedules what the visitor does next.
    pub(super) fn deliver(&mut self, number: u32, act: Act, outcome: Result<Answer, Refusal>) {
        let now_ms = self.unix_ms();
        let unknown_before = self.visitor(number).record.unknown_estimates;
        self.visitor(number).receive(act, outcome, now_ms);
        self.record_estimates(number, act, unknown_before);
        self.schedule_next(number);
    }

    /// Schedules what a visitor does next.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss
    )]
    fn schedule_next(&mut self, number: u32) {
        let visitor = self.visitor(number);
        if visitor.record.end.is_some() {
            return self.close_record(number);
        }
        if self.clients == Clients::Fixed && self.visitor(number).stage() == Stage::Waiting {
            return self.wait_with_fixed_client(number);
        }
        let Some(due) = self.visitor(number).next().filter(|due| due.at_ms.is_finite()) else {
            return;
        };
        let due_ms = (due.at_ms - START_MS as f64).max(0.0).ceil() as u64;
        let at_ms = due_ms.max(self.now_ms) + self.draw_delay_ms(due.act);
        self.schedule(number, Step::Act(due.act), at_ms);
    }

    pub(super) fn schedule(&mut self, number: u32, step: Step, at_ms: u64) {
        let state = &mut self.visitors[number as usize];
        (state.step, state.due_ms) = (step, at_ms);
        self.event_queue.schedule(number, at_ms);
    }

    /// How much later than meant a request arrives, in milliseconds.
    fn draw_delay_ms(&mut self, act: Act) -> u64 {
        let network = self.scenario.network;
        let is_fixed = self.clients == Clients::Fixed;
        match (act, network) {
            (Act::Claim, _) if is_fixed => 0,
            (Act::Claim, Network::Usual) => self.rng.random_range(0..=CLAIM_DELAY_MS),
            (Act::Claim, Network::Slow) => self.rng.random_range(0..=SLOW_CLAIM_DELAY_MS),
            (Act::Enter | Act::Poll | Act::HeldPoll { .. } | Act::Document, Network::Slow) => {
                self.rng.random_range(0..=SLOW_POLL_DELAY_MS)
            }
            (Act::Enter | Act::Poll | Act::HeldPoll { .. } | Act::Document, Network::Usual) => {
                match self.rng.random_range(0..100) {
                    0 => self.rng.random_range(0..POLL_DELAY_MS_MAX),
                    _ => self.rng.random_range(10..POLL_DELAY_MS),
                }
            }
            _ => 0,
        }
    }

    /// Counts a poll that has just arrived.
    fn count_poll(&mut self, number: u32) {
        self.visitors[number as usize].outcome.polls += 1;
        self.sample.polls += 1;
        let second = usize::try_from(self.now_ms / 1_000).unwrap_or(usize::MAX);
        let polls = &mut self.outcome.polls_per_second;
        if polls.len() <= second {
            polls.resize(second + 1, 0);
        }
        polls[second] += 1;
    }

    /// Records the estimates that the last answer showed to a visitor.
    fn record_estimates(&mut self, number: u32, act: Act, unknown_before: u64) {
        let now_ms = self.now_ms;
        if !self.outcome.estimates.is_sampled(number) {
            return;
        }
        let record = &mut self.visitor(number).record;
        let is_unknown = act != Act::Document && record.unknown_estimates > unknown_before;
        let shown = std::mem::take(&mut record.estimates);
        if is_unknown {
            self.outcome.estimates.record_answer(number, now_ms, None);
        }
        for estimate in shown {
            let of_kind = if estimate.is_by_document {
                &mut self.outcome.document_estimates
            } else {
                &mut self.outcome.estimates
            };
            of_kind.record_answer(number, now_ms, Some((estimate.low_s, estimate.high_s)));
        }
    }

    /// Takes what a visitor met, and forgets the visitor: the visit has ended, or the run.
    pub(super) fn close_record(&mut self, number: u32) {
        let state = &mut self.visitors[number as usize];
        let kind = state.kind();
        let Some(visitor) = state.visitor.take() else {
            return;
        };
        let record = visitor.record;
        state.has_gone = record.end.is_some() && !record.is_lost();
        // A visitor whose requests to enter are refused may give up before one is served.
        self.to_enter -= u32::from(state.turn.is_none());
        state.outcome.record(&record);
        if record.is_lost() {
            self.outcome.lost_places += u64::from(kind == ConductKind::Honest);
            self.outcome.overslept += u64::from(kind == ConductKind::Sleeper);
        }
        self.outcome.left += u64::from(record.end == Some(VisitEnd::LeftLine));
        if kind.is_present_in_line() {
            self.faults.add(&record);
        }
    }

    /// A poll changes nothing for a fixed client until its turn comes. Until then its polls are counted and not sent.
    fn wait_with_fixed_client(&mut self, number: u32) {
        let state = &self.visitors[number as usize];
        if state.turn_at_ms().is_some() {
            // The poll that was to tell of the turn was refused.
            return self.schedule(number, Step::Act(Act::Poll), self.now_ms + FIXED_POLL_MS);
        }
        let gives_up_at_ms = state.gives_up_at_ms();
        self.start_fixed_polls(number);
        if let Some(at_ms) = gives_up_at_ms {
            self.schedule(number, Step::GiveUp, at_ms);
        }
    }

    /// A visitor with a fixed client leaves the line, or vanishes.
    fn give_up(&mut self, number: u32) {
        self.stop_fixed_polls(number);
        let act = match self.visitors[number as usize].kind() {
            ConductKind::Leaver => Act::Leave,
            _ => Act::Turn,
        };
        self.perform(number, act);
    }

    /// The turn of a visitor with a fixed client has come. The next poll tells of it.
    pub(super) fn call_fixed_client(&mut self, number: u32) {
        let state = &self.visitors[number as usize];
        let arrived_at_ms = state.drawn.arrives_at_ms;
        let polls = (self.now_ms - arrived_at_ms) / FIXED_POLL_MS + 1;
        let at_ms = arrived_at_ms + polls * FIXED_POLL_MS;
        // A visitor who gives up before that poll keeps that step.
        if state
            .gives_up_at_ms()
            .is_none_or(|gives_up_at_ms| gives_up_at_ms >= at_ms)
        {
            self.fixed_polls.remove(arrived_at_ms);
            self.visitors[number as usize].outcome.polls = u32::try_from(polls - 1).unwrap_or(u32::MAX);
            self.schedule(number, Step::Act(Act::Poll), at_ms);
        }
    }

    /// Counts the polls of a fixed client that stops polling before it learned of its turn.
    fn stop_fixed_polls(&mut self, number: u32) {
        let state = &mut self.visitors[number as usize];
        let arrived_at_ms = state.drawn.arrives_at_ms;
        let polls = (self.now_ms - arrived_at_ms) / FIXED_POLL_MS;
        state.outcome.polls = u32::try_from(polls).unwrap_or(u32::MAX);
        self.fixed_polls.remove(arrived_at_ms);
    }
}
