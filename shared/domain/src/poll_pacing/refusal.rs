//! When a client tries again that was refused for now, with 429 or 503: the header `Retry-After`.
//!
//! An outage refuses all clients of a queue within one poll of each. What they are told must not
//! bring them back in the same second, and must not make them poll more often than before.
//!
//! - The shortest answer is `waiting / 300` seconds, so that the polls that return do not exceed
//!   what the line answers.
//! - It is no shorter than the usual time between two polls in this line. Otherwise an outage would
//!   multiply the polls of a slow line, in which most clients are told to poll after half a minute.
//! - It is spread at random over a third of itself, and over [`SPREAD_MIN_SECONDS`] at least.
//! - No client loses a turn by it: `Retry-After` and the client's own delay together
//!   ([`client_backoff_ms`]) stay within two thirds of `claim_seconds`, as `retry_after_ms` does.
//!   The client's delay is a fifth of `claim_seconds` at most, which leaves seven fifteenths. So a
//!   visitor who is promoted as soon as the line is back has the last third left to claim. The cap
//!   takes precedence over the rate, from `105 * claim_seconds` waiting visitors on (6,300 at 60 s):
//!   a late poll costs a turn, and an early one costs a request.
//! - A request of a visitor whose turn has come, and one of the protected service, is told the
//!   shortest time: no crowd sends it.
//!
//! The gateway's own answers are static. They say [`RETRY_AFTER_MIN_SECONDS`], and the client's
//! delay alone spreads them.

use super::{DEGRADED_RETRY_MAX_MS, RETRY_MIN_MS, RETRY_SHARE};

/// The shortest `Retry-After`, in seconds. It is also the one of the gateway's own answers.
pub const RETRY_AFTER_MIN_SECONDS: u64 = 2;
/// The shortest `Retry-After` if the backup has to catch up first, in seconds.
pub const RETRY_AFTER_BEHIND_MIN_SECONDS: u64 = 10;
/// Polls per second that a line answers when it is back, beside the writes of a restore.
const RETURNING_POLLS_PER_SECOND: u64 = 300;
/// The least width of the spread, in seconds. The header counts whole seconds.
const SPREAD_MIN_SECONDS: u64 = 2;
/// The bound of a client's first delay, in milliseconds. It doubles with each refusal.
const BACKOFF_FIRST_MS: u64 = 1_000;

/// What a server knows of a queue whose clients it refuses for now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RefusedQueue {
    /// Entries in line when the server last saw the line, if waiting visitors send the refused
    /// request. 0 if they do not, or if the server never saw the line.
    pub waiting: u64,
    /// The expected wait of the last of them, in milliseconds.
    pub last_eta_ms: u64,
    /// How long an unclaimed turn holds a slot, in milliseconds.
    pub claim_ms: u64,
}

/// `Retry-After` of a refusal, in seconds: at least `min_seconds`, unless `claim_seconds` does not
/// allow that. `queue` is `None` if the server knows nothing of it. `jitter` is random in `0.0..1.0`.
pub fn retry_after_seconds(min_seconds: u64, queue: Option<&RefusedQueue>, jitter: f64) -> u64 {
    let cap = queue.map_or(u64::MAX, |queue| longest_seconds(queue.claim_ms));
    let waited_for = queue.map_or(0, |queue| {
        let usual_seconds = usual_pause_ms(queue.waiting, queue.last_eta_ms, queue.claim_ms).div_ceil(1_000);
        let by_rate = queue.waiting.div_ceil(RETURNING_POLLS_PER_SECOND);
        if queue.waiting > 0 {
            usual_seconds.max(by_rate)
        } else {
            0
        }
    });
    // Also a capped answer is spread. It is spread downwards only.
    let low = min_seconds.max(waited_for).min(cap - cap / 4);
    let high = (low + (low / 3).max(SPREAD_MIN_SECONDS)).min(cap);
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss
    )]
    let drawn = low + ((high - low + 1) as f64 * jitter) as u64;
    drawn.clamp(1, high.max(1))
}

/// The longest `Retry-After`, in seconds: two thirds of the claim time less the client's own delay
/// of a fifth, and never more than the longest pause of a client that was answered without the line.
fn longest_seconds(claim_ms: u64) -> u64 {
    (claim_ms / 15 * 7).min(DEGRADED_RETRY_MAX_MS) / 1_000
}

/// The time that a client adds to `Retry-After`, in milliseconds: `rand(0, min(claim_seconds / 5,
/// 1 s * 2^n))` after `n` refusals in a row before this one (DESIGN, section 8). It is added, so
/// that clients that were told the same second do not come back in it. `jitter` is random in
/// `0.0..1.0`.
pub fn client_backoff_ms(claim_ms: u64, refusals_before: u32, jitter: f64) -> u64 {
    let doubled_ms = BACKOFF_FIRST_MS.saturating_mul(1 << refusals_before.min(30));
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss
    )]
    let drawn_ms = (doubled_ms.min(claim_ms / 5) as f64 * jitter) as u64;
    drawn_ms
}

