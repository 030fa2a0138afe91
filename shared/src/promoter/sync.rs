//! Settings on their way from the backup, where operators edit them, to the line, where they are in force.

use tracing::warn;

use crate::{
    backup::{Backup, BackupError, Shelf, StoredQueue, restore},
    config::{EdgeConfig, VisitorRoutes},
    domain::{
        id::QueueId,
        settings::{Settings, SettingsError},
    },
    line::{Configuration, Configured, Fence, Line, LineError, Marked},
};

/// What a deployment lets its queues do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Policy {
    /// Whether a queue may set `trust_client_visitor_id`: only where nobody but trusted callers reaches the visitor
    /// routes, else anybody could name themselves into another's place.
    pub trust_client_visitor_id: bool,
}

impl From<&EdgeConfig> for Policy {
    fn from(config: &EdgeConfig) -> Self {
        Self {
            trust_client_visitor_id: config.local || config.visitor_routes != VisitorRoutes::Open,
        }
    }
}

impl Policy {
    /// Refuses settings that this deployment does not allow.
    ///
    /// # Errors
    /// The field, by name.
    pub fn check(self, settings: Settings) -> Result<Settings, SettingsError> {
        if settings.trust_client_visitor_id && !self.trust_client_visitor_id {
            return Err(SettingsError {
                field: "trust_client_visitor_id".to_owned(),
                reason: "only a deployment whose visitor routes need IAM or an API key may trust its callers; this one \
                         does not allow it"
                    .to_owned(),
            });
        }
        Ok(settings)
    }
}

/// What a stored queue is to be set up with.
///
/// # Errors
/// The first field of the stored settings that is wrong, by name.
pub fn configuration(stored: &StoredQueue, policy: Policy) -> Result<Configuration, SettingsError> {
    let settings = policy.check(stored.settings.parse()?)?;
    Ok(stored.configuration(settings))
}

/// What came of syncing a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Synced {
    /// The stored settings are in force.
    InForce {
        /// How they came to be.
        put: Put,
        /// Names them.
        revision: String,
        /// Where its entries stand.
        shelf: Shelf,
    },
    /// The stored settings are wrong. Those before them stay in force, but for the switches, which act by themselves.
    Refused {
        /// How those before them stand.
        put: Put,
        /// The field, by name.
        error: SettingsError,
        /// Names what is stored.
        stored: String,
        /// Where its entries stand.
        shelf: Shelf,
    },
    /// The backup has no such queue any more.
    Gone,
}

/// A configuration that is in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Put {
    /// Whether it was before.
    pub how: Configured,
    /// How far the line is at least.
    pub fence: Fence,
}

