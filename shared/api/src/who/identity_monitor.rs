//! Counts the requests behind an authorizer whose visitor it named, and those whose visitor it did not name,
//! and warns of the latter.
//!
//! A mistyped name of the claim refuses every visitor. An alarm compares the two counts to tell that from
//! a single caller without the claim.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use vestibule_telemetry::{
    emf::Metrics,
    metrics::{IDENTITIES_FOUND, IDENTITIES_MISSING},
    samples::OutcomeCounter,
};

/// A process warns of missing identities at most this often.
const WARN_INTERVAL: Duration = Duration::from_mins(1);

/// Counts and reports whether the authorizer names visitors.
pub(crate) struct IdentityMonitor {
    counter: OutcomeCounter,
    last_warned_at: Mutex<Option<Instant>>,
}

impl IdentityMonitor {
    pub(crate) fn new(metrics: Metrics) -> Self {
        Self {
            counter: OutcomeCounter::new(IDENTITIES_FOUND, IDENTITIES_MISSING, metrics),
            last_warned_at: Mutex::default(),
        }
    }

    /// Counts a request whose visitor the authorizer named.
    pub(crate) fn count_found(&self) {
        self.counter.count_first();
    }

    /// Counts a request whose visitor the authorizer did not name. The log shows the name of the claim, and
    /// never its value.
    pub(crate) fn count_missing(&self, claim: &str) {
        self.counter.count_second();
        if self.is_warning_due(Instant::now()) {
            tracing::warn!(
                event = "identity.missing",
                claim,
                "refused a request because the authorizer returned no text in the configured claim; if this concerns \
                 every visitor, correct the template parameter VisitorClaim"
            );
        }
    }

    fn is_warning_due(&self, now: Instant) -> bool {
        // A panic elsewhere leaves the time intact.
        let mut last = self.last_warned_at.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = last.is_none_or(|last| now.saturating_duration_since(last) >= WARN_INTERVAL);
        if is_due {
            *last = Some(now);
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_warns_once_a_minute() {
        let monitor = IdentityMonitor::new(Metrics::none());
        let start = Instant::now();
        for (seconds, is_due) in [(0, true), (1, false), (59, false), (60, true), (119, false)] {
            let now = start + Duration::from_secs(seconds);
            assert_eq!(monitor.is_warning_due(now), is_due, "after {seconds} s");
        }
    }
}
