//! A queue as one reading of its line shows it, what follows from it, and why there may be none. Time and random numbers are
//! arguments of a reading, so that the simulation can make the same answers as the routes.

use std::ops::Deref;

use tokio::time::Instant;
use vestibule_backup::{BackupError, EntryPartition};
use vestibule_domain::{
    configuration::Configuration,
    estimate::{Estimate, Forecast},
    id::{IdKey, OtherRootKey, QueueId},
    lane::LaneProgress,
    lane_rank::LaneLoads,
    poll_pacing::{
        DOCUMENT_REFRESH_FAR_MS, DOCUMENT_REFRESH_NEAR_MS, Hold, RefusedQueue, enter_spread_ms, resync_ms,
    },
    queue_state::QueueState,
    record::EntryRecord,
    score::WaitScore,
    settings::{Entrance, Settings},
    tombstone::Tombstone,
};
use vestibule_line::QueueView;
use vestibule_wire::{Lane, Message, PositionAhead, PositionWait, PublicDocument};

/// A queue as one reading of its line shows it, and what follows from it.
#[derive(Debug)]
pub struct QueueReading {
    /// The queue.
    pub queue: QueueId,
    /// What the line showed.
    pub view: QueueView,
    /// When turns come.
    pub forecast: Forecast,
    /// How the lanes share the promotions.
    lane_loads: LaneLoads,
}

/// A queue at one moment: a reading, and how old it is by then.
#[derive(Debug, Clone, Copy)]
pub struct QueueMoment<'a> {
    /// The last reading of the queue.
    pub reading: &'a QueueReading,
    /// The age of the reading, in milliseconds.
    pub age_ms: u64,
}

impl QueueReading {
    /// What follows from a view of the queue.
    pub fn new(queue: QueueId, view: QueueView) -> Self {
        Self {
            queue,
            forecast: view.forecast(),
            lane_loads: view.lane_loads(),
            view,
        }
    }

    /// The settings in force.
    pub fn settings(&self) -> &Settings {
        &self.view.configuration.settings
    }

    /// Entries served per second, as measured lately; `None` before any were served.
    pub(crate) fn rate(&self) -> Option<f64> {
        self.forecast.observed_per_second()
    }

    /// How far a lane had moved; `None` if it had no entry.
    pub(crate) fn lane(&self, lane: u8) -> Option<LaneProgress> {
        let mut lanes = self.view.lanes.iter();
        lanes
            .find(|(number, _)| *number == lane)
            .map(|(_, progress)| *progress)
    }

    /// Whether the visitor at this place is called: the client polls the entry from then on.
    pub fn is_called(&self, place: WaitScore) -> bool {
        self.lane(place.lane())
            .is_none_or(|progress| place.raw() <= progress.check_in_through)
    }

    /// How soon the turn at a position of a lane may come, in milliseconds, if no visitor enters an earlier lane from now
    /// on. Pacing needs a number even if there is no estimate.
    pub(crate) fn eta_in_lane_ms(&self, lane: u8, position: u64) -> u64 {
        self.forecast.eta_ms(self.position_in_line(lane, position))
    }

    /// The position in the whole line of a position in a lane, if no visitor enters an earlier lane from now on.
    pub(crate) fn position_in_line(&self, lane: u8, position: u64) -> u64 {
        self.lane_loads.rank(lane, position).low
    }

    /// Whether that position is only the expected one, because lanes share the turns.
    pub(crate) fn is_position_expected(&self) -> bool {
        self.lane_loads.is_rank_expected()
    }

    /// The estimated wait at a position of a lane; `None` if there is no estimate.
    pub(crate) fn estimate(&self, lane: u8, position: u64) -> Option<Estimate> {
        self.view
            .estimate_in_lane(&self.forecast, &self.lane_loads, lane, position)
    }

    /// What is known of the queue for clients that are refused, if waiting visitors send the refused request.
    pub fn refused_queue(&self) -> RefusedQueue {
        let waiting = self.view.waiting;
        RefusedQueue {
            waiting,
            last_eta_ms: self.forecast.expected_ms(waiting),
            claim_ms: self.settings().claim_ms(),
        }
    }

