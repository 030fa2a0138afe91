//! Wakes held polls when this process changes their entries. A poll sees a change by another process with
//! the next snapshot of the queue.

use std::{
    collections::{HashMap, hash_map::Entry},
    future::pending,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::sync::watch;
use vestibule_domain::id::EntryId;

/// The subscriptions of the polls that this process holds, by entry. An entry id is derived from its queue,
/// so it needs no queue beside it.
#[derive(Default)]
pub(super) struct Wakes(Mutex<HashMap<EntryId, Sleepers>>);

/// The subscriptions to one entry.
struct Sleepers {
    wake: watch::Sender<()>,
    count: usize,
}

impl Wakes {
    /// Subscribes to the changes of an entry from now on.
    pub(super) fn sleeper(&self, id: EntryId) -> Sleeper<'_> {
        let mut entries = self.entries();
        let sleepers = entries.entry(id).or_insert_with(|| Sleepers {
            wake: watch::Sender::new(()),
            count: 0,
        });
        sleepers.count += 1;
        Sleeper {
            wakes: self,
            id,
            woken: sleepers.wake.subscribe(),
        }
    }

    /// Wakes the polls of an entry that has changed.
    pub(super) fn wake(&self, id: EntryId) {
        if let Some(sleepers) = self.entries().get(&id) {
            sleepers.wake.send_replace(());
        }
    }

    /// How many entries have a subscription.
    #[cfg(test)]
    pub(super) fn kept(&self) -> usize {
        self.entries().len()
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<EntryId, Sleepers>> {
        // No code panics while it holds this lock, so the map in a poisoned lock is still intact.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The subscription to one entry, until it is dropped.
pub(super) struct Sleeper<'a> {
    wakes: &'a Wakes,
    id: EntryId,
    woken: watch::Receiver<()>,
}

impl Sleeper<'_> {
    /// Waits until the entry has changed since the last call.
    pub(super) async fn woken(&mut self) {
        if self.woken.changed().await.is_err() {
            // The sender lives as long as any subscription, so this does not happen.
            pending::<()>().await;
        }
    }
}

impl Drop for Sleeper<'_> {
    fn drop(&mut self) {
        if let Entry::Occupied(mut sleepers) = self.wakes.entries().entry(self.id) {
            sleepers.get_mut().count -= 1;
            if sleepers.get().count == 0 {
                sleepers.remove();
            }
        }
    }
}
