//! The durable record of an entry, and how a change updates it.

use super::{
    change::{Change, EndReason, Event, Version},
    consumption::{Consumption, EarlierUse, UseId},
    fact::{Fact, Step, Turn},
    id::{EntryId, Source},
    reconcile::{Provisional, resolve_provisional},
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
    /// What is known of the entry. Of two records the one with the greater fact is the later one.
    pub fact: Fact,
    /// The version of the last change that the record contains.
    pub version: Version,
    /// The place that the entry has or had. `None` if the change with the place never arrived.
    pub score: Option<WaitScore>,
    /// When the entry was promoted.
    pub promoted_at_ms: Option<u64>,
    /// When the entry was admitted.
    pub claimed_at_ms: Option<u64>,
    /// The last deadline: the claim deadline, or the end of the session.
    pub expires_at_ms: Option<u64>,
    /// When the visit ended.
    pub ended_at_ms: Option<u64>,
    /// The id of the use, if the protected service consumed the visit under one. `expires_at_ms` is
    /// then the end of the session.
    pub use_id: Option<UseId>,
    /// The last use that consumed an earlier visit; `None` if there was none.
    pub earlier_use: Option<EarlierUse>,
    /// Whether the visit ended because the wait lasted longer than the queue allows. The fact alone does not tell this
    /// from an absence.
    pub is_overlong_wait: bool,
    /// Where the visitor entered from, at the beginning of the visit; `None` if that is not known.
    pub source: Option<Source>,
    /// When the record may be deleted. It is a whole second, because the table's time to live has a
    /// resolution of seconds.
    pub delete_at_ms: u64,
}

/// The settings of the queue on which a write depends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PutRules {
    /// How long, in seconds, a visitor who missed the turn may come back to the old place; 0 for never.
    pub grace_seconds: u32,
    /// How long, in hours, the record of an ended entry is kept.
    pub retain_hours: u32,
}

/// What a conditional write does to a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PutDecision {
    /// The backup stores this record.
    Store(EntryRecord),
    /// The record already states this fact or a greater one, but lacks times or the place that the
    /// change contains. The backup stores this record, whose fact is the same as before.
    FillGaps(EntryRecord),
    /// The record already states this fact or a greater one. The backup writes nothing.
    Superseded,
    /// The change gives a provisional place, and the visit of the record goes on or may go on. The
    /// backup writes nothing.
    VisitContinues,
}

/// What writing several changes of one entry does to its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PutsDecision {
    /// The record after all changes; `None` if there is none.
    pub record: Option<EntryRecord>,
    /// The decision about each change, and the record after it.
    pub decisions: Vec<(PutDecision, Option<EntryRecord>)>,
}

impl EntryRecord {
    /// The current or last visit.
    pub fn visit(&self) -> Visit {
        self.fact.visit
    }

    /// When the visitor joined, derived from the place.
    pub fn joined_at_ms(&self) -> Option<u64> {
        self.score.map(WaitScore::joined_at_ms)
    }

    /// How the visit ended; `None` if it has not ended.
    pub fn end_reason(&self) -> Option<EndReason> {
        match self.state {
            EntryState::Completed => Some(match self.consumption() {
                Some(consumption) => EndReason::Consumed(consumption),
                None => EndReason::Completed,
            }),
            EntryState::Left => Some(EndReason::Left),
            EntryState::Evicted => Some(EndReason::Evicted),
            EntryState::Dismissed => Some(EndReason::Dismissed),
            EntryState::Expired if self.is_overlong_wait && EndReason::OverlongWait.fits(self.fact) => {
                Some(EndReason::OverlongWait)
            }
            EntryState::Expired => [EndReason::NoShow, EndReason::Absence, EndReason::Expired]
                .into_iter()
                .find(|how| how.fits(self.fact)),
            EntryState::Waiting | EntryState::Ready | EntryState::Active => None,
        }
    }

