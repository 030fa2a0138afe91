//! When to come back: a poll is held, or told when the next one is due.
//!
//! The promise behind it: a visitor who keeps to `retry_after_ms`, and whose polls are answered, cannot lose a turn,
//! however fast the line moves. Whoever is promoted right after a poll polls again within two thirds of
//! `claim_seconds`, and has the last third left to claim.

/// How many polls one deployment holds at once, unless told.
pub const HELD_BUDGET: u32 = 500;
/// The soonest that a waiting visitor is asked to come back.
pub const RETRY_MS_MIN: u64 = 2_000;
/// The longest until somebody looks again who was answered without the line.
pub const RETRY_AWAY_MS_MAX: u64 = 60_000;
/// The longest that a poll is held; API Gateway gives up at 29 s.
pub const HOLD_MS_MAX: u64 = 20_000;
/// The longest that a held poll is counted which nobody releases: a hold, and what its process may take to answer then.
pub const HOLD_LEASE_MS_MAX: u64 = HOLD_MS_MAX + 2_000;
/// One part in so many of the budget is kept for those who are nearer to their turn than others.
const HOLD_RESERVE_PARTS: u64 = 10;
/// Nobody whose turn is further away than this is held.
pub const HOLD_HORIZON_MS: u64 = 30_000;
/// A promoted visitor is asked to claim at once; one whose claim failed comes back so soon.
pub const RETRY_READY_MS: u64 = 1_000;

/// A poll that is kept open until something changes, where the deployment has room for one more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hold {
    /// For so many milliseconds at most.
    pub up_to_ms: u64,
    /// Where fewer polls are held than this.
    pub below: u64,
}

/// How a waiting visitor whose turn is expected in `eta_ms`, and who offers to be held for `wait_ms`, may be held; `None`
/// where the turn is too far away for what is left of the budget, or nothing moves.
pub fn hold(
    eta_ms: u64,
    wait_ms: u64,
    held_budget: u64,
    admissions_per_second: f64,
    moving: bool,
) -> Option<Hold> {
    let horizon_ms = hold_horizon_ms(held_budget, admissions_per_second, moving);
    let up_to_ms = wait_ms.min(HOLD_MS_MAX);
    (up_to_ms > 0 && horizon_ms > 0 && eta_ms <= horizon_ms).then(|| Hold {
        up_to_ms,
        below: hold_room(held_budget, eta_ms, horizon_ms),
    })
}

/// How near a turn must be for its poll to be held: as many turns as the budget has room for, at most
/// [`HOLD_HORIZON_MS`]; zero while nothing moves.
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

/// How many polls may be held before one whose turn is expected in `eta_ms` is refused: the whole budget for the next in
/// line, nine tenths of it at the horizon. So where several queues share a budget that is not enough for all, each of
/// them holds its head, and the horizons of all draw nearer alike.
fn hold_room(held_budget: u64, eta_ms: u64, horizon_ms: u64) -> u64 {
    let reserve = held_budget / HOLD_RESERVE_PARTS;
    let kept = u128::from(reserve) * u128::from(eta_ms.min(horizon_ms)) / u128::from(horizon_ms.max(1));
    held_budget - u64::try_from(kept).unwrap_or(reserve)
}

/// Milliseconds until a waiting visitor should poll again: `clamp(0.3 * eta, 2 s, 2/3 * claim)`, with 15 % of jitter
/// to each side, and the bounds kept after it: they are the promise. Polls grow with the logarithm of the wait up to
/// the cap. `jitter` is random in `0.0..1.0`.
///
/// The two thirds of `claim_ms` count from when that was in force, `age_ms` ago: a lower one may be by now, and the turn may
/// have come right then.
pub fn retry_after_ms(eta_ms: u64, claim_ms: u64, age_ms: u64, jitter: f64) -> u64 {
    let cap_ms = claim_ms / 3 * 2;
    // The cap is clamped to first, so that those at the cap are spread as well: downwards.
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss
    )]
    let jittered = ((eta_ms as f64 * 0.3).min(cap_ms as f64) * (0.85 + 0.3 * jitter)) as u64;
    let left_ms = cap_ms.saturating_sub(age_ms).max(RETRY_READY_MS);
    jittered.clamp(RETRY_MS_MIN.min(cap_ms), cap_ms).min(left_ms)
}

