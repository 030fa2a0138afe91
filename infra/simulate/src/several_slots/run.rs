//! One run of a line over several hash slots.

use std::collections::{BTreeMap, BTreeSet};

use rand::{RngExt, SeedableRng, rngs::StdRng};

use super::{
    ARRIVAL_MS, LEAVES_ONE_IN, PartsScenario, SESSION_MS_MEAN, TICK_MS,
    coordinator::{Coordinator, Digest, Grant},
    order_check::OrderCheck,
    outcome::PartsOutcome,
    part::Part,
};

/// The length of a step, in milliseconds.
const STEP_MS: u64 = 50;
/// A run that takes longer is stuck, in milliseconds.
const RUN_MS_MAX: u64 = 3_600_000;
/// Positions are compared at this interval, in milliseconds, and of so many visitors.
const SAMPLE_MS: u64 = 5_000;
const SAMPLES: u32 = 40;
/// In this time the line is long and every slot can be filled, in milliseconds.
const FULL_MS: std::ops::Range<u64> = 150_000..ARRIVAL_MS;
/// Visitors of a dead part come back within this time after it, in milliseconds.
const RETRY_MS: u64 = 5_000;

enum Message {
    Digest(usize, Digest),
    Grant(usize, Grant),
}

/// A visitor who is to enter or to leave.
#[derive(Clone, Copy)]
struct Visitor {
    part: usize,
    entered_us: u64,
    place: u64,
}

struct Run<'a> {
    scenario: &'a PartsScenario,
    rng: StdRng,
    parts: Vec<Part>,
    coordinator: Coordinator,
    visitors: Vec<Visitor>,
    /// Arrivals and departures by time in microseconds, each with its visitor.
    arrivals: BTreeSet<(u64, u32)>,
    departures: BTreeSet<(u64, u32)>,
    messages: BTreeMap<(u64, u64), Message>,
    sent: u64,
    order: OrderCheck,
    turns_of_second: BTreeMap<u64, u64>,
    taken: (f64, u32),
    outcome: PartsOutcome,
}

/// Runs a scenario until its line is empty.
///
/// # Panics
/// A line refused a valid request, or the run did not end within an hour of its own time.
pub fn run(scenario: &PartsScenario) -> PartsOutcome {
    let mut run = Run::new(scenario);
    let mut now_ms = 0;
    while !run.has_ended() {
        assert!(now_ms < RUN_MS_MAX, "the run is stuck: {:?}", run.outcome);
        run.run_step(now_ms);
        now_ms += STEP_MS;
    }
    run.into_outcome(now_ms)
}

impl<'a> Run<'a> {
    fn new(scenario: &'a PartsScenario) -> Self {
        let mut rng = StdRng::seed_from_u64(scenario.seed);
        let skew_us = i64::try_from(scenario.skew_ms * 1_000).expect("a small number");
        let parts: Vec<_> = (0..scenario.parts)
            .map(|_| Part::new(rng.random_range(-skew_us..=skew_us)))
            .collect();
        let visitor = |rng: &mut StdRng| Visitor {
            part: rng.random_range(0..parts.len()),
            entered_us: 0,
            place: 0,
        };
        let visitors = (0..scenario.visitors).map(|_| visitor(&mut rng)).collect();
        let arrivals =
            (0..scenario.visitors).map(|visitor| (rng.random_range(0..ARRIVAL_MS * 1_000), visitor));
        Self {
            scenario,
            arrivals: arrivals.collect(),
            coordinator: Coordinator::new(parts.len(), scenario.capacity(), scenario.batch()),
            rng,
            parts,
            visitors,
            departures: BTreeSet::new(),
            messages: BTreeMap::new(),
            sent: 0,
            order: OrderCheck::default(),
            turns_of_second: BTreeMap::new(),
            taken: (0.0, 0),
            outcome: PartsOutcome::default(),
        }
    }

    fn has_ended(&self) -> bool {
        self.arrivals.is_empty() && self.parts.iter().all(|part| part.waiting().is_empty())
    }

    fn is_dead(&self, part: usize, now_ms: u64) -> bool {
        let is_last = part + 1 == self.parts.len();
        is_last
            && self
                .scenario
                .dead_ms
                .as_ref()
                .is_some_and(|dead| dead.contains(&now_ms))
    }

    fn run_step(&mut self, now_ms: u64) {
        let until_us = (now_ms + STEP_MS) * 1_000;
        while let Some((at_us, visitor)) = pop_due(&mut self.arrivals, until_us) {
            self.enter(visitor, at_us);
        }
        while let Some((_, visitor)) = pop_due(&mut self.departures, until_us) {
            let Visitor { part, place, .. } = self.visitors[visitor as usize];
            if !self.is_dead(part, now_ms) {
                self.parts[part].leave(place, visitor);
            }
        }
        for part in 0..self.parts.len() {
            self.parts[part].set_time(until_us);
            if !self.is_dead(part, now_ms) {
                self.parts[part].end_sessions(now_ms);
                // Parts do not send at the same time.
                if now_ms % TICK_MS == (part as u64 * 7 * STEP_MS) % TICK_MS {
                    let digest = self.parts[part].digest();
                    self.send(Message::Digest(part, digest), now_ms);
                }
            }
        }
        while let Some(entry) = self
            .messages
            .first_entry()
            .filter(|entry| entry.key().0 <= now_ms)
        {
            match entry.remove() {
                Message::Digest(part, digest) => self.coordinator.hear(part, digest, now_ms),
                Message::Grant(part, grant) if !self.is_dead(part, now_ms) => {
                    self.promote(part, grant, now_ms);
                }
                Message::Grant(..) => {}
            }
        }
        if now_ms.is_multiple_of(TICK_MS) {
            self.tick(now_ms);
        }
        self.observe(now_ms);
    }

