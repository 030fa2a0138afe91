//! The durable record of an entry, and how a change updates it.

use super::{
    change::{Change, EndReason, Event, Version},
    entry_status::StoredPosition,
    id::EntryId,
    score::{Visit, WaitScore},
    state::EntryState,
};

/// How long the record of a live entry is kept after its last change, in milliseconds. It is far
/// longer than any visitor waits.
pub const LIVE_RETAIN_MS: u64 = 30 * 24 * 3_600_000;

/// One entry as the backup stores it. Times are Unix milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryRecord {
    /// The entry.
    pub id: EntryId,
    /// The state of the entry.
    pub state: EntryState,
    /// The version of the last change that the record contains.
    pub version: Version,
    /// The current or last visit.
    pub visit: Visit,
    /// The place that the entry has or had. `None` if the change with the place never arrived.
    pub score: Option<WaitScore>,
    /// When the entry was promoted.
    pub promoted_at_ms: Option<u64>,
    /// When the entry was admitted.
    pub claimed_at_ms: Option<u64>,
    /// The deadline of the state: the claim deadline, or the end of the session.
    pub expires_at_ms: Option<u64>,
    /// When the visit ended.
    pub ended_at_ms: Option<u64>,
    /// When the visitor came back to the old place after a missed turn. A visit can do so once.
    pub came_back_at_ms: Option<u64>,
    /// When the record may be deleted. It is a whole second, because the table's time to live has a
    /// resolution of seconds.
    pub delete_at_ms: u64,
}

impl EntryRecord {
    /// When the visitor joined, derived from the place.
    pub fn joined_at_ms(&self) -> Option<u64> {
        self.score.map(WaitScore::joined_at_ms)
    }

    /// How the visit ended; `None` if it has not ended.
    pub fn end_reason(&self) -> Option<EndReason> {
        match self.state {
            EntryState::Completed => Some(EndReason::Completed),
            EntryState::Left => Some(EndReason::Left),
            EntryState::Expired if self.claimed_at_ms.is_none() => Some(EndReason::NoShow),
            EntryState::Expired => Some(EndReason::Expired),
            EntryState::Waiting | EntryState::Ready | EntryState::Active => None,
        }
    }

    /// Whether the deadline has passed. A waiting entry has no deadline.
    pub fn is_due(&self, now_ms: u64) -> bool {
        self.expires_at_ms.is_some_and(|at_ms| at_ms <= now_ms)
    }

    /// Whether the record shows a live visit that is not the visit of the change.
    pub fn is_another_live_visit(&self, change: &Change) -> bool {
        self.state.is_live() && self.visit != change.event.visit()
    }

    /// Whether the record agrees with the position that the line stores. The deadline of a ready
    /// entry is not compared: it moves while the queue is paused, and starts again when the entry
    /// is restored.
    pub fn matches_position(&self, spot: StoredPosition) -> bool {
        self.state == spot.state()
            && self.visit == spot.visit()
            && match spot {
                StoredPosition::Waiting(score) => self.score == Some(score),
                StoredPosition::Ready(_) => true,
                StoredPosition::Active(end) => self.expires_at_ms == Some(end.deadline_ms()),
            }
    }

    /// Whether the record and the change conflict, and the record wins. There are three cases: the
    /// record shows another live visit, the change continues a visit that has ended, or the change
    /// ends a visit that continues.
    pub fn conflicts_with(&self, change: &Change) -> bool {
        let is_same = self.visit == change.event.visit();
        let differs = self.state.is_live() == change.visit_end().is_some();
        self.is_another_live_visit(change) || (is_same && differs && self.supersedes(change))
    }

    /// Whether the record supersedes the change, so that its state stays as it is. This is so if
    /// the record already contains this change or a later one, or if the change comes from a line
    /// that lost what the record shows.
    ///
    /// Such a line continues from its older state, with later versions. The rule guarantees that a visit
    /// never goes back to an earlier state, and that an earlier visit never replaces the current one.
    pub fn supersedes(&self, change: &Change) -> bool {
        if self.version >= change.version {
            return true;
        }
        if self.visit == change.event.visit() {
            return change.event.is_before_state(self.state)
                || self.has_ended_at_place(change)
                || self.has_later_deadline(change);
        }
        // Without a place in the change, the order of the two visits is unknown. The record wins if
        // its visit is live.
        let is_later = |place| self.score.is_some_and(|own| own > place);
        self.state.is_live() && change.event.place().is_none_or(is_later)
    }

