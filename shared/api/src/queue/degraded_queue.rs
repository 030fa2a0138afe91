//! What a process knows of a queue whose line is unavailable.

use std::time::Duration;

use vestibule_backup::{EntryPartition, StoredQueue};
use vestibule_domain::{
    id::{IdKey, OtherRootKey, QueueId, RootKey},
    queue_state::QueueState,
    settings::Settings,
};

use super::snapshot::QueueSnapshot;

/// How long a request waits for one read of the backup while the line is unavailable. It has
/// already waited for the line.
pub(crate) const READ_TIMEOUT: Duration = Duration::from_millis(600);

/// A queue whose line is unavailable.
#[derive(Debug)]
pub(crate) struct DegradedQueue {
    pub(crate) queue: QueueId,
    pub(crate) settings: Settings,
    /// The shortest time, in milliseconds, to claim a turn that comes when the line is back. It is
    /// the lesser of the time in the stored settings and of the time in the settings that were last
    /// seen in force.
    pub(crate) claim_ms: u64,
    pub(crate) epoch: u32,
    /// Passes of an earlier epoch are void.
    pub(crate) min_epoch: u32,
    /// Derives tokens from visitors.
    pub(crate) ids: IdKey,
    generation: u32,
    opened_at_ms: Option<u64>,
}

impl DegradedQueue {
    /// Describes the queue as the line showed it when it last answered.
    pub(crate) fn from_snapshot(snapshot: &QueueSnapshot) -> Self {
        let configuration = &snapshot.view.configuration;
        Self {
            queue: snapshot.queue.clone(),
            settings: configuration.settings.clone(),
            claim_ms: configuration.settings.claim_ms(),
            epoch: configuration.epoch,
            min_epoch: configuration.min_epoch,
            ids: snapshot.ids.clone(),
            generation: configuration.generation,
            opened_at_ms: configuration.opened_at_ms,
        }
    }

    /// Describes the queue as the backup has it. If the stored settings are invalid, the settings
    /// that were last seen in force apply, with the stored switches that are valid. A process that
    /// has seen no settings uses the defaults, which accept no pass without the line.
    ///
    /// # Errors
    /// [`OtherRootKey`] if the queue was made with another root key.
    pub(super) fn from_stored_queue(
        queue: &QueueId,
        stored: &StoredQueue,
        last: Option<&QueueSnapshot>,
        root: &RootKey,
    ) -> Result<Self, OtherRootKey> {
        let ids = IdKey::derive_for_queue(root, queue, &stored.metadata.salt)?;
        let settings = stored.settings.parse().unwrap_or_else(|error| {
            tracing::warn!(
                event = "queue.settings_refused",
                %queue,
                %error,
                "refused the stored settings of a queue while the line is unavailable; the last ones this \
                 process saw, or the defaults, apply until the item is corrected"
            );
            let in_force = last
                .map(|snapshot| snapshot.settings().clone())
                .unwrap_or_default();
            match stored.settings.as_map() {
                Some(map) => in_force.with_switches(map),
                None => in_force,
            }
        });
        let in_force_ms = last.map_or(u64::MAX, |snapshot| snapshot.settings().claim_ms());
        Ok(Self {
            queue: queue.clone(),
            claim_ms: settings.claim_ms().min(in_force_ms),
            settings,
            epoch: stored.metadata.epoch,
            min_epoch: stored.metadata.min_epoch,
            ids,
            generation: stored.metadata.generation,
            opened_at_ms: stored.metadata.opened_at_ms,
        })
    }

    /// The state of the queue at `now_ms`, in Unix milliseconds.
    pub(crate) fn queue_state(&self, now_ms: u64) -> QueueState {
        let is_scheduled = self.opened_at_ms.is_none() && self.settings.opens_later(now_ms);
        self.settings.queue_state(now_ms, is_scheduled)
    }

    /// Returns the partition that holds the records of this queue's entries.
    pub(crate) fn partition(&self) -> EntryPartition {
        EntryPartition {
            queue: self.queue.clone(),
            generation: self.generation,
            retain_hours: self.settings.retain_hours,
            grace_seconds: self.settings.grace_seconds,
        }
    }
}
