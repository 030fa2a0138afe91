//! When a visitor polls again: the server either holds the poll or says when the next one is due.
//!
//! The guarantee: a visitor who respects `retry_after_ms`, and whose polls are answered, cannot
//! lose a turn, however fast the line moves. A visitor who is promoted right after a poll polls
//! again within two thirds of `claim_seconds` and has the last third left to claim. A client that was
//! refused keeps to the same bound: see `Retry-After` in [`retry_after_seconds`].

use crate::settings::Settings;

mod after_hold;
mod before_opening;
mod refusal;

pub use after_hold::retry_after_hold_ms;
pub use before_opening::{enter_spread_ms, look_before_opening_ms, retry_before_opening_ms};
pub use refusal::{
    RETRY_AFTER_BEHIND_MIN_SECONDS, RETRY_AFTER_MIN_SECONDS, RefusedQueue, client_backoff_ms,
    retry_after_seconds,
};

/// The default number of polls that one deployment holds at once.
pub const HELD_BUDGET: u32 = 500;
/// The shortest time until a waiting visitor polls again, in milliseconds.
pub const RETRY_MIN_MS: u64 = 2_000;
/// The time until the first poll of a visitor who has to check in at once, in milliseconds. It is not 0, which clients in
/// many languages take for a missing value.
const FIRST_POLL_MS: u64 = 250;
/// The share of the expected wait after which a waiting visitor polls again. A called visitor polls
/// seven times in the last minute with it, and ten times with 0.3.
pub(super) const RETRY_SHARE: f64 = 0.5;
/// The longest time until a visitor polls again whose answer was made without the line, in milliseconds.
pub const DEGRADED_RETRY_MAX_MS: u64 = 60_000;
/// The longest time that a poll is held, in milliseconds. API Gateway closes a request after 29 s.
pub const HOLD_MAX_MS: u64 = 20_000;
/// The longest time that a held poll counts if no process releases it, in milliseconds: one hold,
/// and the time that the process may take to answer after it.
pub const HOLD_LEASE_MAX_MS: u64 = HOLD_MAX_MS + 2_000;
/// One part in this many of the budget is reserved for the polls of visitors who are nearer to
/// their turn.
const HOLD_RESERVE_PARTS: u64 = 10;
/// The poll of a visitor whose turn is further away than this, in milliseconds, is not held.
pub const HOLD_HORIZON_MS: u64 = 30_000;
/// The time until a promoted visitor tries again if the claim failed, in milliseconds. Until then, the
/// visitor is asked to claim at once.
pub const RETRY_READY_MS: u64 = 1_000;

/// One part in this many of the budget is for the polls of queues whose speed is not known.
pub(crate) const UNKNOWN_SPEED_PARTS: u64 = 4;

/// A poll that may be held until something changes, if the deployment has room for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hold {
    /// The longest time that the poll is held, in milliseconds.
    pub max_ms: u64,
    /// The poll is held only if the deployment holds fewer polls than this.
    pub held_polls_limit: u64,
    /// If the speed of the queue is not known, the deployment also has to hold fewer polls of such queues than this.
    pub unknown_speed_limit: Option<u64>,
}

/// How the poll of a waiting visitor may be held. The turn is expected in `eta_ms`, and the visitor
/// offers to wait for `wait_ms`. `None` if the turn is too far away for the remaining budget, or if
/// the line does not move.
pub fn plan_hold(
    eta_ms: u64,
    wait_ms: u64,
    held_budget: u64,
    admissions_per_second: f64,
    moving: bool,
) -> Option<Hold> {
    let horizon_ms = hold_horizon_ms(held_budget, admissions_per_second, moving);
    plan_hold_within(horizon_ms, eta_ms, wait_ms, held_budget)
}

