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

mod away;
mod boundary;
mod budget;
mod claim;
mod code;
mod complete;
pub mod config;
mod crowd;
pub mod deadline;
mod drive;
mod enter;
mod entry;
mod extend;
mod gateway;
mod gone;
mod hold;
mod jwks;
mod leave;
mod load;
mod over;
pub mod pass;
mod problem;
mod request;
mod routes;
pub mod serve;
mod status;
mod validate;
mod view;
mod views;
mod visitor;
mod wakes;
mod watcher;

use std::{fmt, sync::Arc};

use tokio::sync::watch;
use vestibule_backup::Backup;
use vestibule_domain::{change::Change, id::QueueId};
use vestibule_engine::write_through::{Through, write_through};
use vestibule_line::{Line, LineError};
use vestibule_telemetry::emf::Metrics;

use self::{
    budget::Budget,
    drive::Drivers,
    gateway::Gateway,
    views::{Seen, Views},
    wakes::Wakes,
    watcher::Watchers,
};
pub use self::{
    code::Code,
    problem::Problem,
    routes::{enter_routes, router, router_beside, status_routes, validate_routes},
};
use crate::config::{EdgeConfig, Keys};

/// The state that all routes share.
pub struct Edge {
    line: Arc<dyn Line>,
    backup: Arc<dyn Backup>,
    keys: Keys,
    config: EdgeConfig,
    views: Views,
    budget: Budget,
    drivers: Drivers,
    wakes: Wakes,
    watchers: Watchers,
    shutdown: watch::Receiver<bool>,
}

impl fmt::Debug for Edge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Edge")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

impl Edge {
    /// Creates the state over a line and a backup. When `shutdown` becomes `true`, the routes answer held
    /// polls at once.
    pub fn new(
        line: Arc<dyn Line>,
        backup: Arc<dyn Backup>,
        keys: Keys,
        config: EdgeConfig,
        shutdown: watch::Receiver<bool>,
    ) -> Arc<Self> {
        let metrics = Metrics::of_process();
        Self::with_metrics(line, backup, keys, config, shutdown, metrics)
    }

    /// Like `new`, but writes metrics to `metrics` instead of the destination of the process.
    pub fn with_metrics(
        line: Arc<dyn Line>,
        backup: Arc<dyn Backup>,
        keys: Keys,
        config: EdgeConfig,
        shutdown: watch::Receiver<bool>,
        metrics: Metrics,
    ) -> Arc<Self> {
        Arc::new(Self {
            views: Views::new(line.clone(), backup.clone(), keys.root.clone()),
            budget: Budget::new(line.clone(), &config, metrics),
            drivers: Drivers::default(),
            wakes: Wakes::default(),
            watchers: Watchers::default(),
            line,
            backup,
            keys,
            config,
            shutdown,
        })
    }

    /// Returns a snapshot of the queue that is at most a second old.
    async fn seen(&self, queue: &QueueId) -> Result<Arc<Seen>, Problem> {
        self.views
            .get(queue)
            .await
            .map_err(|absence| Problem::from(&absence))
    }

    /// Converts an error of the line into the problem that the client gets. If the line does not know the
    /// queue, this drops the cached snapshot and reads the queue again to find out why.
    async fn line_failed(&self, queue: &QueueId, error: LineError) -> Problem {
        match error {
            LineError::Unknown => {
                self.views.forget(queue);
                match self.views.get(queue).await {
                    Err(absence) => Problem::from(&absence),
                    Ok(_) => Problem::recovering("the line lost the queue a moment ago and has it again"),
                }
            }
            LineError::Unavailable(cause) => Problem::line_away(cause),
            LineError::Nonsense(cause) => Problem::internal(cause),
            LineError::JournalFull => Problem::backup_behind(),
        }
    }

    /// Writes a change through to the backup before the client is told of it. Then wakes the polls that
    /// this process holds for the entry.
    async fn write(&self, seen: &Seen, change: &Change) -> Result<Through, Problem> {
        match self.through(seen, change).await {
            Ok(through) => Ok(through),
            Err(error) => Err(self.line_failed(&seen.queue, error).await),
        }
    }

    async fn through(&self, seen: &Seen, change: &Change) -> Result<Through, LineError> {
        let through = write_through(&*self.line, &*self.backup, &seen.shelf(), change).await;
        self.wakes.wake(change.id);
        through
    }

    /// Like `write`, for a change that the line keeps on its own and repeats to every request that asks. If
    /// the journal is full, the change is not durable yet, but it is not lost either.
    async fn write_again(&self, seen: &Seen, change: &Change) -> Result<Through, Problem> {
        match self.through(seen, change).await {
            Ok(through) => Ok(through),
            Err(LineError::JournalFull) => Ok(Through {
                durable: false,
                overruled: false,
                record: None,
            }),
            Err(error) => Err(self.line_failed(&seen.queue, error).await),
        }
    }

    /// Refuses a caller that is not the protected service.
    fn service_only(&self, gateway: &Gateway) -> Result<(), Problem> {
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
