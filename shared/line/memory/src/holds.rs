//! The polls that are held, of all queues of a deployment together.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use vestibule_domain::{id::EntryId, pacing::HOLD_LEASE_MS_MAX};
use vestibule_line::{HoldOrder, Holding};

/// Those of every deployment, by its name.
#[derive(Clone, Default)]
pub(super) struct Holds(Arc<Mutex<HashMap<String, Leases>>>);

/// The entries whose polls are held, with the ends of their leases.
#[derive(Default)]
struct Leases {
    by_end: BTreeSet<(u64, EntryId)>,
    ends_ms: HashMap<EntryId, u64>,
}

impl Holds {
    /// By the server's clock alone: leases are of no queue, and so is no offset.
    pub(super) fn hold(&self, now_ms: u64, order: &HoldOrder<'_>) -> Holding {
        let mut deployments = self.lock();
        let leases = deployments.entry(order.deployment.to_owned()).or_default();
        leases.drop_due(now_ms);
        let latest_ms = now_ms + HOLD_LEASE_MS_MAX;
        if leases.by_end.len() as u64 >= order.below {
            leases.shorten(latest_ms);
            return Holding::Full;
        }
        if leases.ends_ms.contains_key(&order.id) {
            return Holding::AlreadyHeld;
        }
        leases.insert(latest_ms.min(now_ms + order.lease_ms), order.id);
        Holding::Counted {
            held: leases.by_end.len() as u64,
        }
    }

    pub(super) fn release(&self, deployment: &str, ids: &[EntryId]) {
        if let Some(leases) = self.lock().get_mut(deployment) {
            for id in ids {
                leases.remove(*id);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Leases>> {
        // Nothing in here panics half-way through, so a poisoned lock guards leases that are whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Leases {
    fn insert(&mut self, end_ms: u64, id: EntryId) {
        self.remove(id);
        self.by_end.insert((end_ms, id));
        self.ends_ms.insert(id, end_ms);
    }

    fn remove(&mut self, id: EntryId) {
        if let Some(end_ms) = self.ends_ms.remove(&id) {
            self.by_end.remove(&(end_ms, id));
        }
    }

    fn drop_due(&mut self, now_ms: u64) {
        while let Some(&(end_ms, id)) = self.by_end.first() {
            if end_ms > now_ms {
                break;
            }
            self.remove(id);
        }
    }

    /// No lease is longer than the longest, unless the clock was set back since.
    fn shorten(&mut self, latest_ms: u64) {
        while let Some(&(end_ms, id)) = self.by_end.last() {
            if end_ms <= latest_ms {
                break;
            }
            self.insert(latest_ms, id);
        }
    }
}