    /// Whether the change gives the entry the same place at which the visit already ended. This
    /// happens if the line lost that end.
    fn has_ended_at_place(&self, change: &Change) -> bool {
        let place = change.event.place().filter(|_| change.event.begins_visit());
        place.is_some_and(|score| self.is_end_of_place(score))
    }

    /// Whether the record has a later deadline than the change knows about.
    ///
    /// A line that lost a come-back still has the missed turn, and drops it once more. That expiry
    /// ends neither the wait after the come-back nor the next turn. An expired session does end the
    /// turn before it, because the claim of that turn may never have been reported.
    fn has_later_deadline(&self, change: &Change) -> bool {
        let lasts_past = |at_ms| self.expires_at_ms.is_some_and(|end_ms| end_ms > at_ms);
        match (self.state, change.event) {
            (EntryState::Waiting, Event::Ended { how, .. }) => {
                how == EndReason::NoShow && self.came_back_at_ms.is_some()
            }
            (EntryState::Ready, Event::Ended { how, .. }) => {
                how == EndReason::NoShow && lasts_past(change.at_ms)
            }
            (EntryState::Active, Event::Ended { how, .. }) => {
                matches!(how, EndReason::NoShow | EndReason::Expired) && lasts_past(change.at_ms)
            }
            (
                EntryState::Active,
                Event::Claimed { session_end_ms, .. } | Event::Extended { session_end_ms, .. },
            ) => lasts_past(session_end_ms),
            _ => false,
        }
    }

    /// The time, in Unix milliseconds, until which a visitor who missed the turn may enter again at
    /// the old place. `None` for any other record, and for a visitor who already came back. For a
    /// ready entry, it is the time that will apply if the turn runs out at the recorded deadline.
    pub fn grace_until_ms(&self, grace_seconds: u32) -> Option<u64> {
        let missed_at_ms = match self.state {
            EntryState::Expired => self.ended_at_ms,
            EntryState::Ready => self.expires_at_ms,
            EntryState::Waiting | EntryState::Active | EntryState::Completed | EntryState::Left => None,
        };
        let has_grace = grace_seconds > 0
            && self.score.is_some()
            && self.claimed_at_ms.is_none()
            && self.came_back_at_ms.is_none();
        missed_at_ms
            .filter(|_| has_grace)
            .map(|at_ms| at_ms + u64::from(grace_seconds) * 1_000)
    }

    /// The record if the change gives a new place to a visitor who missed the turn and returns in
    /// time: the entry waits at the old place again. The join time of the new place tells when the
    /// visitor returned, because the change may be written much later. `None` if the change applies
    /// unmodified.
    pub fn restore_missed_place(&self, change: &Change, grace_seconds: u32) -> Option<Self> {
        let Event::Entered { score: place } = change.event else {
            return None;
        };
        let until_ms = self
            .grace_until_ms(grace_seconds)
            .filter(|_| self.state == EntryState::Expired)?;
        let is_older = self.score.is_some_and(|own| own <= place);
        let is_back = is_older && place.joined_at_ms() <= until_ms && self.version < change.version;
        is_back.then(|| Self {
            state: EntryState::Waiting,
            version: change.version,
            came_back_at_ms: Some(change.at_ms),
            promoted_at_ms: None,
            expires_at_ms: None,
            ended_at_ms: None,
            delete_at_ms: round_up_to_second_ms(change.at_ms + LIVE_RETAIN_MS),
            ..self.clone()
        })
    }

