//! Reports a server that may delete keys when its memory is full: at the start of the process and
//! with each consistency check.

use std::sync::{Mutex, PoisonError};

use tracing::{debug, info, warn};
use vestibule_line::{EvictionPolicy, Line};

/// The policy that was reported last, so that the log shows it once.
#[derive(Default)]
pub(super) struct EvictionReport(Mutex<Option<EvictionPolicy>>);

impl EvictionReport {
    /// Whether nothing has been reported yet.
    pub(super) fn is_new(&self) -> bool {
        self.lock_last().is_none()
    }

    /// Reads the policy and logs it if it is not the one that was logged last.
    pub(super) async fn report(&self, line: &Line) {
        let policy = match line.eviction_policy().await {
            Ok(policy) => policy,
            Err(error) => {
                debug!(
                    event = "line.eviction_policy_unread", %error,
                    "could not read the eviction policy of the line; the next check tries again"
                );
                return;
            }
        };
        if self.lock_last().replace(policy.clone()).as_ref() == Some(&policy) {
            return;
        }
        match policy {
            EvictionPolicy::NoEviction => info!(
                event = "line.eviction_policy",
                policy = policy.name(),
                "Redis deletes no keys when its memory is full"
            ),
            EvictionPolicy::Unknown => info!(
                event = "line.eviction_policy",
                policy = policy.name(),
                "Redis does not say whether it deletes keys when its memory is full; make sure that maxmemory-policy is \
                 noeviction"
            ),
            EvictionPolicy::Evicts(_) => warn!(
                event = "line.eviction_policy_unsafe",
                policy = policy.name(),
                "Redis may delete the entries of a queue when its memory is full: set maxmemory-policy to noeviction"
            ),
        }
    }

    fn lock_last(&self) -> std::sync::MutexGuard<'_, Option<EvictionPolicy>> {
        // The value is replaced in one step, so it is valid even if a holder of the lock panicked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
