//! Wakes held polls when this process changes their entries. A poll sees a change by another
//! process with the next snapshot of the queue.

use std::{
    collections::{HashMap, hash_map::Entry},
    future::pending,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::sync::watch;
use vestibule_domain::id::EntryId;

/// The subscriptions of the polls that this process holds, by entry. An entry id is derived from
/// its queue, so it needs no queue beside it.
#[derive(Default)]
pub(crate) struct EntryNotifier(Mutex<HashMap<EntryId, Subscribers>>);

/// The subscriptions to one entry.
struct Subscribers {
    changed: watch::Sender<()>,
    count: usize,
}

impl EntryNotifier {
    /// Subscribes to the changes of an entry from now on.
    pub(crate) fn subscribe(&self, id: EntryId) -> Subscription<'_> {
        let mut entries = self.lock_entries();
        let subscribers = entries.entry(id).or_insert_with(|| Subscribers {
            changed: watch::Sender::new(()),
            count: 0,
        });
        subscribers.count += 1;
        Subscription {
            notifier: self,
            id,
            changes: subscribers.changed.subscribe(),
        }
    }

    /// Wakes the polls of an entry that has changed.
    pub(crate) fn wake(&self, id: EntryId) {
        if let Some(subscribers) = self.lock_entries().get(&id) {
            subscribers.changed.send_replace(());
        }
    }

    /// How many entries have a subscription.
    #[cfg(test)]
    pub(crate) fn subscribed_entries(&self) -> usize {
        self.lock_entries().len()
    }

    fn lock_entries(&self) -> MutexGuard<'_, HashMap<EntryId, Subscribers>> {
        // No code panics while it holds this lock, so the map in a poisoned lock is still intact.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The subscription to one entry, until it is dropped.
pub(crate) struct Subscription<'a> {
    notifier: &'a EntryNotifier,
    id: EntryId,
    changes: watch::Receiver<()>,
}

impl Subscription<'_> {
    /// Waits until the entry has changed since the last call.
    pub(crate) async fn wait_for_change(&mut self) {
        if self.changes.changed().await.is_err() {
            // The sender lives as long as any subscription, so this does not happen.
            pending::<()>().await;
        }
    }
}

impl Drop for Subscription<'_> {
    fn drop(&mut self) {
        if let Entry::Occupied(mut subscribers) = self.notifier.lock_entries().entry(self.id) {
            subscribers.get_mut().count -= 1;
            if subscribers.get().count == 0 {
                subscribers.remove();
            }
        }
    }
}
