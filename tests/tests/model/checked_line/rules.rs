//! What each operation may do to a queue: the rules of the line, as invariants over the state before and after it. They
//! know nothing of the scripts.

use std::collections::{BTreeMap, BTreeSet};

use vestibule_domain::{
    configuration::Configuration,
    id::EntryId,
    lane::LANE_PLACES,
    score::{ORDER_BITS, WaitScore},
    settings::{Entrance, Settings},
    state::EntryState,
    tally::Tally,
};
use vestibule_line::{Arrival, JournalRecord, OperatorView};

use super::{dump::Dump, invariants::ENDS};
use crate::operations::Operation;

pub(crate) type Check = Result<(), String>;

/// A queue at one moment.
pub(super) struct Moment {
    pub(super) dump: Dump,
    pub(super) tally: Tally,
    pub(super) view: OperatorView,
}

/// An operation, and the queue before and after it.
pub(super) struct Step<'a> {
    pub(super) op: &'a Operation,
    pub(super) before: &'a Moment,
    pub(super) after: &'a Moment,
    /// The journal after the operation.
    pub(super) journal: &'a [JournalRecord],
}

/// The visit of an entry, and the number of its step.
type Progress = (u64, u64);

impl Moment {
    pub(super) fn set(&self, state: EntryState) -> &[(EntryId, u64)] {
        match state {
            EntryState::Waiting => &self.dump.waiting,
            EntryState::Ready => &self.dump.ready,
            EntryState::Active => &self.dump.active,
            _ => &[],
        }
    }

    pub(super) fn ids(&self, state: EntryState) -> BTreeSet<EntryId> {
        self.set(state).iter().map(|(id, _)| *id).collect()
    }

    /// The active entries of which it is known when their sessions began.
    fn dated_sessions(&self) -> u64 {
        let active = self.ids(EntryState::Active);
        let is_dated = |text: &str| text.split(' ').count() == 3;
        let dated = self.dump.visits.iter();
        dated
            .filter(|(id, text)| active.contains(id) && is_dated(text))
            .count() as u64
    }

    /// How many slots are taken.
    fn taken(&self) -> usize {
        self.dump.ready.len() + self.dump.active.len() + self.dump.held.len()
    }

    pub(super) fn total(&self, name: &str) -> i64 {
        self.dump.state.get(name).copied().unwrap_or_default()
    }

    /// How far each entry has come that the line has. `visits` tells it, or else the place.
    pub(super) fn progress(&self) -> BTreeMap<EntryId, Progress> {
        let mut progress = BTreeMap::new();
        for (id, place) in &self.dump.waiting {
            progress.insert(*id, (place % (1 << ORDER_BITS), 0));
        }
        for (id, text) in &self.dump.visits {
            let mut numbers = text.split(' ').filter_map(|number| number.parse().ok());
            let of_visit = numbers.next().zip(numbers.next());
            progress.insert(*id, of_visit.expect("a visit and a step"));
        }
        progress
    }

    /// The ends that the line knows, with the visit, the step and the way.
    pub(super) fn ends(&self) -> BTreeMap<EntryId, (u64, u64, String)> {
        let ends = self.dump.ended.iter().map(|(id, text)| {
            let words: Vec<_> = text.split(' ').collect();
            let number = |at: usize| words[at].parse().expect("a number");
            (*id, (number(2), number(3), words[5].to_owned()))
        });
        ends.collect()
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.view.configuration.settings
    }

    pub(super) fn configuration(&self) -> &Configuration {
        &self.view.configuration
    }
}

