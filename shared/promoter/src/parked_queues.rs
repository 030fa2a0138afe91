//! What the promoter's registry knows of parked queues: which queues to park, to tick and to sync.
//!
//! A parked queue is empty and has no heartbeat of the promoter, so that the request of the next visitor runs
//! a fallback tick. The promoter ticks it rarely. Every few seconds it compares the queue's
//! [change mark](ChangeMark) with the one from before the parking.

use std::{sync::atomic::Ordering, time::Duration};

use tokio::time::Instant;
use vestibule_backup::QueueFingerprint;
use vestibule_domain::id::QueueId;
use vestibule_line::ChangeMark;

use super::{
    parked_queue::{LastSync, ParkedQueue},
    queue_registry::{QueueRegistry, RegisteredQueue},
};

/// The promoter parks a queue that has been empty for this long.
const PARK_AFTER_EMPTY: Duration = Duration::from_secs(5);
/// The time between two ticks of a parked queue, in seconds and so in rounds of the promoter.
const PARKED_TICK_SECONDS: u64 = 120;
/// The settings of a parked queue are synced by a rare tick if the last sync is as long ago, although the
/// stored settings did not change. It is a little less than the time between two rare ticks.
const PARKED_SYNC_INTERVAL: Duration = Duration::from_secs(100);

/// How the promoter ticks a queue now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TickKind {
    /// Once a second, with a heartbeat.
    Regular,
    /// Rarely, without a heartbeat.
    Parked,
}

impl QueueRegistry {
    /// The queues to tick in this round: those that are not parked, and the parked ones whose rare tick is due.
    pub(super) fn take_due_ticks(&self) -> Vec<QueueId> {
        let now = Instant::now();
        let mut due = Vec::new();
        for (queue, entry) in self.lock().iter_mut() {
            if let Some(parked) = &mut entry.parked {
                if parked.next_tick_at > now {
                    continue;
                }
                parked.next_tick_at = now + Duration::from_secs(PARKED_TICK_SECONDS);
            }
            due.push(queue.clone());
        }
        due
    }

    /// How to tick a queue.
    pub(super) fn tick_kind(&self, queue: &QueueId) -> TickKind {
        match self.lock().get(queue).and_then(|entry| entry.parked) {
            Some(_) => TickKind::Parked,
            None => TickKind::Regular,
        }
    }

    /// Whether to park a queue: it has been empty for a while, and its stored settings are in force. A queue
    /// whose settings are refused, or that could not be synced, is not parked, so that its problem is looked
    /// at every few seconds.
    pub(super) fn is_ready_to_park(&self, queue: &QueueId) -> bool {
        self.lock().get(queue).is_some_and(|entry| {
            let is_empty = entry
                .empty_since
                .is_some_and(|since| since.elapsed() >= PARK_AFTER_EMPTY);
            is_empty && entry.parked.is_none() && entry.last_sync.is_some()
        })
    }

    /// Marks a queue as parked. `mark` is from before the parking.
    pub(super) fn record_parking(&self, queue: &QueueId, mark: ChangeMark) {
        // The rare ticks are spread over the rounds, however many queues are parked in the same one.
        let turn = self.parked_total.fetch_add(1, Ordering::Relaxed) % PARKED_TICK_SECONDS;
        let next_tick_at = Instant::now() + Duration::from_secs(turn + 1);
        if let Some(entry) = self.lock().get_mut(queue) {
            entry.parked = Some(ParkedQueue { mark, next_tick_at });
        }
    }

    /// Has the promoter tick the queue every second from the next round on. Returns whether it was parked.
    pub(super) fn unpark(&self, queue: &QueueId) -> bool {
        self.lock().get_mut(queue).is_some_and(|entry| {
            entry.empty_since = None;
            entry.parked.take().is_some()
        })
    }

    pub(super) fn parked_queues(&self) -> Vec<QueueId> {
        let registered = self.lock();
        let parked = registered.iter().filter(|(_, entry)| entry.parked.is_some());
        parked.map(|(queue, _)| queue.clone()).collect()
    }

    /// The parked queues with the marks that they had.
    pub(super) fn parked_marks(&self) -> Vec<(QueueId, ChangeMark)> {
        let registered = self.lock();
        let parked = registered
            .iter()
            .filter_map(|(queue, entry)| Some((queue.clone(), entry.parked?.mark)));
        parked.collect()
    }

    /// The queues to sync after a listing: those that are not parked, and the parked ones that were changed in
    /// the backup since their last sync.
    pub(super) fn queues_to_sync(&self) -> Vec<QueueId> {
        let registered = self.lock();
        let due = registered
            .iter()
            .filter(|(_, entry)| entry.parked.is_none() || entry.has_changed_in_backup());
        due.map(|(queue, _)| queue.clone()).collect()
    }

    /// Whether the rare tick of a parked queue is to start a sync as well.
    pub(super) fn needs_periodic_sync(&self, queue: &QueueId) -> bool {
        self.lock().get(queue).is_some_and(|entry| {
            let synced = entry.last_sync.as_ref();
            entry.parked.is_some() && synced.is_none_or(|sync| sync.at.elapsed() >= PARKED_SYNC_INTERVAL)
        })
    }

    /// What the last listing showed of a queue.
    pub(super) fn listed_fingerprint(&self, queue: &QueueId) -> Option<QueueFingerprint> {
        self.lock().get(queue)?.listed.clone()
    }

    /// Records a sync. `fingerprint` is what the listing showed before the sync began. Without `is_in_force`
    /// the stored settings are not in force, so the next listing starts a sync again.
    pub(super) fn record_sync_time(
        &self,
        queue: &QueueId,
        fingerprint: Option<QueueFingerprint>,
        is_in_force: bool,
    ) {
        if let Some(entry) = self.lock().get_mut(queue) {
            let at = Instant::now();
            entry.last_sync = is_in_force.then_some(LastSync { fingerprint, at });
        }
    }
}

impl RegisteredQueue {
    fn has_changed_in_backup(&self) -> bool {
        let synced = self.last_sync.as_ref();
        synced.is_none_or(|sync| sync.fingerprint != self.listed)
    }
}
