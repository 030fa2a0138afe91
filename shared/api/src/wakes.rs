//! Waking held polls: what this process changes about an entry is seen at once by those who wait for it here. What
//! another process changes is seen with the next view of the queue.

use std::{
    collections::{HashMap, hash_map::Entry},
    future::pending,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::sync::watch;
use vestibule_domain::id::EntryId;

/// The polls that this process holds, by the entry that they wait for: its id has the queue's in it.
#[derive(Default)]
pub(super) struct Wakes(Mutex<HashMap<EntryId, Sleepers>>);

/// Those who wait for one entry.
struct Sleepers {
    wake: watch::Sender<()>,
    count: usize,
}

impl Wakes {
    /// Waits for what is changed from now on.
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

    /// Something about the entry was changed.
    pub(super) fn wake(&self, id: EntryId) {
        if let Some(sleepers) = self.entries().get(&id) {
            sleepers.wake.send_replace(());
        }
    }

    /// How many entries somebody waits for.
    #[cfg(test)]
    pub(super) fn kept(&self) -> usize {
        self.entries().len()
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<EntryId, Sleepers>> {
        // Nothing in here panics half-way through, so a poisoned lock guards a map that is whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One who waits for one entry, until dropped.
pub(super) struct Sleeper<'a> {
    wakes: &'a Wakes,
    id: EntryId,
    woken: watch::Receiver<()>,
}

impl Sleeper<'_> {
    /// Until the entry was changed since the last time.
    pub(super) async fn woken(&mut self) {
        if self.woken.changed().await.is_err() {
            // The sender stays as long as anybody waits, so this does not happen.
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
