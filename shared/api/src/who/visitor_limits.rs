//! Limits the requests of one visitor. A visitor who proves to own an entry is always looked up, and may write: without a
//! limit, one client could take the table from all others by repeating one request.

use std::sync::{Mutex, PoisonError};

use vestibule_domain::id::{EntryId, QueueId};

use crate::config::VisitorRequests;
use crate::{
    bounds::{Bucket, Rate, RecentMap},
    problem::Problem,
};

/// The requests that each visitor has left in this process.
pub(crate) struct VisitorLimits {
    rate: Rate,
    visitors: Mutex<RecentMap<(QueueId, EntryId), Bucket>>,
}

impl VisitorLimits {
    pub(crate) fn new(requests: VisitorRequests) -> Self {
        Self {
            rate: Rate {
                at_once: f64::from(requests.at_once),
                per_second: f64::from(requests.per_second),
            },
            visitors: Mutex::default(),
        }
    }

    /// Counts a request of the visitor of an entry.
    ///
    /// # Errors
    /// The problem `too-many-requests` if the visitor has sent too many lately.
    pub(crate) fn count(&self, queue: &QueueId, id: EntryId) -> Result<(), Problem> {
        let rate = self.rate;
        let mut visitors = self.visitors.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || Bucket::full(rate);
        let bucket = visitors.get_or_insert((queue.clone(), id), new, |bucket| !bucket.is_full(rate));
        if bucket.take(rate) {
            Ok(())
        } else {
            Err(Problem::too_many_requests())
        }
    }
}
