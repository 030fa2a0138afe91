//! When slots come free because their time runs out, per step of the curve.

use super::{
    expected_rates::{ExpectedRates, SessionEndSpread},
    observed_line::ObservedLine,
    step_grid::{POINTS_MAX, StepGrid, count_as_f64, seconds_from_ms},
};

/// The number of slots that come free in each step because their time runs out.
pub(super) struct DueSlots<'a> {
    course: &'a ExpectedRates,
    steps: StepGrid,
    session: f64,
    claim: f64,
    slots: Vec<f64>,
}

impl<'a> DueSlots<'a> {
    /// The slots that are taken now.
    pub(super) fn from_observed(observed: &ObservedLine, course: &'a ExpectedRates, steps: StepGrid) -> Self {
        let stretch = course.ends.session_factor();
        let mut due = Self {
            course,
            steps,
            session: seconds_from_ms(observed.session_ms) * stretch,
            claim: seconds_from_ms(observed.claim_ms),
            slots: Vec::new(),
        };
        // The known session ends divide the active entries into parts of equal size.
        let ends = &observed.session_ends_in_ms;
        #[allow(clippy::cast_precision_loss)]
        let each = count_as_f64(observed.active) / ends.len().saturating_sub(1).max(1) as f64;
        for pair in ends.windows(2) {
            let between = pair[0].midpoint(pair[1]);
            let (first, last) = match course.ends {
                SessionEndSpread::Even => (pair[0], pair[1]),
                SessionEndSpread::Sooner => (pair[0], between),
                SessionEndSpread::Later => (between, pair[1]),
            };
            let (first, last) = (seconds_from_ms(first) * stretch, seconds_from_ms(last) * stretch);
            due.spread_slots(first, last, |at| each * course.staying_share(0.0, at));
        }
        // Of the ready entries, some are never claimed. These make up more of them than their share
        // of the turns, because they stay ready for the whole claim time.
        let ready = count_as_f64(observed.taken.saturating_sub(observed.active));
        let silent = (course.near.no_shows * course.near.served * due.claim).min(ready);
        due.spread_slots(0.0, due.claim, |_| silent);
        due.add_slots(
            due.session,
            (ready - silent) * course.staying_share(0.0, due.session),
        );
        due
    }

    /// Adds the entries that are promoted at a moment: when their turns or sessions run out.
    pub(super) fn add_promoted(&mut self, turns: f64, at: f64) {
        let (end, no_shows) = (at + self.session, self.course.rates_at(at).no_shows);
        let staying = self.course.staying_share(at, end);
        self.add_slots(at + self.claim, turns * no_shows);
        self.add_slots(end, turns * (1.0 - no_shows) * staying);
    }

    /// Spreads slots evenly between two moments. `slots` gives the number as if all ran out at that
    /// moment.
    fn spread_slots(&mut self, from: f64, to: f64, slots: impl Fn(f64) -> f64) {
        for step in self.steps.step_at(from)..=self.steps.step_at(to).min(POINTS_MAX) {
            let begins = self.steps.seconds_at(step).max(from);
            let ends = self.steps.seconds_at(step + 1).min(to);
            let part = if to > from {
                (ends - begins) / (to - from)
            } else {
                1.0
            };
            self.add_slots(begins, slots(begins) * part);
        }
    }

    fn add_slots(&mut self, at: f64, slots: f64) {
        let step = self.steps.step_at(at);
        if step < POINTS_MAX {
            if self.slots.len() <= step {
                self.slots.resize(step + 1, 0.0);
            }
            self.slots[step] += slots;
        }
    }

    pub(super) fn slots_at(&self, step: usize) -> f64 {
        self.slots.get(step).copied().unwrap_or(0.0)
    }
}
