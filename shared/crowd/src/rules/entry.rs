//! What an answer about the entry tells the client about its next request: `web/client/src/entry.ts`.

use vestibule_domain::{queue_state::QueueState, state::EntryState};
use vestibule_wire::Entry;

use super::bounds::{PAUSE_MS_MAX, PAUSE_MS_MIN, POLL_MS_DEFAULT, as_f64, within};

/// How long the server may hold a poll near the turn, in seconds. A visible page polls more often, to show new positions.
const HOLD_SECONDS: u32 = 20;
const HOLD_SECONDS_VISIBLE: u32 = 5;
/// The bounds of the random part of the backoff: a fifth of `claim_seconds`, so that no error costs a turn.
const BACKOFF_MS_BOUND_MIN: f64 = 2_000.0;
const BACKOFF_MS_BOUND_MAX: f64 = 12_000.0;
const BACKOFF_SHARE_OF_INTERVAL: f64 = 0.3;
const USUAL_SHARE: f64 = 0.7;
/// The same share of two thirds of the shortest `claim_seconds`, in milliseconds.
const CLAIM_PAUSE_MS_MIN: f64 = 4_600.0;

/// Whether the last answer about the entry came before the opening, so that it has no place.
pub(super) fn is_before_opening(entry: &Entry) -> bool {
    entry.queue_state == QueueState::Scheduled && entry.place.is_none()
}

/// Whether the entry waits far from the head or before the opening, so that the client follows the public document.
pub(super) fn is_far_from_head(entry: &Entry) -> bool {
    let has_place = entry.place.is_some() && entry.lane.is_some();
    entry.state == EntryState::Waiting
        && (has_place || is_before_opening(entry))
        && entry.look_after_ms.is_some()
}

/// The interval after which a client that does not follow the document asks again, in milliseconds.
pub(super) fn poll_ms(entry: &Entry) -> f64 {
    let interval_ms = entry.retry_after_ms.map_or(POLL_MS_DEFAULT, as_f64);
    within(interval_ms, PAUSE_MS_MIN, PAUSE_MS_MAX)
}

/// How long the server may hold a poll, in seconds. Only the poll of an entry that waits can be held.
pub(super) fn poll_hold_seconds(entry: &Entry, is_visible: bool) -> u32 {
    match (entry.state, is_visible) {
        (EntryState::Waiting, true) => HOLD_SECONDS_VISIBLE,
        (EntryState::Waiting, false) => HOLD_SECONDS,
        _ => 0,
    }
}

/// The bound of the random part of the backoff after a failed request about the entry, in milliseconds.
pub(super) fn backoff_bound_ms(entry: Option<&Entry>) -> f64 {
    let share_ms = entry.map_or(BACKOFF_MS_BOUND_MAX, |entry| {
        BACKOFF_SHARE_OF_INTERVAL * poll_ms(entry)
    });
    within(share_ms, BACKOFF_MS_BOUND_MIN, BACKOFF_MS_BOUND_MAX)
}

/// The time until the client repeats a request about the entry that failed, in milliseconds, without the random part: at least
/// 70 % of the last interval. In line it is at most 70 % of two thirds of `claim_seconds`, as far as the client knows them,
/// whatever `Retry-After` says.
pub(super) fn failed_pause_ms(entry: Option<&Entry>, retry_after_ms: f64) -> f64 {
    let usual_ms = match entry {
        Some(entry) if entry.state == EntryState::Waiting => USUAL_SHARE * poll_ms(entry),
        Some(entry) if entry.state == EntryState::Ready => 0.0,
        _ => return retry_after_ms,
    };
    retry_after_ms.min(CLAIM_PAUSE_MS_MIN).max(usual_ms)
}