/// Why a queue was not synced.
#[derive(Debug, thiserror::Error)]
pub enum SyncError {
    /// The line gave no answer.
    #[error(transparent)]
    Line(#[from] LineError),
    /// The backup gave no answer.
    #[error(transparent)]
    Backup(#[from] BackupError),
    /// The line has lost the queue, and it could not be put back.
    #[error("the queue cannot be put back: {0}")]
    Restore(#[from] restore::RestoreError),
    /// The stored queue is of an earlier epoch than the line: an old item was put there.
    #[error(
        "the stored queue is of epoch {stored} and the line of epoch {line}: an old item was put back; set its epoch to \
         {line} where its entries are those of the line"
    )]
    Ahead {
        /// The line's epoch.
        line: u32,
        /// The stored queue's epoch.
        stored: u32,
    },
    /// The line has lost the queue, and the stored settings are wrong: nothing says how to put it back.
    #[error("the line has lost the queue, and it cannot be put back with wrong settings: {0}")]
    Stuck(SettingsError),
}

/// Reads the settings of one queue and puts them in force; puts the queue back where the line does not have it.
///
/// # Errors
/// [`SyncError`]; settings that are wrong are an error only where the line has lost the queue.
pub async fn sync(
    line: &dyn Line,
    backup: &dyn Backup,
    queue: &QueueId,
    policy: Policy,
) -> Result<Synced, SyncError> {
    let Some(stored) = backup.queue(queue).await? else {
        return Ok(Synced::Gone);
    };
    match configuration(&stored, policy) {
        Ok(wanted) => Ok(Synced::InForce {
            put: put_in_force(line, backup, queue, &stored, &wanted).await?,
            revision: wanted.revision.clone(),
            shelf: Shelf::of(queue, &wanted),
        }),
        Err(error) => {
            let wanted = switched(line, queue, &stored, &error).await?;
            Ok(Synced::Refused {
                put: put_in_force(line, backup, queue, &stored, &wanted).await?,
                error,
                stored: stored.settings.fingerprint(),
                shelf: Shelf::of(queue, &wanted),
            })
        }
    }
}

/// What to put in force where the stored settings are wrong: those in force, with the stored switches in their place.
///
/// # Errors
/// [`SyncError::Stuck`] where the line does not have the queue: nothing says what is in force.
pub async fn switched(
    line: &dyn Line,
    queue: &QueueId,
    stored: &StoredQueue,
    wrong: &SettingsError,
) -> Result<Configuration, SyncError> {
    match line.view(queue).await {
        Ok(view) => {
            let in_force = view.configuration.settings;
            let settings = match stored.settings.map() {
                Some(map) => in_force.with_switches(map),
                None => in_force,
            };
            Ok(stored.configuration(settings))
        }
        Err(LineError::Unknown) => Err(SyncError::Stuck(wrong.clone())),
        Err(other) => Err(other.into()),
    }
}

/// Puts a configuration of a stored queue in force; puts the queue back, with every entry of the backup, where the line does
/// not have it, has an earlier epoch of it, or shows it as it was before the fence.
///
/// # Errors
/// As [`sync`].
pub async fn put_in_force(
    line: &dyn Line,
    backup: &dyn Backup,
    queue: &QueueId,
    stored: &StoredQueue,
    configuration: &Configuration,
) -> Result<Put, SyncError> {
    let put_back = async || {
        let settings = &configuration.settings;
        let restored = restore::restore(line, backup, queue, stored, settings).await?;
        let (waiting, ready, active) = (restored.waiting, restored.ready, restored.active);
        let (salvaged, epoch) = (restored.salvaged, restored.configuration.epoch);
        warn!(
            event = "queue.restored",
            %queue,
            epoch,
            waiting,
            ready,
            active,
            salvaged,
            "restored the queue from the backup because the line had lost it or held stale data"
        );
        Ok(Put {
            how: Configured::Created,
            fence: Fence {
                epoch,
                mark: restored.fence,
            },
        })
    };
    let epoch = configuration.epoch;
    let mut fence = stored.line.fence;
    // Before anything else: an old line must not take new settings for its own.
    match line.mark(queue, epoch, fence).await {
        Ok(Marked::Marked(mark)) => {
            match backup.raise_fence(queue, epoch, mark).await {
                Ok(()) => fence = mark,
                // The next one is as good; the settings need not wait for it.
                Err(error) => {
                    warn!(
                        event = "queue.fence_raise_failed",
                        %queue,
                        %error,
                        "could not raise the fence of the queue in the backup; the next sync tries again"
                    );
                }
            }
        }
        Ok(Marked::Same | Marked::Other) => {}
        Ok(Marked::Old) => {
            warn!(
                event = "line.stale_detected",
                %queue,
                "the line came back with data older than the fence; restoring the queue from the backup"
            );
            return put_back().await;
        }
        // It never had the queue, or lost it: created empty, everybody's place would be lost for good.
        Err(LineError::Unknown) => return put_back().await,
        Err(error) => return Err(error.into()),
    }
    let how = match line.configure(queue, configuration, false).await {
        Err(LineError::Unknown) | Ok(Configured::Behind) => return put_back().await,
        Ok(Configured::Older) => overtaken(line, backup, queue, configuration).await?,
        answer => answer?,
    };
    let fence = Fence { epoch, mark: fence };
    Ok(Put { how, fence })
}

/// Where the backup has gone on as well, whoever went on puts that in force. Where it has not, its number was lowered,
/// by a hand that put the whole item or by a table that was put back: what is stored is still what counts.
async fn overtaken(
    line: &dyn Line,
    backup: &dyn Backup,
    queue: &QueueId,
    configuration: &Configuration,
) -> Result<Configured, SyncError> {
    let in_force = line.view(queue).await?.configuration;
    let stored = backup.queue(queue).await?;
    let is_same = |stored: &StoredQueue| {
        (stored.line.epoch, stored.settings_order) == (configuration.epoch, configuration.settings_order)
    };
    if !stored.as_ref().is_some_and(is_same) {
        return Ok(Configured::Older);
    }
    if in_force.epoch > configuration.epoch {
        return Err(SyncError::Ahead {
            line: in_force.epoch,
            stored: configuration.epoch,
        });
    }
    let raised = Configuration {
        settings_order: in_force.settings_order,
        ..configuration.clone()
    };
    Ok(line.configure(queue, &raised, false).await?)
}
