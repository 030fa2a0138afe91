//! What an answer about the entry tells the client about its next request: `web/client/src/entry.ts`.

use vestibule_domain::state::EntryState;
use vestibule_wire::Entry;

use super::bounds::{PAUSE_MS_MAX, PAUSE_MS_MIN, as_f64, within};

/// How long the server may hold a poll of a visible page, in seconds.
const HOLD_SECONDS_VISIBLE: u32 = 5;
const BACKOFF_MS_BOUND_MIN: f64 = 2_000.0;
const BACKOFF_MS_BOUND_MAX: f64 = 12_000.0;
const BACKOFF_SHARE_OF_INTERVAL: f64 = 0.3;
/// Two thirds of the shortest `claim_seconds`, in milliseconds.
const CLAIM_SHARE_MS_MIN: f64 = 6_600.0;

/// Whether the entry waits far from the head, so that a client may follow the public document.
pub(super) fn is_far_from_head(entry: &Entry) -> bool {
    let has_place = entry.place.is_some() && entry.lane.is_some();
    entry.state == EntryState::Waiting && has_place && entry.look_after_ms.is_some()
}

/// The interval after which a client that does not follow the document asks again, in milliseconds.
pub(super) fn poll_ms(entry: &Entry) -> f64 {
    within(
        as_f64(entry.retry_after_ms.unwrap_or(0)),
        PAUSE_MS_MIN,
        PAUSE_MS_MAX,
    )
}

/// How long the server may hold a poll, in seconds.
pub(super) fn hold_seconds(entry: &Entry) -> u32 {
    if entry.state == EntryState::Waiting {
        HOLD_SECONDS_VISIBLE
    } else {
        0
    }
}

/// The bound of the random part of the backoff after a failed request about the entry, in milliseconds.
pub(super) fn backoff_bound_ms(entry: Option<&Entry>) -> f64 {
    let share_ms = entry.map_or(f64::INFINITY, |entry| BACKOFF_SHARE_OF_INTERVAL * poll_ms(entry));
    share_ms.clamp(BACKOFF_MS_BOUND_MIN, BACKOFF_MS_BOUND_MAX)
}

/// The time until a follower repeats a request about the entry that failed, in milliseconds, without the random part. In line
/// it is at most 70 % of two thirds of `claim_seconds`, as far as the follower knows them, whatever `Retry-After` says.
pub(super) fn failed_pause_ms(entry: Option<&Entry>, retry_after_ms: f64) -> f64 {
    const SHARE: f64 = 1.0 - BACKOFF_SHARE_OF_INTERVAL;
    let usual_ms = match entry {
        Some(entry) if entry.state == EntryState::Waiting => SHARE * poll_ms(entry),
        Some(entry) if entry.state == EntryState::Ready => 0.0,
        _ => return retry_after_ms,
    };
    retry_after_ms.min(SHARE * CLAIM_SHARE_MS_MIN).max(usual_ms)
}
