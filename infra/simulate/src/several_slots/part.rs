//! A part of the line.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap, VecDeque},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use vestibule_domain::{
    change::Event,
    entry_status::EntryStatus,
    id::{EntryId, QueueId},
    settings::Settings,
};
use vestibule_line::{
    Arrival, ClaimOutcome, EnterOutcome, EntryLine, JournalLine, LeaveReason, LineHistory, PROMOTE_CHUNK,
    PromoteOrder, PromotionLine, QueueLine, RecoveryLine,
};
use vestibule_line_memory::MemoryLine;

use super::coordinator::{Digest, Grant};
use crate::{
    population::entry_id,
    simulation::{START_MS, configuration, resolve},
};

const FLUSH_RECORDS_MAX: usize = 100;
/// A digest names so many places from the head.
const HEADS_MAX: usize = 2_000;
/// A digest counts the line at so many points, spread over it.
const COUNTED_POINTS: usize = 64;

/// A part: a queue in a line of its own, which promotes what the coordinator grants.
pub struct Part {
    line: MemoryLine,
    queue: QueueId,
    clock_us: Arc<AtomicU64>,
    /// How far its clock is ahead of the true time, in microseconds; negative if it is behind.
    ahead_us: i64,
    /// The places of those who wait, with their visitors, in order.
    waiting: VecDeque<(u64, u32)>,
    visitors: HashMap<EntryId, u32>,
    /// When sessions end, with their visitors.
    sessions: BinaryHeap<Reverse<(u64, u32)>>,
    granted: u64,
    promoted: u64,
    ended: u64,
}

impl Part {
    /// An empty part, whose clock is ahead of the true time by `ahead_us`.
    ///
    /// # Panics
    /// The line refused its settings.
    pub fn new(ahead_us: i64) -> Self {
        let clock_us = Arc::new(AtomicU64::new(START_MS * 1_000));
        let time = Arc::clone(&clock_us);
        let part = Self {
            line: MemoryLine::with_clock(Arc::new(move || time.load(Ordering::Relaxed))),
            queue: "SIMULATION:1".parse().expect("the text is a valid queue id"),
            clock_us,
            ahead_us,
            waiting: VecDeque::new(),
            visitors: HashMap::new(),
            sessions: BinaryHeap::new(),
            granted: 0,
            promoted: 0,
            ended: 0,
        };
        part.set_time(0);
        // A part limits nothing itself: pace and capacity are the coordinator's.
        let settings = Settings {
            batch: 1_000_000,
            interval_seconds: 1,
            capacity: 10_000_000,
            session_seconds: 86_400,
            session_max_seconds: 86_400,
            presence_seconds: 0,
            fast_track: false,
            ..Settings::default()
        };
        resolve(
            part.line
                .configure(&part.queue, &configuration(&settings, 0), true),
        )
        .expect("the line answers");
        part
    }

    /// Sets the part's clock by the true time, in microseconds of the run.
    pub fn set_time(&self, now_us: u64) {
        let now_us = (START_MS * 1_000 + now_us).saturating_add_signed(self.ahead_us);
        self.clock_us.store(now_us, Ordering::Relaxed);
    }

    /// A visitor enters. Returns the place.
    ///
    /// # Panics
    /// The line gave no place at its end.
    pub fn enter(&mut self, visitor: u32) -> u64 {
        let id = entry_id(visitor);
        let entered = resolve(self.line.enter(&self.queue, id, Arrival::Ordinary)).expect("the queue exists");
        let EnterOutcome::Joined {
            status: EntryStatus::Waiting { score, .. },
            ..
        } = entered
        else {
            panic!("the part gave no place: {entered:?}");
        };
        let place = score.visit().number();
        assert!(
            self.waiting.back().is_none_or(|(last, _)| *last < place),
            "places rise"
        );
        self.waiting.push_back((place, visitor));
        self.visitors.insert(id, visitor);
        place
    }

    /// A visitor leaves the line. Does nothing if the visitor has had the turn.
    ///
    /// # Panics
    /// The line does not answer.
    pub fn leave(&mut self, place: u64, visitor: u32) {
        let index = self.waiting.partition_point(|(other, _)| *other < place);
        if self.waiting.get(index) == Some(&(place, visitor)) {
            self.waiting.remove(index);
            let left = self
                .line
                .leave(&self.queue, entry_id(visitor), None, LeaveReason::Leave);
            resolve(left).expect("the queue exists");
        }
    }