    /// The new record after a change to `current`, or to no record. `None` if the record
    /// [supersedes](Self::supersedes) the change and has no gap that the change fills. So repeated
    /// and late changes have no effect, and applying changes is idempotent.
    pub fn apply_change(current: Option<&Self>, change: &Change, retain_hours: u32) -> Option<Self> {
        if let Some(record) = current.filter(|record| record.supersedes(change)) {
            // Only a change that is not newer than the record can fill a gap. A newer one comes from a
            // line that lost its history, so its place and times may be wrong.
            return (record.version >= change.version)
                .then(|| record.fill_gaps(change))
                .flatten();
        }
        let visit = change.event.visit();
        let begins = change.event.begins_visit();
        // Keep what the record contains about this visit. A record of an earlier visit is replaced.
        let mut record = match current {
            Some(record) if record.visit == visit && !begins => record.clone(),
            // The change repeats the old place to which the visitor came back, so keep the time of the
            // come-back.
            Some(record) if record.score == change.event.place() => Self {
                came_back_at_ms: record.came_back_at_ms,
                ..Self::new_unknown(change.id, visit)
            },
            _ => Self::new_unknown(change.id, visit),
        };
        record.state = change.event.state();
        record.version = change.version;
        record.delete_at_ms = round_up_to_second_ms(change.at_ms + LIVE_RETAIN_MS);
        match change.event {
            Event::Entered { score } => record.score = Some(score),
            Event::FastTracked {
                score,
                session_end_ms,
            } => {
                record.score = Some(score);
                record.promoted_at_ms = Some(change.at_ms);
                record.claimed_at_ms = Some(change.at_ms);
                record.expires_at_ms = Some(session_end_ms);
            }
            Event::Promoted { score, claim_by_ms } => {
                record.score = Some(score);
                record.promoted_at_ms = Some(change.at_ms);
                record.expires_at_ms = Some(claim_by_ms);
            }
            Event::StillReady { claim_by_ms, .. } => record.expires_at_ms = Some(claim_by_ms),
            Event::Claimed { session_end_ms, .. } => {
                record.claimed_at_ms = record.claimed_at_ms.or(Some(change.at_ms));
                record.expires_at_ms = Some(session_end_ms);
            }
            Event::Extended { session_end_ms, .. } => record.expires_at_ms = Some(session_end_ms),
            Event::Ended { how, .. } => {
                record.ended_at_ms = Some(change.at_ms);
                if how == EndReason::Expired {
                    // If no change reported the claim, the session end is the latest time at which
                    // it can have happened.
                    record.claimed_at_ms = record.claimed_at_ms.or(Some(change.at_ms));
                }
                record.delete_at_ms =
                    round_up_to_second_ms(change.at_ms + u64::from(retain_hours) * 3_600_000);
            }
        }
        Some(record)
    }

    /// A change that arrives late does not affect the state. But if it belongs to the same visit, it may
    /// contain facts that the later change lacks: the place, and the time of the promotion.
    fn fill_gaps(&self, change: &Change) -> Option<Self> {
        let (score, promoted_at_ms) = match change.event {
            Event::Entered { score } => (Some(score), None),
            Event::FastTracked { score, .. } | Event::Promoted { score, .. } => {
                (Some(score), Some(change.at_ms))
            }
            Event::StillReady { .. }
            | Event::Claimed { .. }
            | Event::Extended { .. }
            | Event::Ended { .. } => (None, None),
        };
        let filled = Self {
            score: self.score.or(score),
            promoted_at_ms: self.promoted_at_ms.or(promoted_at_ms),
            ..self.clone()
        };
        (self.visit == change.event.visit() && filled != *self).then_some(filled)
    }

    fn new_unknown(id: EntryId, visit: Visit) -> Self {
        Self {
            id,
            state: EntryState::Waiting,
            version: Version::default(),
            visit,
            score: None,
            promoted_at_ms: None,
            claimed_at_ms: None,
            expires_at_ms: None,
            ended_at_ms: None,
            came_back_at_ms: None,
            delete_at_ms: 0,
        }
    }
}

/// Rounds up to a whole second, so that a record is never deleted too early.
fn round_up_to_second_ms(ms: u64) -> u64 {
    ms.next_multiple_of(1_000)
}