    /// The public document: what every client learns of the queue. `void_keys` are the ids of signing keys that leaked.
    pub fn describe_queue(&self, void_keys: Vec<String>) -> PublicDocument {
        let (view, settings) = (&self.view, self.settings());
        // The state fits the time that the document shows.
        let now_ms = view.now_ms;
        let opening = settings
            .opens_at_ms
            .filter(|_| view.configuration.is_scheduled(now_ms));
        let draw = view.configuration.draw_seed();
        let entrance = settings.entrance_at(now_ms);
        // Before the opening no visitor learns how far the line has moved.
        let lanes = view.lanes.iter().filter(|_| opening.is_none());
        let waits = view.estimated_waits(&self.forecast).into_iter();
        PublicDocument {
            queue: self.queue.to_string(),
            state: view.state(),
            epoch: view.configuration.epoch,
            generation: view.configuration.generation,
            now_ms,
            refresh_near_ms: DOCUMENT_REFRESH_NEAR_MS,
            refresh_far_ms: DOCUMENT_REFRESH_FAR_MS,
            resync_ms: resync_ms(view.waiting),
            lanes: lanes
                .map(|(lane, progress)| (*lane, self.describe_lane(*lane, *progress)))
                .collect(),
            waiting: view.in_line(),
            full: view.is_full(),
            // Three decimals are precise enough for a reader.
            rate: self.rate().map(|rate| (rate * 1_000.0).round() / 1_000.0),
            estimated_waits: waits.map(PositionWait::from).collect(),
            paused: settings.paused,
            mode: settings.mode,
            entrance,
            finish_reason: (entrance == Entrance::Finished).then(|| settings.finish_reason()),
            opens_at_ms: opening,
            // Without a draw the order of entering is that of the line, so no visitor waits to enter.
            enter_spread_ms: opening
                .map(|opens_at_ms| draw.map_or(0, |_| enter_spread_ms(opens_at_ms.saturating_sub(now_ms)))),
            draw_commitment: opening.and(draw).map(|seed| seed.commitment()),
            draw_seed: draw
                .filter(|_| view.find_opening().is_some())
                .map(|seed| seed.reveal()),
            closes_at_ms: settings.closes_at_ms,
            ends_at_ms: settings.ends_at_ms,
            limited_by: view.limited_by(),
            min_epoch: view.configuration.min_epoch,
            void_keys,
            message: Message::of(settings),
        }
    }

    /// What visitors of a lane learn.
    fn describe_lane(&self, lane: u8, progress: LaneProgress) -> Lane {
        let waits = self.view.estimated_waits_in_lane(&self.forecast, lane);
        let ahead = self.view.ahead_in_lane(lane);
        Lane {
            estimated_waits: waits.map(|waits| waits.into_iter().map(PositionWait::from).collect()),
            ahead: ahead.map(|ahead| ahead.into_iter().map(PositionAhead::from).collect()),
            ahead_is_expected: self.is_position_expected(),
            ..progress.into()
        }
    }
}

impl QueueMoment<'_> {
    /// Line time in Unix milliseconds. It is never behind the line's clock, and ahead of it by at
    /// most the time that the line took to answer.
    pub(crate) fn now_ms(&self) -> u64 {
        self.reading.view.now_ms.saturating_add(self.age_ms)
    }

    /// The state of the queue now.
    pub(crate) fn queue_state(&self) -> QueueState {
        self.reading.view.configuration.queue_state(self.now_ms())
    }

    /// Whether entries may be promoted now.
    pub(crate) fn can_promote(&self) -> bool {
        self.reading.view.configuration.can_promote(self.now_ms())
    }

    /// The time until the queue opens, in milliseconds; `None` if it has opened. Before, a visitor learns no place, and
    /// nothing that follows from one.
    pub(crate) fn ms_until_opening(&self) -> Option<u64> {
        let now_ms = self.now_ms();
        let opens_at_ms = self.reading.settings().opens_at_ms?;
        let is_scheduled = self.reading.view.configuration.is_scheduled(now_ms);
        is_scheduled.then(|| opens_at_ms.saturating_sub(now_ms))
    }

    /// How the poll of an entry that waits may be held, if its client offers to wait for `wait_ms` and the deployment holds at
    /// most `held_budget` polls.
    pub fn plan_hold(&self, place: WaitScore, position: u64, wait_ms: u64, held_budget: u64) -> Option<Hold> {
        let reading = self.reading;
        // A held visitor checks in when the hold begins, and stays present until its end.
        let wait_ms = wait_ms.min(reading.settings().check_in_interval_ms());
        let moving = self.can_promote() && !reading.view.clocks.apart;
        let position = reading.position_in_line(place.lane(), position);
        reading.forecast.plan_hold(position, wait_ms, held_budget, moving)
    }
}

