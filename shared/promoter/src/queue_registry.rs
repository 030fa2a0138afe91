//! The promoter's registry of queues: their settings in force, when they were last seen occupied,
//! and how its steps went. `parked_queues.rs` has what it knows of parking, and `queue_health.rs` what it knows of
//! failed steps.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError, atomic::AtomicU64},
    time::Duration,
};

use tokio::time::Instant;
use vestibule_backup::{EntryPartition, QueueFingerprint};
use vestibule_domain::id::QueueId;
use vestibule_engine::sync::AppliedConfig;
use vestibule_line::MinWatermark;

use super::{
    parked_queue::{LastSync, ParkedQueue},
    step_outcomes::StepOutcomes,
};

/// The queues of the last listing, with the promoter's state for each.
#[derive(Debug, Default)]
pub(super) struct QueueRegistry {
    queues: Mutex<BTreeMap<QueueId, RegisteredQueue>>,
    /// How many times a queue was parked. It spreads the rare ticks of parked queues over the rounds.
    pub(super) parked_total: AtomicU64,
    /// The time of the first listing of this run.
    listed_at: Mutex<Option<Instant>>,
}

#[derive(Debug, Default)]
pub(super) struct RegisteredQueue {
    /// The partition of the queue's entries in the backup. `None` until the first sync.
    partition: Option<EntryPartition>,
    /// Since when the queue has been empty by the ticks of this run. `None` if it is occupied or
    /// not ticked yet.
    pub(super) empty_since: Option<Instant>,
    /// What the last listing showed. `None` before the first listing of the queue.
    pub(super) listed: Option<QueueFingerprint>,
    /// The last sync, if the stored settings are in force since then.
    pub(super) last_sync: Option<LastSync>,
    /// `None` while the promoter ticks the queue every second.
    pub(super) parked: Option<ParkedQueue>,
    /// When the dead letters were last retried.
    retried_at: Option<Instant>,
    /// How the promoter's steps went.
    pub(super) outcomes: StepOutcomes,
    /// The result of the last sync: the configuration that the line applied.
    applied: Option<AppliedConfig>,
}

impl QueueRegistry {
    /// Takes over a listing: adds the new queues and removes the queues that the listing lacks.
    pub(super) fn replace_queues(&self, listed: Vec<(QueueId, QueueFingerprint)>) {
        lock(&self.listed_at).get_or_insert_with(Instant::now);
        let listed: BTreeMap<_, _> = listed.into_iter().collect();
        let mut registered = self.lock();
        registered.retain(|queue, _| listed.contains_key(queue));
        for (queue, fingerprint) in listed {
            registered.entry(queue).or_default().listed = Some(fingerprint);
        }
    }

    pub(super) fn queues(&self) -> Vec<QueueId> {
        self.lock().keys().cloned().collect()
    }

    pub(super) fn partition(&self, queue: &QueueId) -> Option<EntryPartition> {
        self.lock().get(queue)?.partition.clone()
    }

    pub(super) fn record_sync(&self, queue: &QueueId, partition: EntryPartition, put: AppliedConfig) {
        let mut registered = self.lock();
        let entry = registered.entry(queue.clone()).or_default();
        entry.partition = Some(partition);
        entry.applied = Some(put);
    }

    /// The fence of the last sync: the line must be at least as recent.
    pub(super) fn fence(&self, queue: &QueueId) -> Option<MinWatermark> {
        Some(self.lock().get(queue)?.applied?.fence)
    }

    /// Whether the last retry of the dead letters is as long ago as `every`.
    pub(super) fn is_retry_due(&self, queue: &QueueId, every: Duration) -> bool {
        let registered = self.lock();
        let retried_at = registered.get(queue).and_then(|entry| entry.retried_at);
        retried_at.is_none_or(|at| at.elapsed() >= every)
    }

    /// Takes the turn to retry the dead letters. Returns `true` once in each interval `every`, and
    /// the caller then retries them.
    pub(super) fn take_retry_turn(&self, queue: &QueueId, every: Duration) -> bool {
        let mut registered = self.lock();
        let Some(entry) = registered.get_mut(queue) else {
            return false;
        };
        let is_due = entry.retried_at.is_none_or(|at| at.elapsed() >= every);
        if is_due {
            entry.retried_at = Some(Instant::now());
        }
        is_due
    }

    /// Begins a run. It clears what the previous run observed, because that may be a long time ago.
    pub(super) fn begin_run(&self) {
        *lock(&self.listed_at) = None;
        let now = Instant::now();
        for entry in self.lock().values_mut() {
            entry.empty_since = None;
            entry.outcomes.begin_run();
            if let Some(parked) = &mut entry.parked {
                parked.next_tick_at = now;
            }
        }
    }

    /// Records whether the queue was empty at its last tick. After a failed tick the caller passes
    /// `false`, because the queue may be occupied.
    pub(super) fn record_emptiness(&self, queue: &QueueId, is_empty: bool) {
        if let Some(entry) = self.lock().get_mut(queue) {
            entry.empty_since = is_empty.then(|| entry.empty_since.unwrap_or_else(Instant::now));
        }
    }

    /// Whether every queue has been empty for `time`, and the first listing of this run is at least
    /// as old. Before that listing the registry may lack queues of the backup.
    pub(super) fn has_been_empty_for(&self, time: Duration) -> bool {
        let is_past = |since: Option<Instant>| since.is_some_and(|since| since.elapsed() >= time);
        is_past(*lock(&self.listed_at)) && self.lock().values().all(|entry| is_past(entry.empty_since))
    }

    pub(super) fn remove(&self, queue: &QueueId) {
        self.lock().remove(queue);
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, BTreeMap<QueueId, RegisteredQueue>> {
        lock(&self.queues)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Every change under the lock is complete before anything could panic, so the data of a
    // poisoned mutex is consistent.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
