//! What a process knows of a queue whose line is unavailable. It asks the backup for that at most every two
//! seconds.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::time::{Instant, timeout};
use vestibule_backup::{BackupError, Shelf, StoredQueue};
use vestibule_domain::{
    id::{IdKey, QueueId, RootKey},
    settings::Settings,
};

use super::{Absence, Seen, Slot, Views};

/// The maximum age of an answer of the backup.
const FRESH: Duration = Duration::from_secs(2);
/// How long a request waits for one read of the backup while the line is unavailable. It has already waited
/// for the line.
pub(crate) const READ_TIMEOUT: Duration = Duration::from_millis(600);

/// A queue whose line is unavailable.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) queue: QueueId,
    pub(crate) settings: Settings,
    /// The shortest time, in milliseconds, to claim a turn that comes when the line is back. It is the lesser
    /// of the time in the stored settings and of the time in the settings that were last seen in force.
    pub(crate) claim_ms: u64,
    pub(crate) epoch: u32,
    /// Passes of an earlier epoch are void.
    pub(crate) min_epoch: u32,
    /// Derives tokens from visitors.
    pub(crate) ids: IdKey,
    generation: u32,
}

impl Known {
    /// Describes the queue as the line showed it when it last answered.
    pub(crate) fn of(seen: &Seen) -> Self {
        let configuration = &seen.view.configuration;
        Self {
            queue: seen.queue.clone(),
            settings: configuration.settings.clone(),
            claim_ms: configuration.settings.claim_ms(),
            epoch: configuration.epoch,
            min_epoch: configuration.min_epoch,
            ids: seen.ids.clone(),
            generation: configuration.generation,
        }
    }

    /// Describes the queue as the backup has it. If the stored settings are invalid, the settings that were
    /// last seen in force apply, with the stored switches that are valid. A process that has seen no
    /// settings uses the defaults, which accept no pass without the line.
    fn stored(queue: &QueueId, stored: &StoredQueue, last: Option<&Seen>, root: &RootKey) -> Self {
        let settings = stored.settings.parse().unwrap_or_else(|error| {
            tracing::warn!(
                event = "queue.settings_refused",
                %queue,
                %error,
                "refused the stored settings of a queue while the line is unavailable; the last ones this \
                 process saw, or the defaults, apply until the item is corrected"
            );
            let in_force = last.map(|seen| seen.settings().clone()).unwrap_or_default();
            match stored.settings.map() {
                Some(map) => in_force.with_switches(map),
                None => in_force,
            }
        });
        let in_force_ms = last.map_or(u64::MAX, |seen| seen.settings().claim_ms());
        Self {
            queue: queue.clone(),
            claim_ms: settings.claim_ms().min(in_force_ms),
            settings,
            epoch: stored.line.epoch,
            min_epoch: stored.line.min_epoch,
            ids: IdKey::derive(root, queue, &stored.line.salt),
            generation: stored.line.generation,
        }
    }

    /// Returns the partition that holds the records of this queue's entries.
    pub(crate) fn shelf(&self) -> Shelf {
        Shelf {
            queue: self.queue.clone(),
            generation: self.generation,
            retain_hours: self.settings.retain_hours,
            grace_seconds: self.settings.grace_seconds,
        }
    }
}

/// What the cache keeps of a queue for an outage of the line.
#[derive(Default)]
pub(super) struct Remembered {
    /// The last snapshot, however old it is.
    seen: Mutex<Option<Arc<Seen>>>,
    /// The last answer of the backup and its time. The inner value is `None` if the backup has no such
    /// queue. The request that holds the lock asks the backup.
    stored: tokio::sync::Mutex<Option<(Instant, Option<Arc<Known>>)>>,
}

impl Remembered {
    pub(super) fn keep(&self, seen: &Arc<Seen>) {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = Some(seen.clone());
    }

    fn last(&self) -> Option<Arc<Seen>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Views {
    /// Returns what is known of a queue whose line is unavailable. If the backup does not answer either,
    /// this is the last snapshot that the process has.
    pub(crate) async fn known(&self, queue: &QueueId) -> Result<Arc<Known>, Absence> {
        let slot = self.slot(queue);
        let asked = timeout(READ_TIMEOUT, self.ask_backup(&slot, queue)).await;
        match asked.unwrap_or_else(|_| {
            Err(BackupError::Unavailable(
                "the backup did not answer in time".to_owned(),
            ))
        }) {
            Ok(Some(known)) => Ok(known),
            Ok(None) => Err(Absence::NoSuchQueue),
            Err(error) => match slot.remembered.last() {
                Some(seen) => Ok(Arc::new(Known::of(&seen))),
                None => Err(Absence::BackupAway(error.to_string())),
            },
        }
    }

    async fn ask_backup(&self, slot: &Slot, queue: &QueueId) -> Result<Option<Arc<Known>>, BackupError> {
        let mut stored = slot.remembered.stored.lock().await;
        if let Some((at, known)) = &*stored
            && at.elapsed() < FRESH
        {
            return Ok(known.clone());
        }
        let at = Instant::now();
        let found = self.backup.queue(queue).await?;
        let last = slot.remembered.last();
        let known = found.map(|found| Arc::new(Known::stored(queue, &found, last.as_deref(), &self.root)));
        *stored = Some((at, known.clone()));
        Ok(known)
    }
}
