//! Who sends a request, and from where: the service of the visitor's identity.
//!
//! | module | what it does |
//! | --- | --- |
//! | `visitor`, `credentials` | read the credentials of a visitor; compare a token with its owner |
//! | `entering` | finds the entries and the rights that a request to enter presents |
//! | `named_visitor` | verifies the visitor whom the protected service names |
//! | `ticket`, [`pass`] | verify tickets; sign and verify passes |
//! | `gateway`, `client_address`, `page_origin`, [`origin_key`] | say what the gateway, the distribution and the browser tell of the sender |
//! | `identity_monitor` | counts and reports requests that the authorizer gave no visitor |

pub(crate) mod client_address;
pub(crate) mod credentials;
pub(crate) mod entering;
pub(crate) mod gateway;
mod identity_monitor;
pub(crate) mod named_visitor;
pub mod origin_key;
pub(crate) mod page_origin;
pub mod pass;
pub(crate) mod ticket;
pub(crate) mod visitor;

use std::sync::{Arc, Mutex, PoisonError};

use vestibule_domain::{
    entry_status::EntryStatus,
    id::{EntryId, QueueId},
};
use vestibule_telemetry::emf::Metrics;
use vestibule_wire::Pass;

use self::{
    gateway::Gateway,
    identity_monitor::IdentityMonitor,
    origin_key::LiveOriginKey,
    pass::{PassGrant, PassKeys},
};
use crate::{
    bounds::{Bucket, Rate, RecentMap},
    config::ApiConfig,
    problem::{Code, Problem},
    queue::QueueSnapshot,
};

/// Tells who sends a request, and signs what proves it later.
pub(crate) struct Identity {
    config: Arc<ApiConfig>,
    /// The keys that sign and verify passes.
    pub(crate) passes: PassKeys,
    origin_key: LiveOriginKey,
    monitor: IdentityMonitor,
    request_rate: Rate,
    /// The requests that each visitor has left in this process.
    requests_left: Mutex<RecentMap<(QueueId, EntryId), Bucket>>,
}

impl Identity {
    pub(crate) fn new(
        config: Arc<ApiConfig>,
        passes: PassKeys,
        origin_key: LiveOriginKey,
        metrics: Metrics,
    ) -> Self {
        let requests = config.visitor_requests;
        Self {
            config,
            passes,
            origin_key,
            monitor: IdentityMonitor::new(metrics),
            request_rate: Rate {
                at_once: f64::from(requests.at_once),
                per_second: f64::from(requests.per_second),
            },
            requests_left: Mutex::default(),
        }
    }

    /// Signs a pass for an active entry. Returns `None` for any other.
    pub(crate) fn sign_pass(
        &self,
        snapshot: &QueueSnapshot,
        entry: EntryId,
        status: EntryStatus,
    ) -> Result<Option<Pass>, Problem> {
        let EntryStatus::Active {
            visit,
            session_end_ms,
            now_ms,
        } = status
        else {
            return Ok(None);
        };
        let grant = PassGrant {
            queue: &snapshot.queue,
            entry,
            visit,
            epoch: snapshot.view.configuration.epoch,
            pass_end_ms: now_ms + snapshot.settings().pass_ms(session_end_ms.saturating_sub(now_ms)),
        };
        Ok(Some(self.passes.sign(&grant, now_ms)?))
    }

    /// Refuses a caller that is not the protected service.
    pub(crate) fn require_service(&self, gateway: &Gateway) -> Result<(), Problem> {
        if gateway.is_service(&self.config) {
            Ok(())
        } else {
            Err(Problem::usual(Code::ServiceOnly))
        }
    }

    /// Counts a request of the visitor of an entry. A visitor who proves to own an entry is always looked up, and may
    /// write: without a limit, one client could take the table from all others by repeating one request.
    ///
    /// # Errors
    /// The problem `too-many-requests` if the visitor has sent too many lately.
    pub(crate) fn count_request(&self, queue: &QueueId, id: EntryId) -> Result<(), Problem> {
        let rate = self.request_rate;
        let mut visitors = self.requests_left.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || Bucket::full(rate);
        let bucket = visitors.get_or_insert((queue.clone(), id), new, |bucket| !bucket.is_full(rate));
        if bucket.take(rate) {
            Ok(())
        } else {
            Err(Problem::too_many_requests())
        }
    }
}