    /// How the protected service consumed the visit; `None` if it did not, or gave the use no id.
    pub fn consumption(&self) -> Option<Consumption> {
        let consumption = self.use_id.zip(self.expires_at_ms);
        consumption.map(|(use_id, session_end_ms)| Consumption {
            use_id,
            session_end_ms,
        })
    }

    /// The visits of which the record knows that the protected service consumed them under an id, the latest one first.
    pub fn uses(&self) -> impl Iterator<Item = EarlierUse> {
        let own = self.consumption().map(|consumption| EarlierUse {
            visit: self.visit(),
            consumption,
        });
        own.into_iter().chain(self.earlier_use)
    }

    /// Whether the deadline has passed. A waiting entry has no deadline.
    pub fn is_due(&self, now_ms: u64) -> bool {
        self.fact.deadline_ms().is_some_and(|at_ms| at_ms <= now_ms)
    }

    /// Decides what writing the change does to the record, or to no record. Repeated and late
    /// changes have no effect, so applying changes is idempotent.
    ///
    /// A change that gives a [provisional](Event::Entered) place is only stored if the visit of the
    /// record is over for good.
    pub fn decide_put(current: Option<&Self>, change: &Change, rules: PutRules) -> PutDecision {
        let Some(record) = current else {
            return PutDecision::Store(Self::new(change).advance(change, rules));
        };
        if record.fact >= change.fact() {
            return match record.fill_gaps(change) {
                Some(filled) => PutDecision::FillGaps(filled),
                None => PutDecision::Superseded,
            };
        }
        if let Event::Entered { place, after } | Event::FastTracked { place, after, .. } = change.event
            && let Provisional::Continues(_) | Provisional::ComesBack(_) = resolve_provisional(
                place,
                after,
                Some(record.fact),
                change.event.grace_seconds(rules.grace_seconds),
            )
        {
            return PutDecision::VisitContinues;
        }
        let base = if record.visit() == change.event.visit() {
            record.clone()
        } else {
            Self {
                earlier_use: record.uses().next(),
                ..Self::new(change)
            }
        };
        PutDecision::Store(base.advance(change, rules))
    }

    /// Decides what writing several changes of one entry, one after the other, does to its record,
    /// or to no record.
    pub fn decide_puts(current: Option<&Self>, changes: &[Change], rules: PutRules) -> PutsDecision {
        let mut record = current.cloned();
        let decisions = changes
            .iter()
            .map(|change| {
                let decision = Self::decide_put(record.as_ref(), change, rules);
                if let PutDecision::Store(after) | PutDecision::FillGaps(after) = &decision {
                    record = Some(after.clone());
                }
                (decision, record.clone())
            })
            .collect();
        PutsDecision { record, decisions }
    }

    /// The record as it will be when the backup has this end: the record itself if it states the
    /// end or a greater fact.
    pub fn with_end(current: Option<&Self>, end: &Change, rules: PutRules) -> Self {
        match (Self::decide_put(current, end, rules), current) {
            (PutDecision::Store(record) | PutDecision::FillGaps(record), _) => record,
            (_, Some(record)) => record.clone(),
            (_, None) => Self::of_change(end, rules),
        }
    }

    /// The record that consists of this change alone.
    pub fn of_change(change: &Change, rules: PutRules) -> Self {
        Self::new(change).advance(change, rules)
    }

