//! The state of a console.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::sync::Notify;

use crate::{AdminCaller, Deployment, RoundTrips, history::Histories, key::ConsoleKey};

/// What the last rounds of the sampler found.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) histories: Histories,
    /// When a round last had all numbers that it asked for, in Unix milliseconds.
    pub(crate) sampled_at_ms: Option<u64>,
    pub(crate) round_trips: RoundTrips,
    /// What went wrong in the last round.
    pub(crate) problem: Option<String>,
}

/// A console: the way to the admin function, and what it said lately.
pub struct Console {
    admin: Arc<dyn AdminCaller>,
    deployment: Deployment,
    operator: String,
    key: ConsoleKey,
    findings: Mutex<Findings>,
    list_due: AtomicBool,
    wakeup: Notify,
}

impl Console {
    /// Creates a console with a new key. `operator` is the name that the log of orders shows for commands of the page. It has
    /// no samples until [`run_sampler`](Self::run_sampler) runs.
    pub fn new(admin: Arc<dyn AdminCaller>, deployment: Deployment, operator: String) -> Arc<Self> {
        Arc::new(Self {
            admin,
            deployment,
            operator,
            key: ConsoleKey::draw(),
            findings: Mutex::default(),
            list_due: AtomicBool::new(true),
            wakeup: Notify::new(),
        })
    }

    pub(crate) fn admin(&self) -> &dyn AdminCaller {
        &*self.admin
    }

    pub(crate) fn deployment(&self) -> &Deployment {
        &self.deployment
    }

    pub(crate) fn key(&self) -> &ConsoleKey {
        &self.key
    }

    /// The address of the page at this host and port, with the key. Only the operator may see it.
    pub fn page_address(&self, host: SocketAddr) -> String {
        format!("http://{host}{}", self.key.page_path())
    }

    pub(crate) fn operator(&self) -> &str {
        &self.operator
    }

    /// What the sampler found. No call waits while the guard lives.
    pub(crate) fn findings(&self) -> MutexGuard<'_, Findings> {
        // A panic in between leaves older numbers, which the next round replaces.
        self.findings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a round with a `list` now, because a command may have changed what it shows.
    pub(crate) fn list_soon(&self) {
        self.list_due.store(true, Ordering::Relaxed);
        self.wakeup.notify_one();
    }

    /// Whether [`list_soon`](Self::list_soon) was called since the last call of this.
    pub(crate) fn take_list_due(&self) -> bool {
        self.list_due.swap(false, Ordering::Relaxed)
    }

    pub(crate) async fn wait_for_command(&self) {
        self.wakeup.notified().await;
    }
}