/// The same for one of the next visitors in a line of unknown speed that moves.
pub fn plan_hold_at_unknown_speed(eta_ms: u64, wait_ms: u64, held_budget: u64) -> Option<Hold> {
    let hold = plan_hold_within(HOLD_HORIZON_MS, eta_ms, wait_ms, held_budget)?;
    Some(Hold {
        unknown_speed_limit: Some((held_budget / UNKNOWN_SPEED_PARTS).max(1)),
        ..hold
    })
}

fn plan_hold_within(horizon_ms: u64, eta_ms: u64, wait_ms: u64, held_budget: u64) -> Option<Hold> {
    let up_to_ms = wait_ms.min(HOLD_MAX_MS);
    (up_to_ms > 0 && horizon_ms > 0 && eta_ms <= horizon_ms).then(|| Hold {
        max_ms: up_to_ms,
        held_polls_limit: held_polls_limit(held_budget, eta_ms, horizon_ms),
        unknown_speed_limit: None,
    })
}

/// How near a turn must be for its poll to be held, in milliseconds: as many turns as the budget
/// has room for, at most [`HOLD_HORIZON_MS`]. It is zero while the line does not move.
fn hold_horizon_ms(held_budget: u64, admissions_per_second: f64, moving: bool) -> u64 {
    if !moving || admissions_per_second <= 0.0 {
        return 0;
    }
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss
    )]
    let horizon_ms = (held_budget as f64 / admissions_per_second * 1_000.0) as u64;
    horizon_ms.min(HOLD_HORIZON_MS)
}

/// The number of held polls from which on a poll with a turn expected in `eta_ms` is no longer
/// held. It is the whole budget for the next entry in line and falls to nine tenths of it at the
/// horizon. So if several queues share a budget that is too small for all of them, each queue holds
/// the polls of its head, and all horizons shrink alike.
fn held_polls_limit(held_budget: u64, eta_ms: u64, horizon_ms: u64) -> u64 {
    let reserve = held_budget / HOLD_RESERVE_PARTS;
    let kept = u128::from(reserve) * u128::from(eta_ms.min(horizon_ms)) / u128::from(horizon_ms.max(1));
    held_budget - u64::try_from(kept).unwrap_or(reserve)
}

/// The longest time until a waiting visitor polls again, in milliseconds: two thirds of
/// `claim_seconds`, so that no turn is lost. The visitor also has to be present when the turn comes.
/// After a poll that `was_check_in`, this takes another one within a third of `presence_seconds`. A
/// visitor who may be called at any moment polls within two thirds of `call_seconds`.
pub fn retry_cap_ms(settings: &Settings, was_check_in: bool) -> u64 {
    let cap_ms = settings.claim_ms() / 3 * 2;
    if !settings.has_presence() {
        cap_ms
    } else if was_check_in {
        cap_ms.min(settings.check_in_interval_ms())
    } else {
        cap_ms
            .min(settings.check_in_interval_ms())
            .min(settings.call_ms() / 3 * 2)
    }
}

/// Milliseconds until a visitor who has just entered polls for the first time, if the place `is_called`: at once, because
/// only that poll is a check-in. `None` if the visitor polls as any other does.
pub fn first_poll_ms(settings: &Settings, is_called: bool) -> Option<u64> {
    (is_called && settings.has_presence()).then_some(FIRST_POLL_MS)
}

/// Milliseconds until a waiting visitor polls again: `clamp(0.5 * eta, 2 s, cap)` with 15 % of
/// jitter to each side; `cap_ms` is that of [`retry_cap_ms`]. The bounds also apply after the
/// jitter, because the guarantee depends on them. The number of polls grows with the logarithm of
/// the wait, until the cap applies. `jitter` is random in `0.0..1.0`.
///
/// The settings were read `age_ms` ago. An operator may have lowered the cap since, and the turn may
/// have come at that moment, so the cap counts from then.
pub fn retry_after_ms(eta_ms: u64, cap_ms: u64, age_ms: u64, jitter: f64) -> u64 {
    // Apply the cap before the jitter, so that capped polls are also spread. They are spread
    // downwards only.
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss
    )]
    let jittered = ((eta_ms as f64 * RETRY_SHARE).min(cap_ms as f64) * (0.85 + 0.3 * jitter)) as u64;
    let left_ms = cap_ms.saturating_sub(age_ms).max(RETRY_READY_MS);
    jittered.clamp(RETRY_MIN_MS.min(cap_ms), cap_ms).min(left_ms)
}

