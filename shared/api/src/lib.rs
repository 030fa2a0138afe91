//! The HTTP API that visitors and the protected service call.
//!
//! # Layout
//!
//! - Each route has a file of its own, and `routes` lists them all.
//! - `request_context` gives every request its id and its span. `request` parses what a handler reads from
//!   it.
//! - `problem` and `code` turn failures into HTTP answers.
//! - `visitor` identifies the visitor, and `gateway` the caller.
//! - `queue_cache` keeps a snapshot of each queue, at most a second old.
//! - `hold`, `budget`, `watcher`, `held_polls` and `entry_notifier` hold many polls open, which together ask
//!   the line about once a second.
//! - `missing_entry` and `ended` repair an entry on which the line and the backup disagree.
//! - `degraded` answers from the backup while the line is unavailable.
//! - `fallback_ticks` runs the ticks of a promoter that is down.
//! - [`serve`] hands events of API Gateway to the router that a local listener serves too.

mod budget;
mod claim;
mod code;
mod complete;
pub mod config;
pub mod deadline;
mod degraded;
mod ended;
mod enter;
mod entry;
mod entry_notifier;
mod extend;
mod fallback_ticks;
mod gateway;
mod held_polls;
mod hold;
mod jwks;
mod leave;
mod load;
mod missing_entry;
pub mod pass;
mod problem;
mod public_document;
mod queue_cache;
mod request;
mod request_context;
mod routes;
pub mod serve;
mod status;
mod validate;
mod visitor;
mod watcher;

use std::{fmt, sync::Arc};

use tokio::sync::watch;
use vestibule_backup::Backup;
use vestibule_domain::{change::Change, id::QueueId};
use vestibule_engine::write_through::{WriteOutcome, write_through};
use vestibule_line::{Line, LineError};
use vestibule_telemetry::emf::Metrics;

use self::{
    budget::HoldPermits,
    entry_notifier::EntryNotifier,
    fallback_ticks::FallbackTicker,
    gateway::Gateway,
    queue_cache::{QueueCache, QueueSnapshot},
    watcher::Watchers,
};
pub use self::{
    code::Code,
    problem::Problem,
    routes::{enter_routes, router, router_with, status_routes, validate_routes},
};
use crate::config::{ApiConfig, Keys};

/// The state that all routes share.
pub struct ApiState {
    line: Arc<dyn Line>,
    backup: Arc<dyn Backup>,
    keys: Keys,
    config: ApiConfig,
    queue_cache: QueueCache,
    budget: HoldPermits,
    fallback_ticker: FallbackTicker,
    entry_notifier: EntryNotifier,
    watchers: Watchers,
    shutdown: watch::Receiver<bool>,
}

impl fmt::Debug for ApiState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Edge")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

impl ApiState {
    /// Creates the state over a line and a backup. When `shutdown` becomes `true`, the routes answer held
    /// polls at once.
    pub fn new(
        line: Arc<dyn Line>,
        backup: Arc<dyn Backup>,
        keys: Keys,
        config: ApiConfig,
        shutdown: watch::Receiver<bool>,
    ) -> Arc<Self> {
        let metrics = Metrics::for_process();
        Self::with_metrics(line, backup, keys, config, shutdown, metrics)
    }

    /// Like `new`, but writes metrics to `metrics` instead of the destination of the process.
    pub fn with_metrics(
        line: Arc<dyn Line>,
        backup: Arc<dyn Backup>,
        keys: Keys,
        config: ApiConfig,
        shutdown: watch::Receiver<bool>,
        metrics: Metrics,
    ) -> Arc<Self> {
        Arc::new(Self {
            queue_cache: QueueCache::new(line.clone(), backup.clone(), keys.root.clone()),
            budget: HoldPermits::new(line.clone(), &config, metrics),
            fallback_ticker: FallbackTicker::default(),
            entry_notifier: EntryNotifier::default(),
            watchers: Watchers::default(),
            line,
            backup,
            keys,
            config,
            shutdown,
        })
    }

    /// Returns a snapshot of the queue that is at most a second old.
    async fn snapshot(&self, queue: &QueueId) -> Result<Arc<QueueSnapshot>, Problem> {
        self.queue_cache
            .get(queue)
            .await
            .map_err(|absence| Problem::from(&absence))
    }

    /// Converts an error of the line into the problem that the client gets. If the line does not know the
    /// queue, this drops the cached snapshot and reads the queue again to find out why.
    async fn line_problem(&self, queue: &QueueId, error: LineError) -> Problem {
        match error {
            LineError::QueueNotFound => {
                self.queue_cache.invalidate(queue);
                match self.queue_cache.get(queue).await {
                    Err(absence) => Problem::from(&absence),
                    Ok(_) => Problem::recovering("the line lost the queue a moment ago and has it again"),
                }
            }
            LineError::Unavailable(cause) => Problem::line_unavailable(cause),
            LineError::Protocol(cause) => Problem::internal(cause),
            LineError::JournalFull => Problem::backup_behind(),
        }
    }

    /// Writes a change through to the backup before the client is told of it. Then wakes the polls that
    /// this process holds for the entry.
    async fn write_change(&self, seen: &QueueSnapshot, change: &Change) -> Result<WriteOutcome, Problem> {
        match self.write_and_wake(seen, change).await {
            Ok(through) => Ok(through),
            Err(error) => Err(self.line_problem(&seen.queue, error).await),
        }
    }

    async fn write_and_wake(&self, seen: &QueueSnapshot, change: &Change) -> Result<WriteOutcome, LineError> {
        let through = write_through(&*self.line, &*self.backup, &seen.partition(), change).await;
        self.entry_notifier.wake(change.id);
        through
    }

    /// Refuses a caller that is not the protected service.
    fn require_service(&self, gateway: &Gateway) -> Result<(), Problem> {
        if gateway.is_service(&self.config) {
            Ok(())
        } else {
            Err(Problem::new(
                Code::ServiceOnly,
                "the gateway did not authenticate the caller as the protected service",
            ))
        }
    }
}

#[cfg(test)]
mod tests;