impl Step<'_> {
    /// Whether the operation is a comparison with a record, which may move an entry anywhere that the record says.
    pub(super) fn adopts(&self) -> bool {
        matches!(self.op, Operation::Adopt(_))
    }

    /// The entries that waited before and are ready after.
    fn promoted(&self) -> BTreeMap<EntryId, u64> {
        let ready = self.after.ids(EntryState::Ready);
        let waited = self.before.dump.waiting.iter();
        waited.filter(|(id, _)| ready.contains(id)).copied().collect()
    }

    pub(super) fn check(&self) -> Check {
        self.require_one_place_each()?;
        self.require_progress()?;
        self.require_rising_totals()?;
        self.require_capacity()?;
        self.require_order()?;
        self.require_switches()?;
        self.require_counted_ends()?;
        self.require_counted_stays()?;
        self.require_times()?;
        self.require_promises()?;
        self.require_queue_limit()?;
        self.require_kept_places()?;
        self.require_counted_time()?;
        self.require_reads_only()?;
        self.require_journal()
    }

    /// No visitor has two places, or a place and a slot.
    fn require_one_place_each(&self) -> Check {
        let dump = &self.after.dump;
        let sets = [&dump.waiting, &dump.ready, &dump.active, &dump.held];
        let all: usize = sets.iter().map(|set| set.len()).sum();
        let ids: BTreeSet<_> = sets
            .iter()
            .flat_map(|set| set.iter().map(|(id, _)| *id))
            .collect();
        require(ids.len() == all, || "an entry is in two sets".to_owned())
    }

    /// Facts never go back: an entry keeps its visit or begins a later one, and its step never falls. One that is gone has an
    /// end, and only an operation that ends entries ends any.
    fn require_progress(&self) -> Check {
        if self.adopts() {
            return Ok(());
        }
        let (now, ends) = (self.after.progress(), self.after.ends());
        let held: BTreeSet<_> = self.before.dump.held.iter().map(|(id, _)| *id).collect();
        for (id, was) in self.before.progress() {
            match (now.get(&id), ends.get(&id)) {
                (Some(is), _) => require(*is >= was, || format!("{id} went back from {was:?} to {is:?}"))?,
                (None, Some((visit, ..))) => {
                    require(*visit >= was.0, || {
                        format!("{id} has the end of visit {visit}, after {was:?}")
                    })?;
                }
                (None, None) => require(held.contains(&id), || format!("{id} is gone without an end"))?,
            }
        }
        let (live, known_ends) = (self.before.progress(), self.before.ends());
        for (id, is) in now.iter().filter(|(id, _)| !live.contains_key(id)) {
            if let Some((visit, step, _)) = known_ends.get(id) {
                require(*is >= (*visit, *step), || {
                    format!("{id} is at {is:?}, after the end of {visit} {step}")
                })?;
            }
        }
        // A restore brings back what has ended if the backup has refused the end so far. That ends once more.
        for (id, (visit, step, how)) in &ends {
            if let Some((known_visit, known_step, _)) = known_ends.get(id) {
                let (known, is) = ((*known_visit, *known_step), (*visit, *step));
                let is_back = live.get(id).is_some_and(|was| *was < known && *was <= is);
                require(is_back || is >= known, || {
                    format!("the end of {id} went back from {known:?} to {is:?} {how}")
                })?;
            }
        }
        Ok(())
    }

    /// Each session that ends is counted once among the stays.
    fn require_counted_stays(&self) -> Check {
        if self.adopts() {
            return Ok(());
        }
        let (was, is) = (self.before, self.after);
        // A visitor who takes back the own slot, which is held, is not let in once more.
        let active = is.ids(EntryState::Active);
        let is_back = |(id, until_ms): &&(EntryId, u64)| active.contains(id) && *until_ms > is.view.now_ms;
        let back = was.dump.held.iter().filter(is_back).count() as u64;
        let begun = is.view.totals.let_in() - was.view.totals.let_in() + back;
        let counted = is.tally.stays.count() - was.tally.stays.count();
        let (were, are) = (was.dated_sessions(), is.dated_sessions());
        require(were + begun == are + counted, || {
            format!("{counted} stays are counted, {begun} sessions began, and of {were} there are {are}")
        })
    }

    /// Versions, visit numbers and totals never fall.
    fn require_rising_totals(&self) -> Check {
        let others = [
            "v",
            "last_order",
            "entered",
            "promoted",
            "claimed",
            "fast_tracked",
            "bypassed",
            "ticks",
            "promoted_through",
        ];
        let rising = others.into_iter().chain(ENDS);
        for name in rising.filter(|name| !self.adopts() || *name == "v") {
            let (was, is) = (self.before.total(name), self.after.total(name));
            require(is >= was, || format!("{name} fell from {was} to {is}"))?;
        }
        Ok(())
    }

    /// Never over the capacity, but by what had a slot before: a record, a pass, a slot that is held for its visitor.
    fn require_capacity(&self) -> Check {
        let (was, is) = (self.before.taken(), self.after.taken());
        let capacity = self.after.settings().capacity as usize;
        let may_exceed = self.adopts()
            || self.after.settings().is_passthrough()
            || matches!(
                self.op,
                Operation::Validate {
                    pass_ms_from_now: Some(_),
                    ..
                }
            );
        require(is <= was || is <= capacity || may_exceed, || {
            format!("{is} slots of {capacity} are taken, after {was}")
        })
    }

    /// A tick promotes each lane from its head: it passes over no visitor who is present, and while presence is off no visitor
    /// who waits. With a share of 0, it serves no lane before an earlier one. With presence, it promotes only those who checked in.
    fn require_order(&self) -> Check {
        if !matches!(self.op, Operation::Promote { .. }) {
            return Ok(());
        }
        let promoted = self.promoted();
        let has_presence = self.after.dump.presence.contains_key("presence");
        let in_turn = |moment: &Moment| -> BTreeMap<EntryId, u64> {
            let all = if has_presence {
                &moment.dump.present
            } else {
                &moment.dump.waiting
            };
            all.iter().copied().collect()
        };
        let (before, after) = (in_turn(self.before), in_turn(self.after));
        let still: Vec<_> = after
            .iter()
            .filter(|(id, place)| before.get(id) == Some(place))
            .collect();
        let shares = self.after.settings().lane_share > 0;
        for (id, place) in &promoted {
            require(!has_presence || before.contains_key(id), || {
                format!("{id} at {place} is not present")
            })?;
            let lane = place / LANE_PLACES;
            let overtaken = still.iter().find(|(_, other)| {
                let other_lane = **other / LANE_PLACES;
                *other < place && (other_lane == lane || !shares)
            });
            require(overtaken.is_none(), || {
                format!("{id} at {place} overtook {overtaken:?}")
            })?;
        }
        Ok(())
    }

    /// While a queue is paused, closed, finished or not open yet, it promotes no entry and admits no visitor on the fast track.
    /// While its entrance is not open, it gives no new place.
    fn require_switches(&self) -> Check {
        let (configuration, now_ms) = (self.after.configuration(), self.after.view.now_ms);
        // The operation may have been the one that switched.
        let could_promote =
            configuration.can_promote(now_ms) || self.before.configuration().can_promote(now_ms);
        let promotes = matches!(self.op, Operation::Promote { .. } | Operation::PromoteEntry(..));
        if promotes && !could_promote {
            let promoted = self.promoted();
            require(promoted.is_empty(), || {
                format!("{promoted:?} are promoted although the queue does not move")
            })?;
        }
        let Operation::Enter(_, arrival, ..) = self.op else {
            return Ok(());
        };
        let fast = self.after.total("fast_tracked") - self.before.total("fast_tracked");
        require(fast == 0 || could_promote, || {
            "a fast track although the queue does not move".to_owned()
        })?;
        let bypassed = self.after.total("bypassed") - self.before.total("bypassed");
        require(bypassed == 0 || *arrival == Arrival::Bypass, || {
            "a bypass of an ordinary visitor".to_owned()
        })?;
        let newcomers = self.after.dump.waiting.len() > self.before.dump.waiting.len();
        let is_open = self.before.settings().entrance_at(now_ms) == Entrance::Open;
        require(!newcomers || is_open, || {
            "a new place although the entrance is not open".to_owned()
        })
    }

    /// Each way of ending counts the ends of its kind.
    fn require_counted_ends(&self) -> Check {
        if self.adopts() {
            return Ok(());
        }
        // A visit that was restored although it had ended may end once more, with a later version. One whose slot was held was
        // counted when its visitor left.
        let was_held = |id| self.before.dump.held.iter().any(|(held, _)| held == id);
        let (before, after) = (&self.before.dump.ended, self.after.ends());
        let ended: Vec<_> = self
            .after
            .dump
            .ended
            .iter()
            .filter(|end| !before.contains(end) && !was_held(&end.0))
            .collect();
        for (how, total) in [
            ("no-show", "no_shows"),
            ("expired", "expired"),
            ("absence", "absences"),
            ("overlong-wait", "overlong_waits"),
            ("dismissed", "dismissed"),
            ("evicted", "evicted"),
        ] {
            let new = ended.iter().filter(|(id, _)| after[id].2 == how);
            let (ends, counted) = (new.count(), self.after.total(total) - self.before.total(total));
            require(i64::try_from(ends) == Ok(counted), || {
                format!("{counted} counted as {total}, and {ends} ended so")
            })?;
        }
        Ok(())
    }

    /// Time alone ends sessions and held slots, and a tick ends all that are over.
    fn require_times(&self) -> Check {
        if self.adopts() {
            return Ok(());
        }
        let now_ms = self.after.view.now_ms;
        let ended = self.after.ends();
        for (id, session_end_ms) in &self.before.dump.active {
            let expired = ended.get(id).is_some_and(|end| end.2 == "expired");
            let known = self.before.ends().get(id).map(|end| end.0) == ended.get(id).map(|end| end.0);
            require(!expired || known || *session_end_ms <= now_ms, || {
                format!("{id} expired {} ms early", session_end_ms - now_ms)
            })?;
        }
        let Operation::Promote { .. } = self.op else {
            return Ok(());
        };
        let is_full = |moment: &Moment| moment.view.journal_len >= super::LIMITS.all_changes;
        if self.after.view.clocks.apart || is_full(self.before) || is_full(self.after) {
            return Ok(());
        }
        // The view may show the next millisecond, because each version is a microsecond later than the one before.
        let tick_ms = u64::try_from(self.after.total("counted_at_ms")).unwrap_or_default();
        for (what, set) in [
            ("session", &self.after.dump.active),
            ("held slot", &self.after.dump.held),
        ] {
            let over = set.iter().find(|(_, end_ms)| *end_ms <= tick_ms);
            require(over.is_none(), || {
                format!("a {what} outlives its end: {over:?} at {tick_ms}")
            })?;
        }
        Ok(())
    }

    /// A newcomer gets no place in a full line.
    fn require_queue_limit(&self) -> Check {
        let (Operation::Enter(_, arrival, ..), Some(limit)) = (self.op, self.before.settings().queue_limit())
        else {
            return Ok(());
        };
        // Absent entries do not count, by their number at the last tick.
        let waiting = i64::try_from(self.before.dump.waiting.len()).map_err(|error| error.to_string())?;
        let in_line = waiting - self.before.total("absent");
        let is_new = self.after.dump.waiting.len() > self.before.dump.waiting.len();
        // Less than none, if absent ones ended since then.
        let has_room = u64::try_from(in_line.max(0)).is_ok_and(|in_line| in_line < limit);
        require(!is_new || has_room || *arrival == Arrival::Returning, || {
            format!("a new place, although {in_line} are in line and the limit is {limit}")
        })
    }

    /// A waiting entry keeps its place, unless its visitor enters again, a record says otherwise, or an operator moves it.
    fn require_kept_places(&self) -> Check {
        let after: BTreeMap<_, _> = self.after.dump.waiting.iter().copied().collect();
        for (id, place) in &self.before.dump.waiting {
            let Some(now) = after.get(id).filter(|now| *now != place) else {
                continue;
            };
            let may_move = match self.op {
                Operation::Enter(number, ..) => vestibule_tests::lines::visitor(*number) == *id,
                Operation::MoveToLane(number, _) => {
                    vestibule_tests::lines::visitor(*number) == *id
                        && now % LANE_PLACES == place % LANE_PLACES
                }
                Operation::Adopt(_) => true,
                _ => false,
            };
            require(may_move, || format!("{id} moved from {place} to {now}"))?;
        }
        let places: BTreeSet<_> = self.after.dump.waiting.iter().map(|(_, place)| *place).collect();
        let drawn = self
            .after
            .dump
            .waiting
            .iter()
            .any(|(_, place)| WaitScore::from_raw(*place).is_some_and(|place| !place.is_after_opening()));
        require(drawn || places.len() == self.after.dump.waiting.len(), || {
            "two entries have one place".to_owned()
        })
    }

    /// Of the averages, a tick counts the time since the tick before, and nothing before the first.
    fn require_counted_time(&self) -> Check {
        let Operation::Promote { .. } = self.op else {
            return Ok(());
        };
        let (was_ms, now_ms) = (
            self.before.total("counted_at_ms"),
            self.after.total("counted_at_ms"),
        );
        let seconds = if was_ms > 0 {
            (now_ms / 1_000 - was_ms / 1_000).max(0)
        } else {
            0
        };
        for (name, entries) in [
            ("taken_seconds", self.before.taken()),
            ("waiting_seconds", self.before.dump.waiting.len()),
        ] {
            let counted = self.after.total(name) - self.before.total(name);
            let most = i64::try_from(entries).map_err(|error| error.to_string())? * seconds;
            require((0..=most).contains(&counted), || {
                format!("{counted} added to {name} after {seconds} s with {entries}")
            })?;
        }
        Ok(())
    }

    /// What only reads changes nothing.
    fn require_reads_only(&self) -> Check {
        let only_reads = matches!(
            self.op,
            Operation::Status(_)
                | Operation::StatusMany(_)
                | Operation::ReadPages
                | Operation::ReadTally
                | Operation::AskServer
                | Operation::TakeTally { .. }
                | Operation::TakeHold { .. }
                | Operation::ReleaseHolds(_)
                | Operation::TakeCall(_)
        );
        require(!only_reads || self.before.dump == self.after.dump, || {
            format!("{:?} became {:?}", self.before.dump, self.after.dump)
        })
    }

    /// What a tick or an eviction does to an entry is in the journal, which is the only way to the backup.
    fn require_journal(&self) -> Check {
        if !matches!(
            self.op,
            Operation::Promote { .. } | Operation::Evict { .. } | Operation::PromoteEntry(..)
        ) {
            return Ok(());
        }
        let version = self.after.view.version;
        let written = |id: &EntryId| {
            let changes = self.journal.iter().flat_map(|record| &record.changes);
            let mut own = changes.filter(|change| change.id == *id);
            own.any(|change| change.version.v > self.before.view.version.v && change.version <= version)
        };
        for id in self
            .promoted()
            .keys()
            .filter(|_| !matches!(self.op, Operation::PromoteEntry(..)))
        {
            require(written(id), || {
                format!("the promotion of {id} is not in the journal")
            })?;
        }
        let (before, after) = (self.before.ends(), self.after.ends());
        for (id, end) in after.iter().filter(|(id, end)| before.get(id) != Some(end)) {
            require(written(id), || {
                format!("the end {end:?} of {id} is not in the journal")
            })?;
        }
        Ok(())
    }
}