/// Milliseconds until a visitor polls again whose answer was made without the line, and therefore
/// without an estimate. The delay is spread evenly between half of the cap of [`retry_after_ms`]
/// and that cap, at most one minute.
pub fn degraded_retry_after_ms(claim_ms: u64, jitter: f64) -> u64 {
    let cap_ms = (claim_ms / 3 * 2).min(DEGRADED_RETRY_MAX_MS);
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss
    )]
    let spread = (cap_ms as f64 * (0.5 + 0.5 * jitter)) as u64;
    spread.clamp(RETRY_MIN_MS.min(cap_ms), cap_ms)
}

/// The least time until a client reads the public document again, in milliseconds.
pub const DOCUMENT_REFRESH_NEAR_MS: u64 = 3_000;
/// The longest time until a client reads the public document again, in milliseconds.
pub const DOCUMENT_REFRESH_FAR_MS: u64 = 60_000;
/// The shortest time until such a client asks about its entry again, in milliseconds.
const LOOK_AFTER_MIN_MS: u64 = 600_000;
/// How many requests per second a line answers beside its other work when all clients ask again,
/// because their queue was restored or reset.
pub const RESYNC_PER_SECOND: u64 = 300;

/// Over how many milliseconds clients spread their requests when all of them ask again.
pub fn resync_ms(waiting: u64) -> u64 {
    waiting.saturating_mul(1_000) / RESYNC_PER_SECOND
}

/// Milliseconds until a client that reads the public document asks about its entry again: ten
/// minutes, or longer if a line of `waiting` entries would then ask more than [`RESYNC_PER_SECOND`];
/// spread by a tenth to each side. The position that it computes is too large by those who left ahead
/// since, and its place was kept without any request. `jitter` is random in `0.0..1.0`.
pub fn look_after_ms(waiting: u64, jitter: f64) -> u64 {
    let middle_ms = LOOK_AFTER_MIN_MS.max(resync_ms(waiting));
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss
    )]
    let spread_ms = (middle_ms as f64 * (0.9 + 0.2 * jitter)) as u64;
    spread_ms
}

