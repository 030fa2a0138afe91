//! What a crowd whose clients follow the public document asks of a deployment.

use super::{
    ceilings::{HELD_COST, LANE_COST, POLL_COST, PROMOTION_COST, Route, TICK_COST},
    facts::HELD_BUDGET,
};
use vestibule_domain::{
    lane::{LaneSpeed, window_entries},
    poll_pacing::{
        DOCUMENT_REFRESH_FAR_MS, DOCUMENT_REFRESH_NEAR_MS, HOLD_HORIZON_MS, look_after_ms, retry_after_ms,
        retry_cap_ms,
    },
    settings::Settings,
};

/// The looks of a crowd are counted in steps of this length, and for this long.
const STEP_SECONDS: f64 = 10.0;
const RUN_SECONDS_MAX: f64 = 6.0 * 3_600.0;
/// The most polls that are counted of a visitor who is called.
const POLLS_MAX: u32 = 1_000;
/// The mean time that a request is late in the network, in milliseconds.
const REQUEST_DELAY_MS: u64 = 200;
/// The waits of a crowd are counted by so many of them.
const WAITS_COUNTED: u32 = 50;
/// A client reads the document so many times in what is left of its wait, within the bounds: `refreshMs` of the client
/// library.
const REFRESHES_PER_WAIT: f64 = 6.0;

/// A crowd, and how it is served.
#[derive(Debug, Clone, Copy)]
pub struct CrowdLoad<'a> {
    /// How many visitors come.
    pub visitors: f64,
    /// How often the protected service validates each of them.
    pub checks: u32,
    /// How clients are called and paced.
    pub settings: &'a Settings,
    /// Visitors who enter per second, until all have entered.
    pub entering_per_second: f64,
}

impl CrowdLoad<'_> {
    /// Looks per second over time, one value for each step of ten seconds. Each visitor looks after the entry until the turn.
    pub fn looks_per_second(&self, pace: f64) -> Vec<f64> {
        let (entering, arrives_in_seconds) = (self.entering_per_second, self.arrives_in_seconds());
        let ends_at_seconds = self.visitors / pace.max(f64::MIN_POSITIVE);
        let mut looks = vec![0.0; steps(ends_at_seconds.min(RUN_SECONDS_MAX)) + 1];
        for step in 0..steps(arrives_in_seconds).max(1) {
            let entered_at_seconds = seconds_of(step);
            let turn_at_seconds = (entered_at_seconds * entering / pace).min(RUN_SECONDS_MAX);
            let mut at_seconds = entered_at_seconds;
            loop {
                let waiting = entering * at_seconds.min(arrives_in_seconds) - pace * at_seconds;
                at_seconds += look_seconds(waiting);
                match looks.get_mut(steps(at_seconds)) {
                    Some(count) if at_seconds < turn_at_seconds => *count += entering,
                    _ => break,
                }
            }
        }
        looks
    }

    /// What the slot does in the busiest time, in entry polls per second.
    pub fn slot_polls_per_second(&self, pace: f64) -> f64 {
        let look_cost = in_polls(Route::Status.slot_cost());
        let entering_steps = steps(self.arrives_in_seconds()).max(1);
        let looks = self.looks_per_second(pace);
        let of_step = |(step, looks): (usize, &f64)| {
            let is_entering = step < entering_steps;
            let entering = if is_entering {
                self.entering_per_second
            } else {
                0.0
            };
            entering * entering_cost() + looks * look_cost
        };
        let busiest = looks.iter().enumerate().map(of_step).fold(0.0, f64::max);
        busiest + pace * self.turn_cost(pace) + held_cost(pace) + in_polls(TICK_COST)
    }

    /// Status requests in the busiest time, per second.
    pub fn status_requests_per_second(&self, pace: f64) -> f64 {
        let busiest = self.looks_per_second(pace).into_iter().fold(0.0, f64::max);
        busiest + pace * f64::from(polls_when_called(pace, self.settings))
    }

    /// Status requests of a visitor from entering until the turn, on average.
    pub fn status_requests_per_visitor(&self, pace: f64) -> f64 {
        let looks = self.looks_per_second(pace).into_iter().sum::<f64>() * STEP_SECONDS;
        looks / self.visitors + f64::from(polls_when_called(pace, self.settings))
    }

    /// Reads of the public document by a visitor, on average.
    pub fn document_reads_per_visitor(&self, pace: f64) -> f64 {
        let called_seconds = called_seconds(pace, self.settings);
        self.mean_over_waits(pace, |wait| document_reads_until_called(wait, called_seconds))
    }

    /// Reads of the public document per second, when the most visitors wait.
    pub fn document_reads_per_second(&self, pace: f64) -> f64 {
        // Those in line then have waits from none to the longest one, and `pace` of them each second of it.
        let called_seconds = called_seconds(pace, self.settings);
        pace * document_reads_until_called(self.longest_wait_seconds(pace), called_seconds)
    }

    /// A mean over all visitors of what depends on the wait in seconds. The waits are spread evenly from none to the longest
    /// one.
    fn mean_over_waits(&self, pace: f64, of_wait: impl Fn(f64) -> f64) -> f64 {
        let longest = self.longest_wait_seconds(pace);
        let waits = (1..=WAITS_COUNTED).map(|n| longest * (f64::from(n) - 0.5) / f64::from(WAITS_COUNTED));
        waits.map(of_wait).sum::<f64>() / f64::from(WAITS_COUNTED)
    }

    /// Visitors per second who must be let in so that the mean wait is this long, in seconds. The waits are spread evenly, so
    /// the last visitor waits twice as long.
    pub fn pace_for_mean_wait(&self, wait_seconds: u32) -> f64 {
        self.visitors / (2.0 * f64::from(wait_seconds) + self.arrives_in_seconds())
    }

    /// The wait of the last visitor, in seconds: the time that the line takes to let all in, minus the time of arrival.
    pub fn longest_wait_seconds(&self, pace: f64) -> f64 {
        (self.visitors / pace - self.arrives_in_seconds()).max(0.0)
    }

    /// The time in which all visitors enter, in seconds.
    pub fn arrives_in_seconds(&self) -> f64 {
        self.visitors / self.entering_per_second
    }

    /// What a visitor costs the slot from the promotion until the end, in entry polls.
    fn claim_to_end_cost(&self) -> f64 {
        let once = Route::Claim.slot_cost() + Route::Complete.slot_cost() + PROMOTION_COST;
        in_polls(once) + f64::from(self.checks) * in_polls(Route::Validate.slot_cost())
    }

    /// What a visitor costs the slot from being called until the end, in entry polls.
    fn turn_cost(&self, pace: f64) -> f64 {
        self.claim_to_end_cost()
            + f64::from(polls_when_called(pace, self.settings)) * in_polls(Route::Status.slot_cost())
    }
}

