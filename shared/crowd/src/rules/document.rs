//! What the public document of a queue says about one entry that waits: `web/client/src/document.ts`.

use vestibule_domain::{draw::DrawSeed, estimate::Estimate, id::EntryId, state::EntryState};
use vestibule_wire::{Entry, Lane, PositionWait, PublicDocument};

use super::{
    bounds::{PAUSE_MS_MIN, as_f64, within},
    entry::is_before_opening,
};

/// A visitor reads the document about six times in each halving of the wait.
const REFRESHES_PER_WAIT: f64 = 6.0;
/// The bounds of the interval of reading, in milliseconds, before the first document has told them.
const REFRESH_NEAR_MS: f64 = 3_000.0;
const REFRESH_FAR_MS: f64 = 60_000.0;
/// The longest interval of reading, in milliseconds, whatever the server says.
const REFRESH_MS_MAX: f64 = 300_000.0;
/// How often a visitor who does not know the position after the opening reads the document, in milliseconds.
const OPENED_WAIT_MS: f64 = 60_000.0;
const WINDOW_ENTRIES_MIN: f64 = 500.0;
const WINDOW_SECONDS: f64 = 60.0;
const WINDOW_GROWTH: f64 = 4.0;
/// An entry at most so many windows behind the boundary is near.
const WINDOWS_NEAR: f64 = 2.0;
/// A place is the lane in 3 bits, 1 after the opening and 0 before it in 1 bit, and the order in 49 bits.
const PHASE_OPEN: u64 = 1 << 49;
const LANE_PLACES: u64 = 1 << 50;

/// The order of documents: a later one has a greater key.
pub(super) fn order(document: &PublicDocument) -> (u32, u32, u64) {
    (document.generation, document.epoch, document.now_ms)
}

fn lane_of<'a>(document: &'a PublicDocument, entry: &Entry) -> Option<&'a Lane> {
    document.lanes.get(&entry.lane.unwrap_or(0))
}

/// Whether the document calls the entry to check in.
pub(super) fn calls(document: &PublicDocument, entry: &Entry) -> bool {
    if !is_before_opening(entry) {
        let place = entry.place.unwrap_or(0);
        return lane_of(document, entry).is_some_and(|lane| lane.check_in_through >= place);
    }
    // The order follows from the draw, or else from the visit. The lane is not known, so each may be the own one.
    let order = drawn_order(document, entry).unwrap_or(PHASE_OPEN.saturating_add(entry.visit));
    let mut lanes = document.lanes.iter();
    lanes.any(|(number, lane)| lane.check_in_through >= u64::from(*number) * LANE_PLACES + order)
}

fn drawn_order(document: &PublicDocument, entry: &Entry) -> Option<u64> {
    let seed = DrawSeed::from_hex(document.draw_seed.as_deref()?)?;
    let id: EntryId = entry.token.parse().ok()?;
    Some(seed.draw(id).number())
}

/// The position of an entry at the time of a document, from the position and the count `gone_ahead` of its last answer. It may
/// be less than 1, and a later one may be higher. `None` if the answer had no position.
pub(super) fn unclamped_position(document: &PublicDocument, entry: &Entry) -> Option<i64> {
    let position = i64::try_from(entry.position?).ok()?;
    let gone_ahead = entry.gone_ahead.zip(lane_of(document, entry));
    let gone_since = gone_ahead.map_or(0, |(before, lane)| lane.gone_ahead.saturating_sub(before));
    Some(position.saturating_sub(gone_since))
}

/// A row of a table by position.
trait Row {
    fn position(&self) -> u64;
}

impl Row for PositionWait {
    fn position(&self) -> u64 {
        self.position
    }
}

impl Row for vestibule_wire::PositionAhead {
    fn position(&self) -> u64 {
        self.position
    }
}

/// What the document tells at a position, from the rows at the positions around it. Ahead of the first row and behind the last
/// one, it grows with the position.
fn between<R: Row>(rows: &[R], position: u64, value: impl Fn(&R) -> u64) -> Option<f64> {
    let next = rows.iter().position(|row| row.position() >= position);
    let to = next.map_or_else(|| rows.last(), |at| rows.get(at))?;
    let from = next.and_then(|at| rows.get(at.checked_sub(1)?));
    let from_position = as_f64(from.map_or(0, Row::position));
    let from_value = as_f64(from.map_or(0, &value));
    let share = (as_f64(position) - from_position) / (as_f64(to.position()) - from_position);
    Some(from_value + share * (as_f64(value(to)) - from_value))
}

/// The expected waits at positions of the entry's lane, in seconds. There are none if the line stands still.
fn waits_of<'a>(document: &'a PublicDocument, entry: &Entry) -> &'a [PositionWait] {
    // While other lanes have a part of the promotions, the own one has waits of its own.
    let own = entry.lane.and_then(|lane| document.lanes.get(&lane));
    let own = own.and_then(|lane| lane.estimated_waits.as_ref());
    own.unwrap_or(&document.estimated_waits)
}

