//! Settings on their way from the backup, where operators edit them, to the line, where they are in force.

use std::collections::BTreeMap;

use serde_json::json;

use crate::{
    backup::{Backup, BackupError, Shelf, StoredQueue, fingerprint, restore},
    config::{EdgeConfig, VisitorRoutes},
    domain::{
        id::QueueId,
        settings::{Settings, SettingsError},
    },
    line::{Configuration, Configured, Line, LineError},
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

/// Names settings: the first 16 hexadecimal digits of the SHA-256 of their JSON, every field present and in the order
/// of their names.
pub fn revision(settings: &Settings) -> String {
    let in_order: BTreeMap<_, _> = settings.to_map().into_iter().collect();
    fingerprint(&json!(in_order))
}

/// What a stored queue is to be set up with.
///
/// # Errors
/// The first field of the stored settings that is wrong, by name.
pub fn configuration(stored: &StoredQueue, policy: Policy) -> Result<Configuration, SettingsError> {
    let settings = policy.check(stored.settings.parse()?)?;
    Ok(configuration_with(stored, settings))
}

/// The same with settings that were parsed already.
pub fn configuration_with(stored: &StoredQueue, settings: Settings) -> Configuration {
    Configuration {
        revision: revision(&settings),
        settings,
        settings_order: stored.settings_order,
        epoch: stored.line.epoch,
        generation: stored.line.generation,
        salt: stored.line.salt,
    }
}

/// What came of syncing a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Synced {
    /// The stored settings are in force.
    InForce {
        /// Whether they were before.
        how: Configured,
        /// Names them.
        revision: String,
        /// Where its entries stand.
        shelf: Shelf,
    },
    /// The stored settings are wrong. Those before them stay in force, but for the switches, which act by themselves.
    Refused {
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
            how: put_in_force(line, backup, queue, &wanted).await?,
            revision: wanted.revision.clone(),
            shelf: Shelf::of(queue, &wanted),
        }),
        Err(error) => {
            let wanted = switched(line, queue, &stored, &error).await?;
            put_in_force(line, backup, queue, &wanted).await?;
            Ok(Synced::Refused {
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
            Ok(configuration_with(stored, settings))
        }
        Err(LineError::Unknown) => Err(SyncError::Stuck(wrong.clone())),
        Err(other) => Err(other.into()),
    }
}

/// Puts a configuration in force, with every entry of the backup where the line does not have the queue.
///
/// # Errors
/// As [`sync`].
pub async fn put_in_force(
    line: &dyn Line,
    backup: &dyn Backup,
    queue: &QueueId,
    configuration: &Configuration,
) -> Result<Configured, SyncError> {
    match line.configure(queue, configuration, false).await {
        // It never had the queue, or lost it: created empty, everybody's place would be lost for good.
        Err(LineError::Unknown) => Ok(restore::restore(line, backup, queue, configuration)
            .await?
            .configured),
        Ok(Configured::Older) => overtaken(line, backup, queue, configuration).await,
        answer => Ok(answer?),
    }
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
    if stored.is_none_or(|stored| stored.settings_order != configuration.settings_order) {
        return Ok(Configured::Older);
    }
    let raised = Configuration {
        settings_order: in_force.settings_order,
        ..configuration.clone()
    };
    Ok(line.configure(queue, &raised, false).await?)
}
