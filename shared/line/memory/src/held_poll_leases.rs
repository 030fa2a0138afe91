//! The count of held polls, for all queues of a deployment together.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use vestibule_domain::{id::EntryId, poll_pacing::HOLD_LEASE_MAX_MS};
use vestibule_line::{HoldOrder, HoldOutcome};

/// The held polls by deployment.
#[derive(Clone, Default)]
pub(super) struct HeldPollLeases(Arc<Mutex<HashMap<String, LeaseSet>>>);

/// The entries of the held polls, with the ends of their leases in Unix milliseconds.
#[derive(Default)]
struct LeaseSet {
    by_end: BTreeSet<(u64, EntryId)>,
    ends_ms: HashMap<EntryId, u64>,
}

impl HeldPollLeases {
    /// Uses the server's clock without an offset, because an offset belongs to a queue and a lease
    /// does not.
    pub(super) fn take_hold(&self, now_ms: u64, order: &HoldOrder<'_>) -> HoldOutcome {
        let mut deployments = self.lock();
        let leases = deployments.entry(order.deployment.to_owned()).or_default();
        leases.drop_expired(now_ms);
        let latest_ms = now_ms + HOLD_LEASE_MAX_MS;
        if leases.by_end.len() as u64 >= order.below {
            leases.cap_lease_ends(latest_ms);
            return HoldOutcome::Full;
        }
        if leases.ends_ms.contains_key(&order.id) {
            return HoldOutcome::AlreadyHeld;
        }
        leases.insert(latest_ms.min(now_ms + order.lease_ms), order.id);
        HoldOutcome::Counted {
            held: leases.by_end.len() as u64,
        }
    }

    pub(super) fn release_holds(&self, deployment: &str, ids: &[EntryId]) {
        if let Some(leases) = self.lock().get_mut(deployment) {
            for id in ids {
                leases.remove(*id);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, LeaseSet>> {
        // No code panics halfway through a change of this map, so the leases are consistent even if
        // the lock is poisoned.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LeaseSet {
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

    fn drop_expired(&mut self, now_ms: u64) {
        while let Some(&(end_ms, id)) = self.by_end.first() {
            if end_ms > now_ms {
                break;
            }
            self.remove(id);
        }
    }

    /// Shortens leases that end after `latest_ms`. A lease can only end that late if the clock was
    /// set back after its start.
    fn cap_lease_ends(&mut self, latest_ms: u64) {
        while let Some(&(end_ms, id)) = self.by_end.last() {
            if end_ms <= latest_ms {
                break;
            }
            self.insert(latest_ms, id);
        }
    }
}
