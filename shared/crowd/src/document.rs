//! What the public document of a queue says about one entry that waits: `web/client/src/document.ts`.

use vestibule_domain::{estimate::Estimate, queue_state::QueueState, state::EntryState};
use vestibule_wire::{Entry, PositionWait, PublicDocument};

use super::bounds::{PAUSE_MS_MIN, as_f64, within};

/// A visitor reads the document about six times in each halving of the wait.
const REFRESHES_PER_WAIT: f64 = 6.0;
/// The bounds of the interval of reading, in milliseconds, before the first document has told them.
const REFRESH_NEAR_MS: f64 = 3_000.0;
const REFRESH_FAR_MS: f64 = 60_000.0;
/// The longest interval of reading, in milliseconds, whatever the server says.
const REFRESH_MS_MAX: f64 = 300_000.0;
const WINDOW_ENTRIES_MIN: f64 = 500.0;
const WINDOW_SECONDS: f64 = 60.0;
const WINDOW_GROWTH: f64 = 4.0;
/// An entry at most so many windows behind the boundary is near.
const WINDOWS_NEAR: f64 = 2.0;

/// The order of documents: a later one has a greater key.
pub(super) fn order(document: &PublicDocument) -> (u32, u32, u64) {
    (document.generation, document.epoch, document.now_ms)
}

/// Whether the document calls the entry to check in.
pub(super) fn calls(document: &PublicDocument, entry: &Entry) -> bool {
    let lane = entry.lane.and_then(|lane| document.lanes.get(&lane));
    lane.zip(entry.place)
        .is_some_and(|(lane, place)| lane.check_in_through >= place)
}

/// The position of a far entry at the time of a document, from the position and the count `gone_ahead` of the
/// entry's answer. It may be less than 1, and a later one may be higher. `None` for an entry that is not far.
pub(super) fn unclamped_position(document: &PublicDocument, entry: &Entry) -> Option<i64> {
    let lane = document.lanes.get(&entry.lane?)?;
    Some(i64::try_from(entry.position?).ok()? - (lane.gone_ahead - entry.gone_ahead?))
}

fn is_standing(document: &PublicDocument) -> bool {
    matches!(document.state, QueueState::Paused | QueueState::Closed) || document.estimated_waits.is_empty()
}

/// The expected wait at a position, as a range in seconds. `None` if the line stands still.
fn range_at(document: &PublicDocument, position: u64) -> Option<(f64, f64)> {
    let waits = &document.estimated_waits;
    let next = waits.partition_point(|wait| wait.position < position);
    let head = PositionWait::default();
    // Ahead of the first position, and behind the last one, the wait grows with the position.
    let (from, to) = match waits.get(next) {
        Some(to) => (next.checked_sub(1).map_or(head, |before| waits[before]), *to),
        None => (head, *waits.last()?),
    };
    let share = (as_f64(position) - as_f64(from.position)) / (as_f64(to.position) - as_f64(from.position));
    let between = |from: u64, to: u64| as_f64(from) + share * (as_f64(to) - as_f64(from));
    Some((between(from.low, to.low), between(from.high, to.high))).filter(|_| !is_standing(document))
}

/// The shortest expected wait in milliseconds: infinite if the line stands still, `None` if the position is not known.
fn shortest_wait_ms(document: &PublicDocument, position: Option<u64>) -> Option<f64> {
    if is_standing(document) {
        return Some(f64::INFINITY);
    }
    let (low, _) = range_at(document, position?)?;
    Some(low * 1_000.0)
}

/// The bounds of the interval at which the document is read, in milliseconds.
pub(super) fn refresh_bounds_ms(document: Option<&PublicDocument>) -> (f64, f64) {
    let (near_ms, far_ms) = document.map_or((REFRESH_NEAR_MS, REFRESH_FAR_MS), |document| {
        (as_f64(document.refresh_near_ms), as_f64(document.refresh_far_ms))
    });
    let near_ms = within(near_ms, PAUSE_MS_MIN, REFRESH_MS_MAX);
    (near_ms, within(far_ms, near_ms, REFRESH_MS_MAX))
}

/// The interval at which the document is read, in milliseconds: a sixth of the expected wait, within the bounds. The
/// wait is the shortest one by the document, or else of the entry's answer, which is `age_ms` old.
pub(super) fn refresh_ms(
    entry: &Entry,
    age_ms: f64,
    position: Option<u64>,
    document: Option<&PublicDocument>,
) -> f64 {
    let (near_ms, far_ms) = refresh_bounds_ms(document);
    let by_answer = || {
        let answered = entry.estimated_wait_seconds?;
        Some(as_f64(answered.low + answered.high) / 2.0 * 1_000.0 - age_ms)
    };
    let expected_ms = document
        .and_then(|document| shortest_wait_ms(document, position))
        .or_else(by_answer)
        .unwrap_or(if document.is_some() { f64::INFINITY } else { 0.0 });
    within(expected_ms / REFRESHES_PER_WAIT, near_ms, far_ms)
}

/// The expected wait as a range: by a newer document than the entry's answer, or else by that answer. It was told
/// `age_ms` ago, and is shorter by that time.
pub(super) fn estimate(
    entry: &Entry,
    position: Option<u64>,
    newer: Option<&PublicDocument>,
    age_ms: f64,
) -> Option<Estimate> {
    if entry.state != EntryState::Waiting {
        return None;
    }
    let (low, high) = if let Some((document, position)) = newer.zip(position) {
        range_at(document, position)?
    } else {
        let answered = entry.estimated_wait_seconds?;
        (as_f64(answered.low), as_f64(answered.high))
    };
    let left = |seconds: f64| seconds - age_ms / 1_000.0;
    Some(round_outwards(left(low), left(high)))
}

/// Rounds both ends outwards to whole seconds.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Waits are short, and not negative here.
fn round_outwards(low: f64, high: f64) -> Estimate {
    Estimate {
        low: low.max(0.0).floor() as u64,
        high: high.max(1.0).ceil() as u64,
    }
}

/// Whether the entry is within two windows of the boundary up to which entries are called.
/// `web/client/src/document.ts` explains the estimate of the number of entries in the window.
pub(super) fn is_near_boundary(
    entry: &Entry,
    position: Option<u64>,
    document: Option<&PublicDocument>,
) -> bool {
    let marks = document
        .zip(entry.lane)
        .and_then(|(document, lane)| document.lanes.get(&lane));
    let share = match (marks, entry.place) {
        (Some(marks), Some(place)) if marks.passed_through > 0 && place > marks.passed_through => {
            as_f64(marks.check_in_through.saturating_sub(marks.passed_through))
                / as_f64(place - marks.passed_through)
        }
        _ => 0.0,
    };
    let Some(position) = position.map(as_f64) else {
        return share >= 1.0 / (1.0 + WINDOWS_NEAR);
    };
    let speed = marks.and_then(|marks| marks.speed).unwrap_or(0.0);
    let window_min = WINDOW_ENTRIES_MIN.max(WINDOW_SECONDS * speed);
    let window = (share * position).max(window_min).min(WINDOW_GROWTH * window_min);
    position <= (1.0 + WINDOWS_NEAR) * window
}
