//! What the public document of a queue says about one entry that waits: `web/client/src/document.ts`.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{
    bounds::{PAUSE_MS_MIN, within},
    entry::{EntryAnswer, WaitRange},
};

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

/// The public document of a queue, as far as a follower reads it.
#[derive(Debug, Clone, Deserialize)]
pub struct Document {
    /// The number of resets of the queue.
    pub generation: u64,
    /// The number of restores of the queue.
    pub epoch: u64,
    /// Line time, in Unix milliseconds.
    pub now_ms: u64,
    /// How far each lane has moved.
    pub lanes: BTreeMap<u8, LaneMarks>,
    state: String,
    /// The expected waits at positions spread over the line.
    estimated_waits: Vec<PositionWait>,
    refresh_near_ms: f64,
    refresh_far_ms: f64,
}

/// How far a lane has moved.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct LaneMarks {
    /// Up to this place, entries are called.
    pub check_in_through: u64,
    /// Up to this place, entries have had their turn.
    pub passed_through: u64,
    /// How many entries have had their turn, less those that came back to a place in line.
    pub gone_ahead: i64,
    /// How many positions the lane moves per second.
    speed: Option<f64>,
}

/// The expected wait at a position, in seconds.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
struct PositionWait {
    position: u64,
    low: f64,
    high: f64,
}

impl Document {
    /// The order of documents: a later one has a greater key.
    pub fn order(&self) -> (u64, u64, u64) {
        (self.generation, self.epoch, self.now_ms)
    }

    /// Line time, in Unix milliseconds.
    pub(super) fn made_at_ms(&self) -> f64 {
        as_f64(self.now_ms)
    }

    /// Whether the document calls the entry to check in.
    pub(super) fn calls(&self, entry: &EntryAnswer) -> bool {
        let lane = entry.lane.and_then(|lane| self.lanes.get(&lane));
        lane.zip(entry.place)
            .is_some_and(|(marks, place)| marks.check_in_through >= place)
    }

    /// The position of a far entry at the time of this document, from the position and the count `gone_ahead` of the
    /// entry's answer. It may be less than 1, and a later one may be higher. `None` for an entry that is not far.
    pub fn unclamped_position(&self, entry: &EntryAnswer) -> Option<i64> {
        let marks = self.lanes.get(&entry.lane?)?;
        Some(i64::try_from(entry.position?).ok()? - (marks.gone_ahead - entry.gone_ahead?))
    }

    fn is_standing(&self) -> bool {
        self.state == "paused" || self.state == "closed" || self.estimated_waits.is_empty()
    }

    /// The expected wait at a position, as a range in seconds. `None` if the line stands still.
    fn range_at(&self, position: u64) -> Option<(f64, f64)> {
        let waits = &self.estimated_waits;
        let next = waits.partition_point(|wait| wait.position < position);
        let head = PositionWait::default();
        // Ahead of the first position, and behind the last one, the wait grows with the position.
        let (from, to) = match waits.get(next) {
            Some(to) => (next.checked_sub(1).map_or(head, |before| waits[before]), *to),
            None => (head, *waits.last()?),
        };
        let share =
            (as_f64(position) - as_f64(from.position)) / (as_f64(to.position) - as_f64(from.position));
        let between = |from: f64, to: f64| from + share * (to - from);
        Some((between(from.low, to.low), between(from.high, to.high))).filter(|_| !self.is_standing())
    }

    /// The shortest expected wait in milliseconds: infinite if the line stands still, `None` if the position is not known.
    fn shortest_wait_ms(&self, position: Option<u64>) -> Option<f64> {
        if self.is_standing() {
            return Some(f64::INFINITY);
        }
        let (low, _) = self.range_at(position?)?;
        Some(low * 1_000.0)
    }
}

/// The bounds of the interval at which the document is read, in milliseconds.
pub(super) fn refresh_bounds_ms(document: Option<&Document>) -> (f64, f64) {
    let (near_ms, far_ms) = document.map_or((REFRESH_NEAR_MS, REFRESH_FAR_MS), |document| {
        (document.refresh_near_ms, document.refresh_far_ms)
    });
    let near_ms = within(near_ms, PAUSE_MS_MIN, REFRESH_MS_MAX);
    (near_ms, within(far_ms, near_ms, REFRESH_MS_MAX))
}

/// The interval at which the document is read, in milliseconds: a sixth of the expected wait, within the bounds. The
/// wait is the shortest one by the document, or else of the entry's answer, which is `age_ms` old.
pub(super) fn refresh_ms(
    entry: &EntryAnswer,
    age_ms: f64,
    position: Option<u64>,
    document: Option<&Document>,
) -> f64 {
    let (near_ms, far_ms) = refresh_bounds_ms(document);
    let by_answer = || Some(entry.estimated_wait_seconds?.middle_ms() - age_ms);
    let expected_ms = document
        .and_then(|document| document.shortest_wait_ms(position))
        .or_else(by_answer)
        .unwrap_or(if document.is_some() { f64::INFINITY } else { 0.0 });
    within(expected_ms / REFRESHES_PER_WAIT, near_ms, far_ms)
}

/// The expected wait as a range: by a newer document than the entry's answer, or else by that answer. It was told
/// `age_ms` ago, and is shorter by that time.
pub(super) fn estimate(
    entry: &EntryAnswer,
    position: Option<u64>,
    newer: Option<&Document>,
    age_ms: f64,
) -> Option<WaitRange> {
    if entry.state != "waiting" {
        return None;
    }
    let (low, high) = if let Some((document, position)) = newer.zip(position) {
        document.range_at(position)?
    } else {
        let answered = entry.estimated_wait_seconds?;
        (as_f64(answered.low), as_f64(answered.high))
    };
    Some(WaitRange::between(
        low - age_ms / 1_000.0,
        high - age_ms / 1_000.0,
    ))
}

/// Whether the entry is within two windows of the boundary up to which entries are called.
/// `web/client/src/document.ts` explains the estimate of the number of entries in the window.
pub(super) fn is_near_boundary(
    entry: &EntryAnswer,
    position: Option<u64>,
    document: Option<&Document>,
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

/// Positions and distances are far below 2^53, and precise enough above.
#[allow(clippy::cast_precision_loss)]
fn as_f64(number: u64) -> f64 {
    number as f64
}
