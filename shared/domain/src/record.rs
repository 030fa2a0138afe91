//! The durable record of an entry, and what a change makes of it.

use super::{
    change::{Change, End, Event, Version},
    id::EntryId,
    score::{Visit, WaitScore},
    standing::Spot,
    state::State,
};

/// How long the record of an entry that is not gone is kept after its last change: far longer than anybody waits.
pub const LIVE_RETAIN_MS: u64 = 30 * 24 * 3_600_000;

/// One entry as the backup holds it. Times are Unix milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Whose.
    pub id: EntryId,
    /// The state.
    pub state: State,
    /// The last change that it shows.
    pub version: Version,
    /// The visit.
    pub visit: Visit,
    /// The place it has or had; unknown where the change that made it never arrived.
    pub score: Option<WaitScore>,
    /// When it was promoted.
    pub promoted_at_ms: Option<u64>,
    /// When it was let in.
    pub claimed_at_ms: Option<u64>,
    /// The deadline of its state: of the claim, or of the session.
    pub expires_at_ms: Option<u64>,
    /// When it ended.
    pub ended_at_ms: Option<u64>,
    /// When it came back to its place, having missed its turn: a visit does so once.
    pub came_back_at_ms: Option<u64>,
    /// When it may be deleted: a whole second, since the table's time to live counts in those.
    pub delete_at_ms: u64,
}

impl Record {
    /// When it joined, as its place tells.
    pub fn joined_at_ms(&self) -> Option<u64> {
        self.score.map(WaitScore::joined_at_ms)
    }

    /// How it ended; `None` where it did not.
    pub fn end(&self) -> Option<End> {
        match self.state {
            State::Completed => Some(End::Completed),
            State::Left => Some(End::Left),
            State::Expired if self.claimed_at_ms.is_none() => Some(End::NoShow),
            State::Expired => Some(End::Expired),
            State::Waiting | State::Ready | State::Active => None,
        }
    }

    /// Whether its deadline has come; one that waits has none.
    pub fn is_due(&self, now_ms: u64) -> bool {
        self.expires_at_ms.is_some_and(|at_ms| at_ms <= now_ms)
    }

    /// Whether it is of another visit than the change, and one that is not over.
    pub fn is_another_live_visit(&self, change: &Change) -> bool {
        self.state.is_live() && self.visit != change.event.visit()
    }

    /// Whether it shows an entry where the line has it. The deadline of a ready one is left out: it moves on while the queue
    /// is paused, and starts anew whenever the entry is put back.
    pub fn shows(&self, spot: Spot) -> bool {
        self.state == spot.state()
            && self.visit == spot.visit()
            && match spot {
                Spot::Waiting(score) => self.score == Some(score),
                Spot::Ready(_) => true,
                Spot::Active(end) => self.expires_at_ms == Some(end.deadline_ms()),
            }
    }

    /// Whether the change goes on with a visit that is over, or is of another one than the one that is not, or ends a session
    /// that goes on.
    pub fn overrules(&self, change: &Change) -> bool {
        let is_same = self.visit == change.event.visit();
        let differs = self.state.is_live() == change.ending().is_some();
        self.is_another_live_visit(change) || (is_same && differs && self.outlasts(change))
    }

    /// Whether it stands as it is, whatever the change says of the state: it shows that change or a later one, or the change
    /// is of a line that had lost what the record shows. Such a line goes on from where it was, with later versions: a visit
    /// never goes back by that, nor does a visit that was before take the place of the one that is.
    pub fn outlasts(&self, change: &Change) -> bool {
        if self.version >= change.version {
            return true;
        }
        if self.visit == change.event.visit() {
            return change.event.comes_before(self.state)
                || self.has_ended(change)
                || self.lasts_longer(change);
        }
        // Without a place nobody can say which of the two came first: the one that is not over stays.
        let is_later = |place| self.score.is_some_and(|own| own > place);
        self.state.is_live() && change.event.place().is_none_or(is_later)
    }

    /// Whether the change gives somebody the very place at which they were when they ended: by a line that lost that end.
    fn has_ended(&self, change: &Change) -> bool {
        let place = change.event.place().filter(|_| change.event.begins());
        place.is_some_and(|score| self.is_end_of_place(score))
    }

