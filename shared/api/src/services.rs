//! The four services that the routes use, constructed in one place.

use std::{fmt, sync::Arc};

use axum::extract::FromRef;
use tokio::sync::watch;
use vestibule_backup::Backup;
use vestibule_line::Line;
use vestibule_telemetry::emf::Metrics;

use crate::{
    config::{ApiConfig, Keys},
    entries::Entries,
    long_poll::{LongPolls, entry_notifier::EntryNotifier},
    queue::QueueCache,
    who::Identity,
};

/// The services of one process. Clones share them.
#[derive(Clone)]
pub struct Services {
    pub(crate) config: Arc<ApiConfig>,
    pub(crate) identity: Arc<Identity>,
    pub(crate) queues: Arc<QueueCache>,
    pub(crate) entries: Arc<Entries>,
    pub(crate) long_polls: Arc<LongPolls>,
}

impl fmt::Debug for Services {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Services")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

impl Services {
    /// Creates the services over a line and a backup. When `shutdown` becomes `true`, held polls are answered at once.
    pub fn new(
        line: Line,
        backup: Arc<dyn Backup>,
        keys: Keys,
        config: ApiConfig,
        shutdown: watch::Receiver<bool>,
        metrics: Metrics,
    ) -> Self {
        let config = Arc::new(config);
        let notifier = Arc::new(EntryNotifier::default());
        let queues = Arc::new(QueueCache::new(line.clone(), backup.clone(), keys.root));
        let entries = Entries::new(line.clone(), backup, queues.clone(), notifier.clone());
        let identity = Identity::new(config.clone(), keys.passes, keys.origin, metrics.clone());
        let long_polls = LongPolls::new(line, queues.clone(), notifier, &config, shutdown, metrics);
        Self {
            config,
            identity: Arc::new(identity),
            queues,
            entries: Arc::new(entries),
            long_polls: Arc::new(long_polls),
        }
    }
}

impl FromRef<Services> for Arc<Identity> {
    fn from_ref(services: &Services) -> Self {
        services.identity.clone()
    }
}

impl FromRef<Services> for Arc<ApiConfig> {
    fn from_ref(services: &Services) -> Self {
        services.config.clone()
    }
}