/// How many turns come before the one at a position of the own lane, and whether that is expected only: by the document if it is
/// newer than the entry's last answer, or else by that answer.
pub(super) fn ahead_of(entry: &Entry, position: u64, newer: Option<&PublicDocument>) -> (u64, bool) {
    let answered = entry.position.unwrap_or(0);
    let Some(document) = newer else {
        let told = entry.ahead.unwrap_or(answered.saturating_sub(1));
        return (
            told.saturating_add(position).saturating_sub(answered),
            entry.ahead_is_expected,
        );
    };
    let lane = lane_of(document, entry);
    let rows = lane.and_then(|lane| lane.ahead.as_deref()).unwrap_or_default();
    let by_rows = between(rows, position, |row| row.ahead).map(round);
    let is_expected = lane.is_some_and(|lane| lane.ahead_is_expected);
    (by_rows.unwrap_or(position.saturating_sub(1)), is_expected)
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Counts of entries, which are not negative here.
fn round(count: f64) -> u64 {
    // As `Math.round`: a half goes up.
    (count + 0.5).floor().max(0.0) as u64
}

/// The bounds of the interval at which the document is read, in milliseconds.
pub(super) fn refresh_bounds_ms(document: Option<&PublicDocument>) -> (f64, f64) {
    let (near_ms, far_ms) = document.map_or((REFRESH_NEAR_MS, REFRESH_FAR_MS), |document| {
        (as_f64(document.refresh_near_ms), as_f64(document.refresh_far_ms))
    });
    let near_ms = within(near_ms, PAUSE_MS_MIN, REFRESH_MS_MAX);
    (near_ms, within(far_ms, near_ms, REFRESH_MS_MAX))
}

/// The interval at which the document is read, in milliseconds: a sixth of the expected wait, within the bounds. The wait is the
/// shortest one by the newest document, or else that of the entry's answer, which is `age_ms` old.
pub(super) fn refresh_ms(
    entry: Option<&Entry>,
    age_ms: f64,
    position: Option<u64>,
    document: Option<&PublicDocument>,
) -> f64 {
    let (near_ms, far_ms) = refresh_bounds_ms(document);
    let expected_ms = expected_wait_ms(entry, age_ms, position, document);
    within(expected_ms / REFRESHES_PER_WAIT, near_ms, far_ms)
}

/// When the queue opens, if it has not.
fn opens_at_ms(document: &PublicDocument) -> Option<f64> {
    document
        .opens_at_ms
        .filter(|opens_at_ms| *opens_at_ms > 0)
        .map(as_f64)
}

fn expected_wait_ms(
    entry: Option<&Entry>,
    age_ms: f64,
    position: Option<u64>,
    document: Option<&PublicDocument>,
) -> f64 {
    // A document of before the opening knows no waits, and an answer with a position is newer.
    let waits = document.filter(|document| opens_at_ms(document).is_none() || position.is_none());
    if let Some(((document, position), entry)) = waits.zip(position).zip(entry) {
        let low = between(waits_of(document, entry), position, |wait| wait.low);
        return low.map_or(f64::INFINITY, |low| low * 1_000.0);
    }
    if let Some((document, _)) = document.zip(entry.filter(|entry| is_before_opening(entry))) {
        return opens_at_ms(document).map_or(OPENED_WAIT_MS, |opens_at_ms| {
            opens_at_ms - as_f64(document.now_ms)
        });
    }
    match entry.and_then(|entry| entry.estimated_wait_seconds) {
        Some(range) => (as_f64(range.low) + as_f64(range.high)) * 500.0 - age_ms,
        // Without any expected wait, the first document may tell it, and otherwise the line stands still.
        None if waits.is_some() => f64::INFINITY,
        None => 0.0,
    }
}

/// The expected wait as a range: by a document that is newer than the entry's answer, or else by that answer. It was told
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
        let waits = waits_of(document, entry);
        let low = between(waits, position, |wait| wait.low)?;
        (low, between(waits, position, |wait| wait.high)?)
    } else {
        let answered = entry.estimated_wait_seconds?;
        (as_f64(answered.low), as_f64(answered.high))
    };
    let after = |seconds: f64| seconds - age_ms / 1_000.0;
    Some(round_outwards(after(low), after(high)))
}

/// Rounds both ends outwards to whole seconds.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Waits are short, and not negative here.
fn round_outwards(low: f64, high: f64) -> Estimate {
    Estimate {
        low: low.max(0.0).floor() as u64,
        high: high.max(1.0).ceil() as u64,
    }
}

/// Whether the entry is within two windows of the boundary up to which entries are called. The window is the entries between
/// `passed_through` and `check_in_through`; `web/client/src/document.ts` explains the estimate of their number.
pub(super) fn is_near_boundary(
    entry: &Entry,
    position: Option<u64>,
    document: Option<&PublicDocument>,
) -> bool {
    // Before the opening neither place nor lane is known.
    let place = entry.place.map_or(f64::NAN, as_f64);
    let lane = document.zip(entry.lane);
    let lane = lane.and_then(|(document, lane)| document.lanes.get(&lane));
    let passed = lane.map_or(0.0, |lane| as_f64(lane.passed_through));
    let called = lane.map_or(0.0, |lane| as_f64(lane.check_in_through));
    // Before the first entry has passed, the distance to the own place says nothing about the number of entries.
    let share = if passed > 0.0 {
        (called - passed) / (place - passed)
    } else {
        0.0
    };
    let Some(position) = position.map(as_f64) else {
        return share >= 1.0 / (1.0 + WINDOWS_NEAR);
    };
    let speed = lane.and_then(|lane| lane.speed);
    let speed = speed
        .or_else(|| document.and_then(|document| document.rate))
        .unwrap_or(0.0);
    let window_min = WINDOW_ENTRIES_MIN.max(WINDOW_SECONDS * speed);
    // A place that has passed is none of the window: its share is infinite, or less than nothing.
    let entries = if (share * position).is_finite() {
        share * position
    } else {
        window_min
    };
    let window = within(entries, window_min, WINDOW_GROWTH * window_min);
    position <= (1.0 + WINDOWS_NEAR) * window
}