    /// Whether its deadline is later than the change knows. A line that lost a come-back still knows the turn that was
    /// missed: that runs out once more, and ends neither the wait that came after it nor the next turn. A session that ran
    /// out ends the turn before it, of which nobody may have said that it was taken.
    fn lasts_longer(&self, change: &Change) -> bool {
        let lasts_past = |at_ms| self.expires_at_ms.is_some_and(|end_ms| end_ms > at_ms);
        match (self.state, change.event) {
            (State::Waiting, Event::Ended { how, .. }) => {
                how == End::NoShow && self.came_back_at_ms.is_some()
            }
            (State::Ready, Event::Ended { how, .. }) => how == End::NoShow && lasts_past(change.at_ms),
            (State::Active, Event::Ended { how, .. }) => {
                matches!(how, End::NoShow | End::Expired) && lasts_past(change.at_ms)
            }
            (
                State::Active,
                Event::Claimed { session_end_ms, .. } | Event::Extended { session_end_ms, .. },
            ) => lasts_past(session_end_ms),
            _ => false,
        }
    }

    /// Until when whoever missed the turn may enter again at the old place; `None` for any other, and for who came back
    /// before. Of one that is ready it tells that of a turn which runs out when the record says.
    pub fn grace_until_ms(&self, grace_seconds: u32) -> Option<u64> {
        let missed_at_ms = match self.state {
            State::Expired => self.ended_at_ms,
            State::Ready => self.expires_at_ms,
            State::Waiting | State::Active | State::Completed | State::Left => None,
        };
        let has_grace = grace_seconds > 0
            && self.score.is_some()
            && self.claimed_at_ms.is_none()
            && self.came_back_at_ms.is_none();
        missed_at_ms
            .filter(|_| has_grace)
            .map(|at_ms| at_ms + u64::from(grace_seconds) * 1_000)
    }

    /// What stands when a change gives somebody a place who missed the turn and is back in time: the old place, which they
    /// wait at again. When they came is told by the new place, which may be written much later. `None` where the change
    /// counts as it is.
    pub fn come_back(&self, change: &Change, grace_seconds: u32) -> Option<Self> {
        let Event::Entered { score: place } = change.event else {
            return None;
        };
        let until_ms = self
            .grace_until_ms(grace_seconds)
            .filter(|_| self.state == State::Expired)?;
        let is_older = self.score.is_some_and(|own| own <= place);
        let is_back = is_older && place.joined_at_ms() <= until_ms && self.version < change.version;
        is_back.then(|| Self {
            state: State::Waiting,
            version: change.version,
            came_back_at_ms: Some(change.at_ms),
            promoted_at_ms: None,
            expires_at_ms: None,
            ended_at_ms: None,
            delete_at_ms: whole_second(change.at_ms + LIVE_RETAIN_MS),
            ..self.clone()
        })
    }

    /// What a change makes of the record that stands, or of none; `None` where the record [outlasts](Self::outlasts) it
    /// and nothing in it was missing: repeats and late arrivals change nothing.
    pub fn after(standing: Option<&Self>, change: &Change, retain_hours: u32) -> Option<Self> {
        if let Some(record) = standing.filter(|record| record.outlasts(change)) {
            // What a lost history makes up later is not what happened.
            return (record.version >= change.version)
                .then(|| record.filled(change))
                .flatten();
        }
        let visit = change.event.visit();
        let begins = change.event.begins();
        // What is known of this visit is kept; what stands of an earlier one is over.
        let mut record = match standing {
            Some(record) if record.visit == visit && !begins => record.clone(),
            // Said once more, it is the place that they came back to.
            Some(record) if record.score == change.event.place() => Self {
                came_back_at_ms: record.came_back_at_ms,
                ..Self::unknown(change.id, visit)
            },
            _ => Self::unknown(change.id, visit),
        };
        record.state = change.event.state();
        record.version = change.version;
        record.delete_at_ms = whole_second(change.at_ms + LIVE_RETAIN_MS);
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
                if how == End::Expired {
                    // By then at the latest, where nobody said when.
                    record.claimed_at_ms = record.claimed_at_ms.or(Some(change.at_ms));
                }
                record.delete_at_ms = whole_second(change.at_ms + u64::from(retain_hours) * 3_600_000);
            }
        }
        Some(record)
    }

    /// A change that comes late says nothing of the state any more. But where it is of the same visit, it may know what
    /// the later one could not: the place, and when it was promoted.
    fn filled(&self, change: &Change) -> Option<Self> {
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

    fn unknown(id: EntryId, visit: Visit) -> Self {
        Self {
            id,
            state: State::Waiting,
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

/// The same moment, or up to a second later: what may be deleted then was kept long enough.
fn whole_second(ms: u64) -> u64 {
    ms.next_multiple_of(1_000)
}