    /// The record with the change, which states a greater fact of the same visit.
    fn advance(mut self, change: &Change, rules: PutRules) -> Self {
        let at_ms = change.at_ms;
        self.fact = change.fact();
        self.state = change.event.state();
        self.version = self.version.max(change.version);
        self.delete_at_ms = round_up_to_second_ms(at_ms + LIVE_RETAIN_MS);
        self.score = change.event.place().or(self.score);
        self.source = self.source.or(change.source);
        self.expires_at_ms = change.fact().deadline_ms().or(self.expires_at_ms);
        // A visit that goes on after a missed turn has not ended.
        self.ended_at_ms = None;
        self.is_overlong_wait = false;
        match change.event {
            Event::CameBack { .. } => {
                (self.promoted_at_ms, self.expires_at_ms) = (None, None);
            }
            Event::FastTracked {
                place, claimed_at_ms, ..
            } => {
                // The event may be a repeated report. The visitor was admitted on entering.
                let admitted_at_ms = Some(place.joined_at_ms());
                self.promoted_at_ms = admitted_at_ms;
                self.claimed_at_ms = claimed_at_ms.or(admitted_at_ms);
            }
            Event::Promoted { .. } => self.promoted_at_ms = Some(at_ms),
            Event::Entered { .. }
            | Event::LaneMoved { .. }
            | Event::StillReady { .. }
            | Event::Extended { .. } => {}
            Event::Claimed { .. } => self.claimed_at_ms = self.claimed_at_ms.or(Some(at_ms)),
            Event::Ended { how, .. } => {
                self.ended_at_ms = Some(at_ms);
                self.is_overlong_wait = how == EndReason::OverlongWait;
                if let Some(consumption) = how.consumption() {
                    self.use_id = Some(consumption.use_id);
                    self.expires_at_ms = Some(consumption.session_end_ms);
                }
                if how == EndReason::Expired {
                    // If no change reported the claim, the session end is the latest time at which
                    // it can have happened.
                    self.claimed_at_ms = self.claimed_at_ms.or(Some(at_ms));
                }
                // A restore must find a slot that is held.
                let kept_from_ms = match change.fact() {
                    fact if fact.step == Step::Held => at_ms.max(fact.step_ms),
                    _ => at_ms,
                };
                self.delete_at_ms =
                    round_up_to_second_ms(kept_from_ms + u64::from(rules.retain_hours) * 3_600_000);
            }
        }
        self
    }

    /// A change that arrives late does not affect the fact. But if it belongs to the same visit, it may
    /// contain what the later change lacks: the place, and the times of the promotion and the claim. The end of an earlier
    /// visit may contain its use.
    fn fill_gaps(&self, change: &Change) -> Option<Self> {
        if change.event.visit() < self.visit() {
            return self.with_earlier_use(change);
        }
        let is_of_this_turn = |turn: Turn| self.fact.turn().is_none_or(|own| own == turn);
        let promoted_at_ms = match change.event {
            Event::FastTracked { place, .. } => Some(place.joined_at_ms()),
            Event::Promoted { turn, .. } if is_of_this_turn(turn) => Some(change.at_ms),
            _ => None,
        };
        // Of a repeated claim that comes before the first one, the time is the best that is known.
        let claimed_at_ms = match change.event {
            Event::FastTracked { place, .. } => Some(place.joined_at_ms()),
            Event::Claimed { .. } => Some(change.at_ms),
            _ => None,
        };
        let filled = Self {
            score: self.score.or(change.event.place()),
            source: self.source.or(change.source),
            promoted_at_ms: self.promoted_at_ms.or(promoted_at_ms),
            claimed_at_ms: self.claimed_at_ms.or(claimed_at_ms),
            ..self.clone()
        };
        (self.visit() == change.event.visit() && filled != *self).then_some(filled)
    }

    fn with_earlier_use(&self, change: &Change) -> Option<Self> {
        let late = change.consumed_visit()?;
        let is_last = self.earlier_use.is_none_or(|known| known.visit < late.visit);
        // A line that lost the later visit may have given the use to one that had ended otherwise.
        let came_before = change.version < self.version;
        (is_last && came_before).then(|| Self {
            earlier_use: Some(late),
            ..self.clone()
        })
    }

    fn new(change: &Change) -> Self {
        Self {
            id: change.id,
            state: change.event.state(),
            fact: change.fact(),
            version: change.version,
            score: None,
            promoted_at_ms: None,
            claimed_at_ms: None,
            expires_at_ms: None,
            ended_at_ms: None,
            use_id: None,
            earlier_use: None,
            is_overlong_wait: false,
            source: None,
            delete_at_ms: 0,
        }
    }
}

/// Rounds up to a whole second, so that a record is never deleted too early.
fn round_up_to_second_ms(ms: u64) -> u64 {
    ms.next_multiple_of(1_000)
}
