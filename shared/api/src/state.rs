//! The state that all routes share, and the steps that most of them take with it.

use std::{fmt, sync::Arc};

use tokio::sync::watch;
use vestibule_backup::Backup;
use vestibule_domain::{
    change::Change,
    id::{EntryId, QueueId},
};
use vestibule_engine::write_through::{WriteOutcome, write_through};
use vestibule_line::{Line, LineError};
use vestibule_telemetry::emf::Metrics;

use super::{
    absence_cache::AbsenceCache,
    budget::HoldPermits,
    code::Code,
    entry_notifier::EntryNotifier,
    fallback_ticker::FallbackTicker,
    gateway::Gateway,
    identity_monitor::IdentityMonitor,
    problem::Problem,
    queue_cache::{QueueCache, QueueSnapshot},
    token_records::TokenRecords,
    visitor_limits::VisitorLimits,
    watcher::{WatchContext, Watchers},
};
use crate::config::{ApiConfig, Keys};

/// The state that all routes share.
pub struct ApiState {
    pub(super) line: Line,
    pub(super) backup: Arc<dyn Backup>,
    pub(super) keys: Keys,
    pub(super) config: ApiConfig,
    pub(super) queue_cache: Arc<QueueCache>,
    /// The tokens of no entry, for requests that present nothing but a token.
    pub(super) absent_entries: AbsenceCache<(QueueId, EntryId)>,
    /// What was read lately for requests that present nothing but a token.
    pub(super) token_records: TokenRecords,
    pub(super) visitor_limits: VisitorLimits,
    pub(super) budget: Arc<HoldPermits>,
    pub(super) fallback_ticker: FallbackTicker,
    pub(super) entry_notifier: EntryNotifier,
    pub(super) identity_monitor: IdentityMonitor,
    pub(super) watchers: Watchers,
    pub(super) shutdown: watch::Receiver<bool>,
}

impl fmt::Debug for ApiState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiState")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

impl ApiState {
    /// Creates the state over a line and a backup. When `shutdown` becomes `true`, the routes
    /// answer held polls at once.
    pub fn new(
        line: Line,
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
        line: Line,
        backup: Arc<dyn Backup>,
        keys: Keys,
        config: ApiConfig,
        shutdown: watch::Receiver<bool>,
        metrics: Metrics,
    ) -> Arc<Self> {
        let queue_cache = QueueCache::new(line.clone(), backup.clone(), keys.root.clone());
        let queue_cache = Arc::new(queue_cache);
        let identity_monitor = IdentityMonitor::new(metrics.clone());
        let budget = Arc::new(HoldPermits::new(line.clone(), &config, metrics));
        let watchers = Watchers::new(WatchContext {
            line: line.clone(),
            queue_cache: queue_cache.clone(),
            permits: budget.clone(),
        });
        Arc::new(Self {
            queue_cache,
            absent_entries: AbsenceCache::default(),
            token_records: TokenRecords::default(),
            visitor_limits: VisitorLimits::new(config.visitor_requests),
            budget,
            fallback_ticker: FallbackTicker::default(),
            entry_notifier: EntryNotifier::default(),
            identity_monitor,
            watchers,
            line,
            backup,
            keys,
            config,
            shutdown,
        })
    }

    /// Returns a snapshot of the queue that is at most a second old.
    pub(super) async fn snapshot(&self, queue: &QueueId) -> Result<Arc<QueueSnapshot>, Problem> {
        self.queue_cache
            .get(queue)
            .await
            .map_err(|error| Problem::from(&error))
    }

    /// Converts an error of the line into the problem that the client gets. If the line does not
    /// know the queue, this drops the cached snapshot and reads the queue again to find out why.
    pub(super) async fn line_problem(&self, queue: &QueueId, error: LineError) -> Problem {
        match error {
            LineError::QueueNotFound => {
                self.queue_cache.invalidate(queue);
                match self.queue_cache.get(queue).await {
                    Err(error) => Problem::from(&error),
                    Ok(_) => Problem::recovering("the line lost the queue a moment ago and has it again"),
                }
            }
            LineError::Unavailable(cause) => Problem::line_unavailable(cause),
            LineError::Full(cause) => Problem::line_full(cause),
            LineError::Protocol(cause) => Problem::internal(cause),
            LineError::JournalFull => Problem::backup_behind(),
        }
    }

    /// Writes a change through to the backup before the client is told of it. Then wakes the polls that
    /// this process holds for the entry.
    pub(super) async fn write_change(
        &self,
        snapshot: &QueueSnapshot,
        change: &Change,
    ) -> Result<WriteOutcome, Problem> {
        match self.write_and_wake(snapshot, change).await {
            Ok(outcome) => Ok(outcome),
            Err(error) => Err(self.line_problem(&snapshot.queue, error).await),
        }
    }

    pub(super) async fn write_and_wake(
        &self,
        snapshot: &QueueSnapshot,
        change: &Change,
    ) -> Result<WriteOutcome, LineError> {
        let outcome = write_through(&self.line, &*self.backup, &snapshot.partition(), change).await;
        self.entry_notifier.wake(change.id);
        outcome
    }

    /// Refuses a caller that is not the protected service.
    pub(super) fn require_service(&self, gateway: &Gateway) -> Result<(), Problem> {
        if gateway.is_service(&self.config) {
            Ok(())
        } else {
            Err(Problem::usual(Code::ServiceOnly))
        }
    }
}
