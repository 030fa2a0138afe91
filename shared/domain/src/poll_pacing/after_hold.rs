//! When a visitor polls again whose poll was held until its time ran out.
//!
//! Such a turn is near, and the visitor learns of it late if it comes in the pause between two held
//! polls. So this pause is shorter than the one after a poll that was not held. It is not zero, so that
//! the polls of a crowd do not stay in step.

/// The shortest pause after a held poll, in milliseconds.
const PAUSE_MIN_MS: u64 = 500;
/// The pause is this part of the expected wait, less a second: the turn may come much sooner than
/// expected.
const PAUSE_PARTS: u64 = 5;
const PAUSE_LESS_MS: u64 = 1_000;

/// Milliseconds until a visitor polls again after a poll that was held. The turn is expected in
/// `eta_ms`; `retry_ms` is the pause without the hold, which is never exceeded. `jitter` is random in
/// `0.0..1.0`, and spreads the shortest pause by a tenth to each side.
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss
)]
pub fn retry_after_hold_ms(eta_ms: u64, retry_ms: u64, jitter: f64) -> u64 {
    let spread_ms = (PAUSE_MIN_MS as f64 * (0.9 + 0.2 * jitter)) as u64;
    (eta_ms / PAUSE_PARTS)
        .saturating_sub(PAUSE_LESS_MS)
        .max(spread_ms)
        .min(retry_ms)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::poll_pacing::retry_after_ms;

    proptest! {
        #[test]
        fn the_pause_after_a_hold_is_the_shorter_one(
            eta in 0u64..100_000, claim_s in 10u64..=3_600, jitter in 0.0f64..1.0,
        ) {
            let usual_ms = retry_after_ms(eta, claim_s * 1_000 / 3 * 2, 0, jitter);
            let pause_ms = retry_after_hold_ms(eta, usual_ms, jitter);
            prop_assert!(pause_ms <= usual_ms);
            prop_assert!(pause_ms >= 450, "{} ms", pause_ms);
            prop_assert!(pause_ms <= 550.max(eta / 5), "{} ms; the turn may come in {} ms", pause_ms, eta);
        }
    }
}
