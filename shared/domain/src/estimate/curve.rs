//! The course that a line takes by rates: who is served when.
//!
//! Slots fill at the rate at which the line is served until the capacity is taken, and then one is served for each that
//! comes free: by somebody who goes early, by a session that runs out, or by a turn that nobody claims. Those ahead who
//! leave are not served at all.

mod due;

use self::due::{Due, NEAR_SECONDS, Steps, count, seconds};
use super::{
    Observed,
    rates::{DRIFT, Rates},
};

/// What comes after so many points goes as the last session did.
const POINTS_MAX: usize = 800;
/// The rate of the next so many seconds is what polls are held by.
pub(super) const NEXT_SECONDS: f64 = 30.0;

/// What is to come: a minute by the short window, and then by the long one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Course {
    pub(super) near: Rates,
    pub(super) far: Rates,
    pub(super) ends: Ends,
}

/// When the sessions between two known ends run out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ends {
    /// At any moment.
    Even,
    /// In the first half of the time.
    Sooner,
    /// In the other half.
    Later,
}

impl Ends {
    /// How much longer than it should a session takes.
    fn stretch(self) -> f64 {
        match self {
            Self::Even => 1.0,
            Self::Sooner => 1.0 / (1.0 + DRIFT),
            Self::Later => 1.0 + DRIFT,
        }
    }
}

impl Course {
    pub(super) fn each(self, ends: Ends, with: impl Fn(Rates) -> Rates) -> Self {
        Self {
            near: with(self.near),
            far: with(self.far),
            ends,
        }
    }

    fn at(&self, seconds: f64) -> &Rates {
        if seconds < NEAR_SECONDS {
            &self.near
        } else {
            &self.far
        }
    }

    /// The part of the slots taken at one moment that nobody leaves early until another one.
    fn staying(&self, from: f64, to: f64) -> f64 {
        let near = to.min(NEAR_SECONDS) - from.min(NEAR_SECONDS);
        (-self.near.early * near - self.far.early * (to - from - near)).exp()
    }
}

/// When each position is served.
#[derive(Debug, Clone)]
pub(super) struct Curve {
    steps: Steps,
    /// By each point, the position that is served then: counted in places of now, of which some are left by then.
    served: Vec<f64>,
    /// The part of those in line at first who are still there at the last point.
    left: f64,
    /// Served a second from there on.
    rate: f64,
    /// Who leaves a second from there on, of each in line.
    leaving: f64,
    /// Served a second in the next [`NEXT_SECONDS`].
    pub(super) next_rate: f64,
}

impl Curve {
    /// The course of a line as long as was observed.
    pub(super) fn of(observed: &Observed, course: &Course) -> Self {
        let session = seconds(observed.session_ms);
        let steps = Steps::of(session);
        let capacity = count(observed.capacity);
        let at_once = count(observed.at_once());
        let mut taken = count(observed.taken) + at_once;
        let (batch, mut tokens) = (count(observed.pace.batch), count(observed.tokens) - at_once);
        let mut due = Due::of(observed, course, steps);
        due.call(at_once, 0.0);

        let (mut served, mut left) = (vec![at_once], 1.0);
        let (mut of_session, mut next) = (Vec::new(), at_once);
        let waiting = count(observed.waiting);
        for step in 0..POINTS_MAX {
            let (from, to) = (steps.seconds(step), steps.seconds(step + 1));
            let (rates, passing) = (course.at(from), to - from);
            if from >= NEXT_SECONDS && served[step] > waiting {
                break;
            }
            taken -= taken * -(-rates.early * passing).exp_m1() + due.at(step);
            // What the pace allows and nobody could use is kept, up to a batch.
            let allowed = rates.served * passing;
            tokens = (tokens + allowed).min(batch.max(allowed));
            let going = tokens.min(capacity - taken).max(0.0);
            tokens -= going;
            taken += going;
            due.call(going, from);
            // Of those who leave, half do before the others are served.
            let half = (-rates.leaving * passing / 2.0).exp();
            served.push(served[step] + going / (left * half));
            left *= half * half;
            of_session.push((to, going));
            if to <= NEXT_SECONDS {
                next += going;
            }
        }
        let end = steps.seconds(served.len() - 1);
        let since = (end - session).max(0.0);
        let lately: f64 = of_session
            .iter()
            .filter(|(to, _)| *to > since)
            .map(|(_, going)| going)
            .sum();
        Self {
            left,
            rate: lately / (end - since),
            leaving: course.at(end).leaving,
            next_rate: next / NEXT_SECONDS,
            steps,
            served,
        }
    }

    /// In how many seconds a position is served.
    #[allow(clippy::cast_precision_loss)]
    pub(super) fn seconds(&self, position: u64) -> f64 {
        let position = position as f64;
        let after = self.served.partition_point(|served| *served < position);
        let Some(at) = self.served.get(after) else {
            let end = self.served.len() - 1;
            let ahead = (position - self.served[end]) * self.left;
            return self.steps.seconds(end) + drained_after(ahead, self.rate, self.leaving);
        };
        let Some(before) = after.checked_sub(1) else {
            return 0.0;
        };
        let part = (position - self.served[before]) / (at - self.served[before]);
        let (from, to) = (self.steps.seconds(before), self.steps.seconds(after));
        from + part * (to - from)
    }
}

/// Seconds until nobody is ahead: `d ahead / dt = -rate - leaving * ahead`; infinite where that is never.
pub(super) fn drained_after(ahead: f64, rate: f64, leaving: f64) -> f64 {
    if ahead <= 0.0 {
        0.0
    } else if leaving * ahead <= rate * 1e-6 {
        ahead / rate
    } else {
        (leaving * ahead / rate).ln_1p() / leaving
    }
}
