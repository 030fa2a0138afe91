//! A queue as its line showed it at one moment, and why there may be none.

use tokio::time::Instant;
use vestibule_backup::{BackupError, EntryPartition};
use vestibule_domain::{
    configuration::Configuration,
    estimate::{Estimate, Forecast},
    id::{IdKey, OtherRootKey, QueueId},
    lane::LaneProgress,
    lane_rank::LaneLoads,
    queue_state::QueueState,
    record::EntryRecord,
    score::WaitScore,
    settings::{Entrance, Settings},
    tombstone::Tombstone,
};
use vestibule_line::QueueView;

/// A snapshot of a queue as the line showed it, and what follows from it.
#[derive(Debug)]
pub(crate) struct QueueSnapshot {
    pub(crate) queue: QueueId,
    pub(crate) view: QueueView,
    /// When turns come, according to this snapshot.
    pub(crate) forecast: Forecast,
    /// How the lanes share the promotions, according to this snapshot.
    pub(super) lane_loads: LaneLoads,
    /// Derives tokens from visitors.
    pub(crate) ids: IdKey,
    /// Read just before the line was asked.
    pub(super) asked_at: Instant,
}

impl QueueSnapshot {
    pub(crate) fn settings(&self) -> &Settings {
        &self.view.configuration.settings
    }

    /// The state of the queue now.
    pub(crate) fn queue_state(&self) -> QueueState {
        self.view.configuration.queue_state(self.now_ms())
    }

    /// Whether entries may be promoted now.
    pub(crate) fn can_promote(&self) -> bool {
        self.view.configuration.can_promote(self.now_ms())
    }

    /// The time until the queue opens, in milliseconds; `None` if it has opened. Before, a visitor learns no place, and
    /// nothing that follows from one.
    pub(crate) fn ms_until_opening(&self) -> Option<u64> {
        let now_ms = self.now_ms();
        let opens_at_ms = self.settings().opens_at_ms?;
        let is_scheduled = self.view.configuration.is_scheduled(now_ms);
        is_scheduled.then(|| opens_at_ms.saturating_sub(now_ms))
    }

    /// Line time in Unix milliseconds. It is never behind the line's clock, and ahead of it by at
    /// most the time that the line took to answer.
    pub(crate) fn now_ms(&self) -> u64 {
        self.view.now_ms.saturating_add(self.age_ms())
    }

    /// The age of the snapshot, in milliseconds.
    pub(crate) fn age_ms(&self) -> u64 {
        u64::try_from(self.asked_at.elapsed().as_millis()).unwrap_or(u64::MAX)
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
    pub(crate) fn is_called(&self, place: WaitScore) -> bool {
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

    /// How many turns come before those at positions spread over a lane; `None` if no other lane has turns.
    pub(crate) fn ahead_in_lane(&self, lane: u8) -> Option<Vec<(u64, u64)>> {
        self.view.ahead_in_lane(lane)
    }

    /// The estimated wait at a position of a lane; `None` if there is no estimate.
    pub(crate) fn estimate(&self, lane: u8, position: u64) -> Option<Estimate> {
        self.view
            .estimate_in_lane(&self.forecast, &self.lane_loads, lane, position)
    }

    /// The estimated waits at positions spread over a lane; `None` if those of the whole line are right for it.
    pub(crate) fn estimated_waits_in_lane(&self, lane: u8) -> Option<Vec<(u64, Estimate)>> {
        self.view.estimated_waits_in_lane(&self.forecast, lane)
    }

    /// The estimated waits at positions spread over the line; none if there is no estimate.
    pub(crate) fn estimated_waits(&self) -> impl Iterator<Item = (u64, Estimate)> {
        self.view.estimated_waits(&self.forecast).into_iter()
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