/// Milliseconds until somebody should look again who was answered without the line, and so without an estimate: the cap
/// of [`retry_after_ms`] or half of it, spread over all in between, and a minute at most.
pub fn retry_away_ms(claim_ms: u64, jitter: f64) -> u64 {
    let cap_ms = (claim_ms / 3 * 2).min(RETRY_AWAY_MS_MAX);
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss
    )]
    let spread = (cap_ms as f64 * (0.5 + 0.5 * jitter)) as u64;
    spread.clamp(RETRY_MS_MIN.min(cap_ms), cap_ms)
}

/// Milliseconds until the holder of a pass should come for the next one: two thirds of its life.
pub fn renew_after_ms(pass_ms: u64) -> u64 {
    pass_ms / 3 * 2
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_estimate_breaks_the_promise(eta in 0u64..u64::MAX / 2, claim_s in 10u64..=3_600, jitter in 0.0f64..1.0) {
            let retry = retry_after_ms(eta, claim_s * 1_000, 0, jitter);
            prop_assert!(retry * 3 <= claim_s * 1_000 * 2, "two thirds of claim_seconds at most");
            prop_assert!(retry >= RETRY_MS_MIN);
            let away = retry_away_ms(claim_s * 1_000, jitter);
            prop_assert!((RETRY_MS_MIN..=RETRY_AWAY_MS_MAX).contains(&away));
            prop_assert!(away * 3 <= claim_s * 1_000 * 2, "two thirds of claim_seconds at most");
        }

        #[test]
        fn only_those_near_their_turn_are_held(
            eta in 0u64..200_000, wait in 0u64..40_000, budget in 0u64..1_000, rate in 0.0f64..100.0, moving: bool,
        ) {
            let horizon = hold_horizon_ms(budget, rate, moving);
            match hold(eta, wait, budget, rate, moving) {
                Some(Hold { up_to_ms, below }) => {
                    prop_assert!(eta <= horizon && up_to_ms > 0 && up_to_ms <= wait.min(HOLD_MS_MAX));
                    prop_assert_eq!(below, hold_room(budget, eta, horizon));
                }
                None => prop_assert!(wait == 0 || horizon == 0 || eta > horizon),
            }
        }

        #[test]
        fn the_horizon_keeps_within_the_budget(budget in 0u64..100_000, rate in 0.001f64..100_000.0) {
            let horizon_ms = hold_horizon_ms(budget, rate, true);
            #[allow(clippy::cast_precision_loss)]
            let turns_within = horizon_ms as f64 / 1_000.0 * rate;
            #[allow(clippy::cast_precision_loss)]
            let room = budget as f64;
            prop_assert!(turns_within <= room + 1.0);
            prop_assert_eq!(hold_horizon_ms(budget, rate, false), 0);
        }

        #[test]
        fn nearer_turns_have_more_room_and_nobody_more_than_the_budget(
            budget in 0u64..100_000, a in 0u64..200_000, b in 0u64..200_000, horizon in 0u64..=HOLD_HORIZON_MS,
        ) {
            let (near, far) = (hold_room(budget, a.min(b), horizon), hold_room(budget, a.max(b), horizon));
            prop_assert!(far <= near && near <= budget);
            prop_assert!(far * 10 >= budget * 9, "most of it is anybody's");
            prop_assert_eq!(hold_room(budget, 0, horizon), budget);
        }

        #[test]
        fn an_old_view_makes_no_promise_longer(
            eta in 0u64..400_000, age in 0u64..100_000, claim_s in 10u64..=3_600, jitter in 0.0f64..1.0,
        ) {
            let told = retry_after_ms(eta, claim_s * 1_000, age, jitter);
            prop_assert!(told <= retry_after_ms(eta, claim_s * 1_000, 0, jitter));
            prop_assert!((told + age) * 3 <= claim_s * 2_000 || told <= RETRY_READY_MS);
        }
    }

    #[test]
    fn a_half_hour_wait_takes_few_polls() {
        let (mut left_ms, mut polls) = (1_800_000u64, 0);
        while left_ms > 0 {
            left_ms = left_ms.saturating_sub(retry_after_ms(left_ms, 60_000, 0, 0.5));
            polls += 1;
        }
        assert!(polls <= 60, "{polls}");
    }
}