    /// Promotes what the grant allows. Each promoted visitor claims at once, and stays until the time that `session_end_ms`
    /// draws. Returns the visitors.
    ///
    /// # Panics
    /// The line promoted others than the first ones.
    pub fn apply(&mut self, grant: Grant, mut session_end_ms: impl FnMut() -> u64) -> Vec<u32> {
        self.granted = self.granted.max(grant.granted);
        let through = self
            .waiting
            .partition_point(|(place, _)| *place <= grant.boundary);
        let mut left = (self.granted - self.promoted).min(through as u64);
        let mut turns = Vec::new();
        while left > 0 {
            let order = PromoteOrder {
                max_entries: left.min(PROMOTE_CHUNK),
                is_promoter: true,
                min_watermark: None,
                history: LineHistory::default(),
            };
            let promotion = resolve(self.line.promote(&self.queue, order)).expect("the queue exists");
            assert!(promotion.promoted > 0, "the part promotes nothing: {promotion:?}");
            left -= promotion.promoted;
            for id in self.flush_journal() {
                let visitor = self.visitors[&id];
                let first = self.waiting.pop_front().map(|(_, visitor)| visitor);
                assert_eq!(first, Some(visitor), "the first one has the turn");
                let claimed = resolve(self.line.claim(&self.queue, id)).expect("the queue exists");
                assert!(matches!(claimed, ClaimOutcome::Active { .. }), "{claimed:?}");
                self.sessions.push(Reverse((session_end_ms(), visitor)));
                turns.push(visitor);
            }
        }
        self.promoted += turns.len() as u64;
        turns
    }

    /// Ends the sessions that are over.
    ///
    /// # Panics
    /// The line does not answer.
    pub fn end_sessions(&mut self, now_ms: u64) {
        while let Some(&Reverse((_, visitor))) = self
            .sessions
            .peek()
            .filter(|Reverse((end_ms, _))| *end_ms <= now_ms)
        {
            self.sessions.pop();
            let left = self
                .line
                .leave(&self.queue, entry_id(visitor), None, LeaveReason::Complete);
            resolve(left).expect("the queue exists");
            self.ended += 1;
        }
    }

    /// What the part tells the coordinator.
    pub fn digest(&self) -> Digest {
        let step = (self.waiting.len() / COUNTED_POINTS).max(1);
        let points = self.waiting.iter().enumerate().step_by(step);
        let last = self
            .waiting
            .back()
            .map(|(place, _)| (*place, self.waiting.len() as u64));
        Digest {
            line_ms: self.clock_us.load(Ordering::Relaxed) / 1_000,
            promoted: self.promoted,
            ended: self.ended,
            heads: self
                .waiting
                .iter()
                .take(HEADS_MAX)
                .map(|(place, _)| *place)
                .collect(),
            counts: points
                .map(|(count, (place, _))| (*place, count as u64))
                .chain(last)
                .collect(),
        }
    }

    /// How many wait at lower places.
    pub fn ahead_of(&self, place: u64) -> u64 {
        self.waiting.partition_point(|(other, _)| *other < place) as u64
    }

    /// Those who wait.
    pub fn waiting(&self) -> &VecDeque<(u64, u32)> {
        &self.waiting
    }

    /// Visitors inside.
    pub fn inside(&self) -> u64 {
        self.promoted - self.ended
    }

    /// Visitors inside, as the line counts them.
    ///
    /// # Panics
    /// The line does not answer.
    pub fn inside_by_line(&self) -> u64 {
        let view = resolve(self.line.queue_view(&self.queue)).expect("the queue exists");
        view.ready + view.active
    }

    /// Flushes the journal to a backup that accepts each record. Returns who was promoted, in order.
    fn flush_journal(&self) -> Vec<EntryId> {
        let mut promoted = Vec::new();
        loop {
            let records = self.line.due_journal_records(&self.queue, FLUSH_RECORDS_MAX);
            let records = resolve(records).expect("the queue exists");
            let changes = records.iter().flat_map(|record| &record.changes);
            let turns = changes.filter(|change| matches!(change.event, Event::Promoted { .. }));
            promoted.extend(turns.map(|change| change.id));
            let keys: Vec<_> = records.into_iter().map(|record| record.key).collect();
            resolve(self.line.acknowledge(&self.queue, &keys, &[])).expect("the queue exists");
            if keys.len() < FLUSH_RECORDS_MAX {
                return promoted;
            }
        }
    }
}