/// Milliseconds until the holder of a pass asks again, in a session that lasts `left_ms` more: after two
/// thirds of the pass, to renew it, or when the session ends with it.
pub fn renew_after_ms(pass_ms: u64, left_ms: u64) -> u64 {
    if pass_ms < left_ms {
        pass_ms / 3 * 2
    } else {
        left_ms
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn retry_is_at_most_two_thirds_of_the_claim_time(eta in 0u64..u64::MAX / 2, claim_s in 10u64..=3_600, jitter in 0.0f64..1.0) {
            let retry = retry_after_ms(eta, claim_s * 1_000 / 3 * 2, 0, jitter);
            prop_assert!(retry * 3 <= claim_s * 1_000 * 2, "two thirds of claim_seconds at most");
            prop_assert!(retry >= RETRY_MIN_MS);
            let away = degraded_retry_after_ms(claim_s * 1_000, jitter);
            prop_assert!((RETRY_MIN_MS..=DEGRADED_RETRY_MAX_MS).contains(&away));
            prop_assert!(away * 3 <= claim_s * 1_000 * 2, "two thirds of claim_seconds at most");
        }

        #[test]
        fn only_polls_near_their_turn_are_held(
            eta in 0u64..200_000, wait in 0u64..40_000, budget in 0u64..1_000, rate in 0.0f64..100.0, moving: bool,
        ) {
            let horizon = hold_horizon_ms(budget, rate, moving);
            match plan_hold(eta, wait, budget, rate, moving) {
                Some(hold) => {
                    prop_assert!(eta <= horizon && hold.max_ms > 0 && hold.max_ms <= wait.min(HOLD_MAX_MS));
                    prop_assert_eq!(hold.held_polls_limit, held_polls_limit(budget, eta, horizon));
                    prop_assert_eq!(hold.unknown_speed_limit, None);
                }
                None => prop_assert!(wait == 0 || horizon == 0 || eta > horizon),
            }
        }

        #[test]
        fn polls_in_lines_of_unknown_speed_share_a_quarter_of_the_budget(
            eta in 0u64..60_000, wait in 0u64..40_000, budget in 0u64..1_000,
        ) {
            let hold = plan_hold_at_unknown_speed(eta, wait, budget);
            let is_held = eta <= HOLD_HORIZON_MS && wait > 0;
            prop_assert_eq!(hold.and_then(|hold| hold.unknown_speed_limit), is_held.then(|| (budget / 4).max(1)));
        }

        #[test]
        fn the_hold_horizon_stays_within_the_budget(budget in 0u64..100_000, rate in 0.001f64..100_000.0) {
            let horizon_ms = hold_horizon_ms(budget, rate, true);
            #[allow(clippy::cast_precision_loss)]
            let turns_within = horizon_ms as f64 / 1_000.0 * rate;
            #[allow(clippy::cast_precision_loss)]
            let room = budget as f64;
            prop_assert!(turns_within <= room + 1.0);
            prop_assert_eq!(hold_horizon_ms(budget, rate, false), 0);
        }

        #[test]
        fn nearer_turns_get_more_of_the_hold_budget(
            budget in 0u64..100_000, a in 0u64..200_000, b in 0u64..200_000, horizon in 0u64..=HOLD_HORIZON_MS,
        ) {
            let (near, far) = (held_polls_limit(budget, a.min(b), horizon), held_polls_limit(budget, a.max(b), horizon));
            prop_assert!(far <= near && near <= budget);
            prop_assert!(far * 10 >= budget * 9, "nine tenths of the budget are open to every poll");
            prop_assert_eq!(held_polls_limit(budget, 0, horizon), budget);
        }

        #[test]
        fn an_old_snapshot_shortens_the_retry(
            eta in 0u64..400_000, age in 0u64..100_000, claim_s in 10u64..=3_600, jitter in 0.0f64..1.0,
        ) {
            let cap_ms = claim_s * 1_000 / 3 * 2;
            let retry_ms = retry_after_ms(eta, cap_ms, age, jitter);
            prop_assert!(retry_ms <= retry_after_ms(eta, cap_ms, 0, jitter));
            prop_assert!((retry_ms + age) * 3 <= claim_s * 2_000 || retry_ms <= RETRY_READY_MS);
        }
    }

    #[test]
    fn a_called_visitor_polls_three_times_within_the_presence() {
        let settings = Settings::default();
        assert_eq!(retry_cap_ms(&settings, true), 30_000, "a third of 90 s");
        assert_eq!(retry_cap_ms(&settings, false), 20_000, "two thirds of 30 s");
        let off = Settings {
            presence_seconds: 0,
            ..settings
        };
        assert_eq!(retry_cap_ms(&off, true), 40_000);
    }

    #[test]
    fn looks_of_a_long_line_are_rarer() {
        assert_eq!(look_after_ms(0, 0.5), 600_000);
        assert_eq!(look_after_ms(180_000, 0.5), 600_000);
        let range = [0.0, 1.0].map(|jitter| look_after_ms(1_000_000, jitter));
        assert_eq!(range, [2_999_999, 3_666_666], "300 per second");
    }

    #[test]
    fn a_half_hour_wait_takes_at_most_60_polls() {
        let (mut left_ms, mut polls) = (1_800_000u64, 0);
        while left_ms > 0 {
            left_ms = left_ms.saturating_sub(retry_after_ms(left_ms, 40_000, 0, 0.5));
            polls += 1;
        }
        assert!(polls <= 60, "{polls}");
    }
}
