//! The edge: what visitors and the protected service call.
//!
//! One file a route, and `routes` with the list of them; around them `boundary` (request id, span, what every answer has in
//! common), `problem` (errors as HTTP), `visitor` (who is asking), `views`, `hold`, `budget`, `watcher`, `crowd` and `wakes`
//! (how a crowd of polls asks the line once a second, and is told of its turn), `drive` (what calls do while the promoter is
//! away). [`serve`] hands events of API Gateway to the same router that a local listener serves.

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

/// What the routes work with.
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
    /// Puts a line and a backup behind the routes. When `shutdown` becomes `true`, held polls are answered at once.
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

    /// The same, writing its metrics there instead of where the process does.
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

    /// How a queue stands, a second old at most.
    async fn seen(&self, queue: &QueueId) -> Result<Arc<Seen>, Problem> {
        self.views
            .get(queue)
            .await
            .map_err(|absence| Problem::from(&absence))
    }

    /// Why the line did not do what was asked of it.
    async fn line_failed(&self, queue: &QueueId, error: LineError) -> Problem {
        match error {
            LineError::Unknown => {
                self.views.forget(queue);
                match self.views.get(queue).await {
                    Err(absence) => Problem::from(&absence),
                    Ok(_) => Problem::recovering("the line had lost the queue a moment ago"),
                }
            }
            LineError::Unavailable(cause) => Problem::line_away(cause),
            LineError::Nonsense(cause) => Problem::internal(cause),
            LineError::JournalFull => Problem::backup_behind(),
        }
    }

    /// Writes a change through to the backup, before anybody is told of it: then those whose polls are held for the entry.
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

    /// The same for a change that the line remembers by itself, and says again to whoever asks: where the journal is full it
    /// is not written yet, and not lost.
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

    /// Refuses whoever is not the protected service.
    fn service_only(&self, gateway: &Gateway) -> Result<(), Problem> {
        if gateway.is_service(&self.config) {
            Ok(())
        } else {
            Err(Problem::new(
                Code::ServiceOnly,
                "the gateway does not vouch for the caller",
            ))
        }
    }
}

#[cfg(test)]
mod tests;