/// How many may have been promoted at most: a token bucket beside that of the line.
#[derive(Default)]
pub(super) struct PaceCheck {
    /// Entries times milliseconds of an interval.
    credit: u64,
    at_ms: u64,
    pace: (u64, u64),
}

impl PaceCheck {
    /// Begins with the bucket of a queue that was restored or created.
    pub(super) fn begin(&mut self, moment: &Moment) {
        let (bucket, pace) = (moment.view.bucket, moment.view.bucket_pace);
        *self = Self {
            credit: bucket.credit,
            at_ms: moment.view.version.v / 1_000,
            pace: (pace.batch, pace.interval_ms),
        };
    }

    pub(super) fn check(&mut self, step: &Step<'_>) -> Check {
        let view = &step.after.view;
        // What only reads shows a later time than the line has reached, if a clock goes back afterwards.
        let now_ms = view.version.v / 1_000;
        let pace = (view.bucket_pace.batch, view.bucket_pace.interval_ms);
        let is_free = view.configuration.settings.is_passthrough()
            || step.before.view.configuration.settings.is_passthrough()
            || matches!(step.op, Operation::PromoteEntry(_, true));
        if pace != self.pace || is_free {
            // The line keeps whole tokens up to the new batch. A full bucket is the most that it can have.
            *self = Self {
                credit: pace.0 * pace.1,
                at_ms: now_ms,
                pace,
            };
            return Ok(());
        }
        let passed_ms = now_ms.saturating_sub(self.at_ms);
        self.credit = (self.credit + passed_ms * pace.0).min(pace.0 * pace.1);
        self.at_ms = self.at_ms.max(now_ms);
        let count = |moment: &Moment| moment.total("promoted") + moment.total("fast_tracked");
        let spent = u64::try_from(count(step.after) - count(step.before)).unwrap_or_default();
        require(spent * pace.1 <= self.credit, || {
            format!("{spent} promoted with the credit of {} for {pace:?}", self.credit)
        })?;
        self.credit -= spent * pace.1;
        Ok(())
    }
}

pub(crate) fn require(holds: bool, broken: impl FnOnce() -> String) -> Check {
    if holds { Ok(()) } else { Err(broken()) }
}