/// What a process keeps of a queue for up to a second: a reading of its line, and when it was made.
#[derive(Debug)]
pub(crate) struct QueueSnapshot {
    reading: QueueReading,
    /// Derives tokens from visitors.
    pub(crate) ids: IdKey,
    /// Read just before the line was asked.
    pub(super) asked_at: Instant,
}

/// A snapshot is a reading to everything that does not depend on its age.
impl Deref for QueueSnapshot {
    type Target = QueueReading;

    fn deref(&self) -> &QueueReading {
        &self.reading
    }
}

impl QueueSnapshot {
    pub(super) fn new(reading: QueueReading, ids: IdKey, asked_at: Instant) -> Self {
        Self {
            reading,
            ids,
            asked_at,
        }
    }

    /// The queue now.
    pub(crate) fn moment(&self) -> QueueMoment<'_> {
        QueueMoment {
            reading: &self.reading,
            age_ms: u64::try_from(self.asked_at.elapsed().as_millis()).unwrap_or(u64::MAX),
        }
    }

    /// The state of the queue now.
    pub(crate) fn queue_state(&self) -> QueueState {
        self.moment().queue_state()
    }

    /// Line time, in Unix milliseconds.
    pub(crate) fn now_ms(&self) -> u64 {
        self.moment().now_ms()
    }

    /// Until when a visitor who missed the turn may enter again at the old place, in Unix milliseconds,
    /// according to the record. `None` if entering now would not give the place back.
    pub(crate) fn grace_until_ms(&self, record: &EntryRecord) -> Option<u64> {
        let settings = self.settings();
        let kept_times = self.view.configuration.kept_times;
        let until_ms = kept_times.grace_until_ms(settings, record.fact)?;
        let now_ms = self.now_ms();
        (settings.entrance_at(now_ms) == Entrance::Open && now_ms <= until_ms).then_some(until_ms)
    }

    /// Returns the partition that holds the records of this queue's entries.
    pub(crate) fn partition(&self) -> EntryPartition {
        let Configuration {
            settings, kept_times, ..
        } = &self.view.configuration;
        EntryPartition {
            grace_seconds: kept_times.grace_seconds_at(settings, self.now_ms()),
            ..EntryPartition::from_configuration(&self.queue, &self.view.configuration)
        }
    }
}

/// Why there is no snapshot of a queue.
#[derive(Debug, Clone)]
pub(crate) enum QueueLookupError {
    /// Neither the line nor the backup has the queue.
    QueueNotFound,
    /// The queue was deleted.
    QueueDeleted(Tombstone),
    /// The line does not have the queue, and the backup was not asked, because too many queues that do not exist were
    /// asked for.
    TooManyLookups,
    /// The backup has the queue, and the line lost it.
    Recovering,
    /// The line gave no answer.
    LineUnavailable(String),
    /// The line does not have the queue, and the backup gave no answer.
    BackupUnavailable(String),
    /// The line gave an answer that makes no sense.
    Protocol(String),
    /// The queue was made with another root key. Nothing is served for it: each visitor would get a new place.
    OtherRootKey,
}

impl From<OtherRootKey> for QueueLookupError {
    fn from(_: OtherRootKey) -> Self {
        Self::OtherRootKey
    }
}

impl From<BackupError> for QueueLookupError {
    fn from(error: BackupError) -> Self {
        Self::BackupUnavailable(error.to_string())
    }
}