/// The time until the client of a visitor far from the head looks after the entry, in seconds.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss
)]
fn look_seconds(waiting: f64) -> f64 {
    look_after_ms(waiting as u64, 0.5) as f64 / 1_000.0
}

/// How often a client reads the document in a wait of this length, if it is called so many seconds before the turn. From
/// then on it asks about its entry, and reads the document no more.
fn document_reads_until_called(wait_seconds: f64, called_seconds: f64) -> f64 {
    document_reads(wait_seconds) - document_reads(wait_seconds.min(called_seconds))
}

/// How often a client reads the document in a wait of this length, if it reads to the end.
#[allow(clippy::cast_precision_loss)]
fn document_reads(wait_seconds: f64) -> f64 {
    let (near, far) = (
        DOCUMENT_REFRESH_NEAR_MS as f64 / 1_000.0,
        DOCUMENT_REFRESH_FAR_MS as f64 / 1_000.0,
    );
    let (near_wait, far_wait) = (near * REFRESHES_PER_WAIT, far * REFRESHES_PER_WAIT);
    let far_reads = (wait_seconds - far_wait).max(0.0) / far;
    // Between the bounds, each read comes after a sixth of the wait that is left.
    let between = (wait_seconds.min(far_wait) / near_wait).max(1.0).ln() * REFRESHES_PER_WAIT;
    far_reads + between + wait_seconds.min(near_wait) / near
}

/// The polls that are held at once.
#[allow(clippy::cast_precision_loss)]
pub(super) fn held_polls(pace: f64) -> f64 {
    HELD_BUDGET.value.min(pace * HOLD_HORIZON_MS as f64 / 1_000.0)
}

/// What the polls that are held cost the slot per second, in entry polls.
fn held_cost(pace: f64) -> f64 {
    held_polls(pace) * in_polls(HELD_COST)
}

/// The number of whole steps in this time.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn steps(seconds: f64) -> usize {
    (seconds / STEP_SECONDS) as usize
}

#[allow(clippy::cast_precision_loss)]
fn seconds_of(step: usize) -> f64 {
    step as f64 * STEP_SECONDS
}

/// What it costs the slot when a visitor enters, in entry polls.
pub fn entering_cost() -> f64 {
    in_polls(Route::Enter.slot_cost() + LANE_COST)
}

/// How long before the turn a visitor is called, in seconds.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss
)]
fn called_seconds(pace: f64, settings: &Settings) -> f64 {
    let speed = LaneSpeed {
        per_1000_seconds: (pace * 1_000.0) as u64,
        ..LaneSpeed::default()
    };
    window_entries(speed, None, 1, settings.window_entries_max(), settings) as f64 / pace
}

/// The polls of a visitor from being called until the turn.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn polls_when_called(pace: f64, settings: &Settings) -> u32 {
    let (mut left_ms, mut polls) = ((called_seconds(pace, settings) * 1_000.0) as u64, 0);
    // A line that hardly moves has no end of polls.
    while left_ms > 0 && polls < POLLS_MAX {
        polls += 1;
        let pause_ms = retry_after_ms(left_ms, retry_cap_ms(settings, true), 0, 0.5) + REQUEST_DELAY_MS;
        left_ms = left_ms.saturating_sub(pause_ms);
    }
    polls
}

#[allow(clippy::cast_precision_loss)]
fn in_polls(cost: u64) -> f64 {
    cost as f64 / POLL_COST as f64
}