    fn enter(&mut self, visitor: u32, at_us: u64) {
        let part = self.visitors[visitor as usize].part;
        if self.is_dead(part, at_us / 1_000) {
            let back_ms = self.scenario.dead_ms.as_ref().map_or(0, |dead| dead.end);
            let again_us = (back_ms * 1_000).max(at_us) + self.rng.random_range(0..RETRY_MS * 1_000);
            self.arrivals.insert((again_us, visitor));
            return;
        }
        self.parts[part].set_time(at_us);
        let place = self.parts[part].enter(visitor);
        self.visitors[visitor as usize] = Visitor {
            part,
            entered_us: at_us,
            place,
        };
        if self.rng.random_range(0..LEAVES_ONE_IN) == 0 {
            let leaves_us = at_us + self.rng.random_range(0..ARRIVAL_MS * 1_000);
            self.departures.insert((leaves_us, visitor));
        }
    }

    /// Sends a message, unless it is lost.
    fn send(&mut self, message: Message, now_ms: u64) {
        let delay_ms = self.rng.random_range(0..=self.scenario.delay_ms_max);
        if self.rng.random_range(0..100) >= self.scenario.lost_percent {
            self.sent += 1;
            self.messages.insert((now_ms + delay_ms, self.sent), message);
        }
    }

    fn tick(&mut self, now_ms: u64) {
        let age_ms = self.coordinator.oldest_digest_ms(now_ms);
        self.outcome.digest_age_ms_max = self.outcome.digest_age_ms_max.max(age_ms);
        for (part, grant) in self.coordinator.tick(now_ms).into_iter().enumerate() {
            self.send(Message::Grant(part, grant), now_ms);
        }
    }

    fn promote(&mut self, part: usize, grant: Grant, now_ms: u64) {
        let rng = &mut self.rng;
        let turns = self.parts[part].apply(grant, || {
            now_ms + rng.random_range(SESSION_MS_MEAN / 2..SESSION_MS_MEAN * 3 / 2)
        });
        *self.turns_of_second.entry(now_ms / 1_000).or_default() += turns.len() as u64;
        let was_dead = self.scenario.dead_ms.is_some() && part + 1 == self.parts.len();
        for visitor in turns {
            self.outcome.turns += 1;
            let entered_us = self.visitors[visitor as usize].entered_us;
            let Some(overtaken_us) = self.order.take_turn(grant.tick, entered_us) else {
                continue;
            };
            let outcome = &mut self.outcome;
            let (count, max) = if was_dead {
                (
                    &mut outcome.overtaken_of_dead,
                    &mut outcome.overtaken_of_dead_us_max,
                )
            } else {
                (&mut outcome.overtaken, &mut outcome.overtaken_us_max)
            };
            *count += 1;
            *max = (*max).max(overtaken_us);
        }
    }

    #[allow(clippy::cast_precision_loss)]
    fn observe(&mut self, now_ms: u64) {
        let inside: u64 = self.parts.iter().map(Part::inside).sum();
        let capacity = self.scenario.capacity();
        self.outcome.over_capacity = self.outcome.over_capacity.max(inside.saturating_sub(capacity));
        if FULL_MS.contains(&now_ms) {
            self.taken.0 += inside as f64 / capacity as f64;
            self.taken.1 += 1;
        }
        if now_ms.is_multiple_of(SAMPLE_MS) {
            let by_lines: u64 = self.parts.iter().map(Part::inside_by_line).sum();
            assert_eq!(by_lines, inside, "the lines count the same");
            self.compare_positions(now_ms);
        }
    }

    /// Compares the positions that some visitors would be told with the true ones.
    fn compare_positions(&mut self, now_ms: u64) {
        let waiting: usize = self.parts.iter().map(|part| part.waiting().len()).sum();
        self.outcome.waiting_max = self.outcome.waiting_max.max(waiting as u64);
        for _ in 0..SAMPLES {
            let own = self.rng.random_range(0..self.parts.len());
            let line = self.parts[own].waiting();
            if line.is_empty() || self.is_dead(own, now_ms) {
                continue;
            }
            let place = line[self.rng.random_range(0..line.len())].0;
            let ahead = self.parts[own].ahead_of(place);
            let told = self.coordinator.position(own, ahead, place);
            let position = 1 + self.parts.iter().map(|part| part.ahead_of(place)).sum::<u64>();
            let error = told.abs_diff(position);
            self.outcome.position_error_sum += error;
            self.outcome.position_error_max = self.outcome.position_error_max.max(error);
            self.outcome.positions += 1;
        }
    }

    fn into_outcome(self, now_ms: u64) -> PartsOutcome {
        PartsOutcome {
            turns_per_second_max: self.turns_of_second.values().copied().max().unwrap_or(0),
            taken_share: self.taken.0 / f64::from(self.taken.1.max(1)),
            ended_at_ms: now_ms,
            ..self.outcome
        }
    }
}

/// Takes the first visitor whose time is before this one, in microseconds of the run.
fn pop_due(visitors: &mut BTreeSet<(u64, u32)>, until_us: u64) -> Option<(u64, u32)> {
    visitors.first().filter(|(at_us, _)| *at_us < until_us)?;
    visitors.pop_first()
}
