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

use crate::config::{ApiConfig, Keys};
use crate::{
    entries::{fallback_ticker::FallbackTicker, token_records::TokenRecords},
    long_poll::{
        budget::HoldPermits,
        entry_notifier::EntryNotifier,
        watcher::{WatchContext, Watchers},
    },
    problem::{Code, Problem},
    queue::{QueueCache, QueueSnapshot, absence_cache::AbsenceCache},
    who::{gateway::Gateway, identity_monitor::IdentityMonitor, visitor_limits::VisitorLimits},
};

/// The state that all routes share.
pub struct ApiState {
    pub(crate) line: Line,
    pub(crate) backup: Arc<dyn Backup>,
    pub(crate) keys: Keys,
    pub(crate) config: ApiConfig,
    pub(crate) queue_cache: Arc<QueueCache>,
    /// The tokens of no entry, for requests that present nothing but a token.
    pub(crate) absent_entries: AbsenceCache<(QueueId, EntryId)>,
    /// What was read lately for requests that present nothing but a token.
    pub(crate) token_records: TokenRecords,
    pub(crate) visitor_limits: VisitorLimits,
    pub(crate) budget: Arc<HoldPermits>,
    pub(crate) fallback_ticker: FallbackTicker,
    pub(crate) entry_notifier: EntryNotifier,
    pub(crate) identity_monitor: IdentityMonitor,
    pub(crate) watchers: Watchers,
    pub(crate) shutdown: watch::Receiver<bool>,
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
    pub(crate) async fn snapshot(&self, queue: &QueueId) -> Result<Arc<QueueSnapshot>, Problem> {
        self.queue_cache
            .get(queue)
            .await
            .map_err(|error| Problem::from(&error))
    }

    /// Converts an error of the line into the problem that the client gets. If the line does not
    /// know the queue, this drops the cached snapshot and reads the queue again to find out why.
    pub(crate) async fn line_problem(&self, queue: &QueueId, error: LineError) -> Problem {
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
    pub(crate) async fn write_change(
        &self,
        snapshot: &QueueSnapshot,
        change: &Change,
    ) -> Result<WriteOutcome, Problem> {
        match self.write_and_wake(snapshot, change).await {
            Ok(outcome) => Ok(outcome),
            Err(error) => Err(self.line_problem(&snapshot.queue, error).await),
        }
    }

    pub(crate) async fn write_and_wake(
        &self,
        snapshot: &QueueSnapshot,
        change: &Change,
    ) -> Result<WriteOutcome, LineError> {
        let outcome = write_through(&self.line, &*self.backup, &snapshot.partition(), change).await;
        self.entry_notifier.wake(change.id);
        outcome
    }

    /// Refuses a caller that is not the protected service.
    pub(crate) fn require_service(&self, gateway: &Gateway) -> Result<(), Problem> {
        if gateway.is_service(&self.config) {
            Ok(())
        } else {
            Err(Problem::usual(Code::ServiceOnly))
        }
    }
}
