//! The expected course of a line at given rates: when each position is served.
//!
//! Free slots fill at the rate at which the line is served, until the capacity is taken. From then
//! on, one entry is served for each slot that comes free. A slot comes free when a visitor leaves
//! early, when a session runs out, or when a turn is not claimed in time. Entries that leave the
//! line ahead of a position are not served at all.

use super::{
    due_slots::DueSlots,
    expected_rates::ExpectedRates,
    observed_line::ObservedLine,
    rates::pace_per_second,
    step_grid::{POINTS_MAX, StepGrid, count_as_f64, seconds_from_ms},
};

/// Polls are held by the rate expected for this many seconds.
pub(super) const NEXT_RATE_SECONDS: f64 = 30.0;

/// When each position is served.
#[derive(Debug, Clone)]
pub(super) struct Curve {
    steps: StepGrid,
    /// For each point, the position that is served then. Positions are those of now; some of their
    /// entries leave the line before they are served.
    served_positions: Vec<f64>,
    /// The share of the entries now in line that are still in line at the last point.
    remaining_share: f64,
    /// Positions per second that the line moves after the last point.
    final_rate: f64,
    /// The rate at which an entry in line leaves it after the last point, per second.
    final_leaving_rate: f64,
    /// Entries served per second in the next [`NEXT_RATE_SECONDS`].
    pub(super) next_rate: f64,
}

impl Curve {
    /// Computes the course of the observed line, up to the last waiting entry or [`POINTS_MAX`].
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // A step has a few ticks.
    pub(super) fn compute(observed: &ObservedLine, course: &ExpectedRates) -> Self {
        let session = seconds_from_ms(observed.session_ms);
        let steps = StepGrid::for_session(session);
        let (capacity, pace) = (count_as_f64(observed.capacity), pace_per_second(observed.pace));
        let at_once = count_as_f64(observed.promotable_now());
        let mut taken = count_as_f64(observed.taken) + at_once;
        let (batch, mut tokens) = (
            count_as_f64(observed.pace.batch),
            count_as_f64(observed.tokens) - at_once,
        );
        let mut due = DueSlots::from_observed(observed, course, steps);
        due.add_promoted(at_once, 0.0);

        let moved_at_once = at_once * course.near.passed_over.positions_per_turn(0.0);
        let (mut served_positions, mut remaining_share) = (vec![moved_at_once], 1.0);
        let (mut of_session, mut next) = (Vec::new(), at_once);
        let waiting = count_as_f64(observed.waiting);
        for step in 0..POINTS_MAX {
            let (from, to) = (steps.seconds_at(step), steps.seconds_at(step + 1));
            let (rates, passing) = (course.rates_at(from), to - from);
            if from >= NEXT_RATE_SECONDS && served_positions[step] > waiting {
                break;
            }
            // Ticks are a second apart, and fill the slots that have come free since the one before. In a longer step, slots
            // that are held for a few seconds would otherwise stand empty.
            let ticks = passing.ceil();
            let (each, due_each) = (passing / ticks, due.slots_at(step) / ticks);
            let (allowed_per_second, used_share) = rates.split_served(pace);
            let (staying, allowed) = ((-rates.early * each).exp(), allowed_per_second * each);
            let mut going = 0.0;
            for _ in 0..ticks as usize {
                let left_early = taken * (1.0 - staying);
                taken -= left_early + due_each;
                // Unused tokens are kept, up to one batch.
                tokens = (tokens + allowed).min(batch.max(allowed));
                let promoted = expected_least(tokens, capacity - taken, left_early).max(0.0);
                tokens -= promoted;
                taken += promoted;
                going += promoted * used_share;
            }
            due.add_promoted(going, from);
            // Half of the entries that leave the line in this step leave before the others are served.
            let half = (-rates.leaving * passing / 2.0).exp();
            let moved = going * rates.passed_over.positions_per_turn(from);
            served_positions.push(served_positions[step] + moved / (remaining_share * half));
            remaining_share *= half * half;
            of_session.push((to, going));
            if to <= NEXT_RATE_SECONDS {
                next += going;
            }
        }
        let end = steps.seconds_at(served_positions.len() - 1);
        let since = (end - session).max(0.0);
        let lately: f64 = of_session
            .iter()
            .filter(|(to, _)| *to > since)
            .map(|(_, going)| going)
            .sum();
        let last = course.rates_at(end);
        Self {
            remaining_share,
            final_rate: lately * last.passed_over.positions_per_turn(end) / (end - since),
            final_leaving_rate: last.leaving,
            next_rate: next / NEXT_RATE_SECONDS,
            steps,
            served_positions,
        }
    }

    /// The time in seconds until a position is served.
    #[allow(clippy::cast_precision_loss)]
    pub(super) fn seconds_until_served(&self, position: u64) -> f64 {
        let position = position as f64;
        let after = self.served_positions.partition_point(|served| *served < position);
        let Some(at) = self.served_positions.get(after) else {
            let end = self.served_positions.len() - 1;
            let ahead = (position - self.served_positions[end]) * self.remaining_share;
            return self.steps.seconds_at(end)
                + seconds_until_empty(ahead, self.final_rate, self.final_leaving_rate);
        };
        let Some(before) = after.checked_sub(1) else {
            return 0.0;
        };
        let part = (position - self.served_positions[before]) / (at - self.served_positions[before]);
        let (from, to) = (self.steps.seconds_at(before), self.steps.seconds_at(after));
        from + part * (to - from)
    }
}

/// The expected number of promotions of a tick at which the pace allows `tokens`, and `free` slots are expected to be free,
/// `left_early` of them because visitors left. These leave by chance, so their number is spread by its square root, and what
/// one tick leaves over, another one lacks: where pace and slots are about as scarce, that is some percent.
fn expected_least(tokens: f64, free: f64, left_early: f64) -> f64 {
    let spread = left_early.sqrt();
    if spread <= f64::EPSILON {
        return tokens.min(free);
    }
    let apart = (tokens - free).abs() / spread;
    // The loss of the lesser of a constant and a normal variable, within two percent.
    let loss = 0.4 * (-apart * (1.21 + 0.36 * apart)).exp();
    tokens.min(free) - spread * loss
}

/// The time in seconds until no entry is ahead, by `d ahead / dt = -rate - leaving * ahead`. It is
/// infinite if that never happens.
pub(super) fn seconds_until_empty(ahead: f64, rate: f64, leaving: f64) -> f64 {
    if ahead <= 0.0 {
        0.0
    } else if leaving * ahead <= rate * 1e-6 {
        ahead / rate
    } else {
        (leaving * ahead / rate).ln_1p() / leaving
    }
}