/// The usual time between two polls in a line, in milliseconds: the harmonic mean of
/// [`retry_after_ms`](super::retry_after_ms) over the `waiting` visitors. The expected wait is taken
/// to rise evenly, up to `last_eta_ms` for the last visitor.
///
/// The first positions poll after the shortest pause and the last ones after the cap. Between them
/// the pause rises by the same step from one position to the next, so their polls are a harmonic
/// sum. The sum from `a + 1` to `b` of `1 / k` is about `ln((b + 0.5) / (a + 0.5))`.
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss
)]
fn usual_pause_ms(waiting: u64, last_eta_ms: u64, claim_ms: u64) -> u64 {
    let waiting = waiting.max(1) as f64;
    let cap_ms = (claim_ms / 3 * 2) as f64;
    let min_ms = (RETRY_MIN_MS as f64).min(cap_ms);
    let step_ms = last_eta_ms as f64 * RETRY_SHARE / waiting;
    let positions_within = |pause_ms: f64| (pause_ms / step_ms).floor().min(waiting);
    let (at_min, below_cap) = (positions_within(min_ms), positions_within(cap_ms));
    let rising = ((below_cap + 0.5) / (at_min + 0.5)).ln();
    let rising_polls_per_ms = if rising > 0.0 { rising / step_ms } else { 0.0 };
    let polls_per_ms = at_min / min_ms + rising_polls_per_ms + (waiting - below_cap) / cap_ms;
    (waiting / polls_per_ms) as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{
        super::{degraded_retry_after_ms, retry_after_ms},
        *,
    };

    fn queue(waiting: u64, last_eta_ms: u64, claim_seconds: u64) -> RefusedQueue {
        RefusedQueue {
            waiting,
            last_eta_ms,
            claim_ms: claim_seconds * 1_000,
        }
    }

    #[test]
    fn retry_after_rises_with_the_line_and_is_spread() {
        let range = |min, queue: Option<RefusedQueue>| {
            let drawn = |jitter| retry_after_seconds(min, queue.as_ref(), jitter);
            (drawn(0.0), drawn(0.999_999))
        };
        assert_eq!(range(2, None), (2, 4), "nothing is known");
        assert_eq!(range(10, None), (10, 13), "the backup has to catch up");
        assert_eq!(range(2, Some(queue(0, 0, 60))), (2, 4), "no visitor waits");
        assert_eq!(range(2, Some(queue(20, 4_000, 60))), (2, 4), "all turns are near");
        assert_eq!(
            range(2, Some(queue(3_000, 5_000, 60))),
            (10, 13),
            "3,000 at 300 a second"
        );
        assert_eq!(
            range(2, Some(queue(1_000, 3_600_000, 60))),
            (21, 28),
            "a slow line"
        );
        assert_eq!(
            range(2, Some(queue(1_000_000, u64::MAX, 60))),
            (21, 28),
            "the cap"
        );
        assert_eq!(
            range(10, Some(queue(1_000, 3_600_000, 10))),
            (3, 4),
            "short claims"
        );
        assert_eq!(
            range(2, Some(queue(1_000_000, u64::MAX, 3_600))),
            (45, 60),
            "long claims"
        );
    }

    proptest! {
        #[test]
        fn a_refused_client_keeps_its_turn(
            waiting in 0u64..2_000_000, eta in 0u64..u64::MAX / 2, claim_s in 10u64..=3_600, behind: bool,
            refusals in 0u32..40, jitter in 0.0f64..1.0, client_jitter in 0.0f64..1.0,
        ) {
            let queue = queue(waiting, eta, claim_s);
            let min = if behind { RETRY_AFTER_BEHIND_MIN_SECONDS } else { RETRY_AFTER_MIN_SECONDS };
            let seconds = retry_after_seconds(min, Some(&queue), jitter);
            prop_assert!(seconds >= RETRY_AFTER_MIN_SECONDS);
            let back_ms = seconds * 1_000 + client_backoff_ms(queue.claim_ms, refusals, client_jitter);
            prop_assert!(back_ms * 3 <= queue.claim_ms * 2, "{} s and then {} ms", seconds, back_ms);
            prop_assert!(seconds * 1_000 <= degraded_retry_after_ms(queue.claim_ms, 1.0));
        }

        #[test]
        fn returning_polls_stay_within_what_the_line_answers(waiting in 1u64..8_000, eta in 0u64..7_200_000) {
            // Up to 21 s of shortest answers, with a claim time of 60 s, hold 6,300 visitors.
            let shortest = retry_after_seconds(RETRY_AFTER_MIN_SECONDS, Some(&queue(waiting, eta, 60)), 0.0);
            prop_assert!(waiting <= shortest * RETURNING_POLLS_PER_SECOND || shortest == 21);
        }

        #[test]
        fn the_usual_pause_is_the_mean_over_the_line(waiting in 50u64..3_000, per_minute in 1u64..6_000, claim_s in 10u64..600) {
            let eta = |position: u64| position * 60_000 / per_minute;
            #[allow(clippy::cast_precision_loss)]
            let polls: f64 = (1..=waiting)
                .map(|position| 1.0 / retry_after_ms(eta(position), claim_s * 1_000 / 3 * 2, 0, 0.5) as f64)
                .sum();
            #[allow(clippy::cast_precision_loss)]
            let ratio = usual_pause_ms(waiting, eta(waiting), claim_s * 1_000) as f64 * polls / waiting as f64;
            prop_assert!((0.9..1.1).contains(&ratio), "{}", ratio);
        }
    }
}
