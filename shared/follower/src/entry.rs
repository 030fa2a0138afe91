//! What an answer about the entry tells the client about its next request: `web/client/src/entry.ts`.

use serde::Deserialize;

use super::bounds::{PAUSE_MS_MAX, PAUSE_MS_MIN, within};

/// How long the server may hold a poll of a visible page, in seconds.
const HOLD_SECONDS_VISIBLE: u32 = 5;
const BACKOFF_MS_BOUND_MIN: f64 = 2_000.0;
const BACKOFF_MS_BOUND_MAX: f64 = 12_000.0;
const BACKOFF_SHARE_OF_INTERVAL: f64 = 0.3;
/// Two thirds of the shortest `claim_seconds`, in milliseconds.
const CLAIM_SHARE_MS_MIN: f64 = 6_600.0;

/// An answer about the entry, as far as a follower reads it.
#[derive(Debug, Clone, Deserialize)]
pub struct EntryAnswer {
    /// The token of the entry.
    pub token: String,
    /// The number of the visit.
    pub visit: u64,
    /// The state of the entry.
    pub state: String,
    /// The order of the entry in line.
    pub place: Option<u64>,
    /// The lane of the entry.
    pub lane: Option<u8>,
    /// The position in the lane; 1 for the head.
    pub position: Option<u64>,
    /// How many entries of the lane had had their turn. Only a far entry has this.
    pub gone_ahead: Option<i64>,
    /// When a far entry is asked again, in milliseconds.
    pub look_after_ms: Option<f64>,
    /// When a client that ignores the document asks again, in milliseconds.
    pub retry_after_ms: f64,
    /// The expected wait.
    pub estimated_wait_seconds: Option<WaitRange>,
    /// When the visitor entered, in Unix milliseconds.
    pub joined_at_ms: Option<u64>,
    /// Until when a ready entry can be claimed, in Unix milliseconds.
    pub claim_by_ms: Option<u64>,
    /// The same as a duration, in milliseconds.
    pub claim_in_ms: Option<u64>,
    /// How long the session of an active entry lasts from now, in milliseconds.
    pub expires_in_ms: Option<u64>,
}

/// A range of expected waits, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct WaitRange {
    /// The shortest.
    pub low: u64,
    /// The longest.
    pub high: u64,
}

impl WaitRange {
    #[allow(clippy::cast_precision_loss)] // Waits are short.
    pub(super) fn middle_ms(self) -> f64 {
        (self.low + self.high) as f64 / 2.0 * 1_000.0
    }

    /// Rounds both ends outwards to whole seconds.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub(super) fn between(low: f64, high: f64) -> Self {
        Self {
            low: low.max(0.0).floor() as u64,
            high: high.max(1.0).ceil() as u64,
        }
    }
}

impl EntryAnswer {
    /// Whether the entry waits far from the head, so that a client may follow the public document.
    pub fn is_far_from_head(&self) -> bool {
        self.state == "waiting" && self.place.is_some() && self.lane.is_some() && self.look_after_ms.is_some()
    }

    /// The interval after which a client that does not follow the document asks again, in milliseconds.
    pub(super) fn poll_ms(&self) -> f64 {
        within(self.retry_after_ms, PAUSE_MS_MIN, PAUSE_MS_MAX)
    }

    /// How long the server may hold a poll, in seconds.
    pub(super) fn hold_seconds(&self) -> u32 {
        if self.state == "waiting" {
            HOLD_SECONDS_VISIBLE
        } else {
            0
        }
    }
}

/// The bound of the random part of the backoff after a failed request about the entry, in milliseconds.
pub(super) fn backoff_bound_ms(entry: Option<&EntryAnswer>) -> f64 {
    let share_ms = entry.map_or(f64::INFINITY, |entry| BACKOFF_SHARE_OF_INTERVAL * entry.poll_ms());
    share_ms.clamp(BACKOFF_MS_BOUND_MIN, BACKOFF_MS_BOUND_MAX)
}

/// The time until a follower repeats a request about the entry that failed, in milliseconds, without the random part. In line
/// it is at most 70 % of two thirds of `claim_seconds`, as far as the follower knows them, whatever `Retry-After` says.
pub(super) fn failed_pause_ms(entry: Option<&EntryAnswer>, retry_after_ms: f64) -> f64 {
    const SHARE: f64 = 1.0 - BACKOFF_SHARE_OF_INTERVAL;
    let usual_ms = match entry {
        Some(entry) if entry.state == "waiting" => SHARE * entry.poll_ms(),
        Some(entry) if entry.state == "ready" => 0.0,
        _ => return retry_after_ms,
    };
    retry_after_ms.min(SHARE * CLAIM_SHARE_MS_MIN).max(usual_ms)
}
