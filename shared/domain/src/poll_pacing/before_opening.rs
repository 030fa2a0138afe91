//! When a visitor asks again who came before the opening of the queue.

use super::{RETRY_MIN_MS, look_after_ms, resync_ms};

/// The longest time over which clients spread entering before a draw, in milliseconds.
const ENTER_SPREAD_MAX_MS: u64 = 300_000;

/// Milliseconds until a visitor polls again, whose queue opens in `left_ms`. No turn comes before that. But an operator may
/// move the opening forward, so the visitor keeps to `cap_ms`, as later. Polls are spread over the cap after the opening.
/// `jitter` is random in `0.0..1.0`.
pub fn retry_before_opening_ms(left_ms: u64, cap_ms: u64, jitter: f64) -> u64 {
    let from_ms = left_ms.min(cap_ms / 2);
    (from_ms + share(cap_ms - from_ms, jitter)).clamp(RETRY_MIN_MS.min(cap_ms), cap_ms)
}

/// Milliseconds until a client that reads the public document asks about its entry, whose queue opens in `left_ms`: after the
/// opening, spread as after a restore. `jitter` is random in `0.0..1.0`.
pub fn look_before_opening_ms(left_ms: u64, waiting: u64, jitter: f64) -> u64 {
    let after_opening_ms = left_ms + share(resync_ms(waiting), jitter);
    after_opening_ms.min(look_after_ms(waiting, jitter))
}

/// Over how many milliseconds clients spread entering at random before a draw, in a queue that opens in `left_ms`: half of
/// that, so that an old copy of the document makes no client late.
pub fn enter_spread_ms(left_ms: u64) -> u64 {
    (left_ms / 2).min(ENTER_SPREAD_MAX_MS)
}

#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss
)]
fn share(ms: u64, jitter: f64) -> u64 {
    (ms as f64 * jitter) as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_poll_before_the_opening_keeps_to_the_cap(left in 0u64..100_000_000, cap in 6_000u64..2_400_000, jitter in 0.0f64..1.0) {
            let retry_ms = retry_before_opening_ms(left, cap, jitter);
            prop_assert!((RETRY_MIN_MS..=cap).contains(&retry_ms));
            prop_assert!(retry_ms >= left.min(cap / 2), "no poll is of use before the opening");
        }

        #[test]
        fn the_entry_is_asked_after_the_opening(left in 0u64..500_000, waiting in 0u64..2_000_000, jitter in 0.0f64..1.0) {
            let look_ms = look_before_opening_ms(left, waiting, jitter);
            prop_assert!((left..=left + resync_ms(waiting)).contains(&look_ms));
        }
    }

    #[test]
    fn long_before_the_opening_an_entry_is_asked_every_ten_minutes() {
        assert_eq!(look_before_opening_ms(7_200_000, 1_000, 0.5), 600_000);
    }
}
