//! Sync: takes a queue's settings from the backup, where operators edit them, to the line, where
//! they are in force.

use tracing::warn;
use vestibule_backup::{Backup, EntryPartition, StoredQueue};
use vestibule_domain::{configuration::Configuration, id::QueueId, settings::SettingsError};
use vestibule_line::{ConfigureOutcome, Line, LineError, MinWatermark, RaiseWatermarkOutcome};

use crate::{opening::record_opening, restore, switches::save_switches};
pub use crate::{settings_policy::SettingsPolicy, sync_error::SyncError};

/// Builds the configuration to apply from a stored queue.
///
/// # Errors
/// [`SettingsError`] with the name of the first stored setting that is invalid or not allowed.
pub fn build_configuration(
    stored: &StoredQueue,
    policy: SettingsPolicy,
) -> Result<Configuration, SettingsError> {
    let settings = policy.validate(stored.settings.parse()?)?;
    Ok(stored.configuration(settings))
}

/// The outcome of a sync.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SyncOutcome {
    /// The stored settings are in force.
    InForce {
        /// How the line took them, and the fence.
        put: AppliedConfig,
        /// The revision, which identifies the settings.
        revision: String,
        /// The partition of its entries in the backup.
        partition: EntryPartition,
    },
    /// The stored settings are invalid. The previous settings stay in force, except for the
    /// switches `paused` and `entrance`, which act on their own.
    Refused {
        /// How the line took the previous settings with the stored switches, and the fence.
        put: AppliedConfig,
        /// The first invalid setting, by name.
        error: SettingsError,
        /// The fingerprint of the stored settings, which identifies them.
        stored: String,
        /// The partition of its entries in the backup.
        partition: EntryPartition,
    },
    /// The backup no longer has this queue.
    QueueRemoved,
}

impl SyncOutcome {
    /// Whether the line refused the stored settings, because it has switches that the backup may not have.
    fn has_unsaved_switches(&self) -> bool {
        match self {
            Self::InForce { put, .. } | Self::Refused { put, .. } => {
                put.outcome == ConfigureOutcome::SwitchesUnsaved
            }
            Self::QueueRemoved => false,
        }
    }
}

/// A configuration that the line has in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AppliedConfig {
    /// How the line answered when the configuration was applied.
    pub outcome: ConfigureOutcome,
    /// The fence: the line is at least this recent.
    pub fence: MinWatermark,
}

/// How often a sync reads the stored settings again after it has saved switches of the line.
const SAVES_MAX: u32 = 3;

/// Reads the stored settings of one queue and applies them to the line. Restores the queue if the
/// line does not have it. Switches that the line took while the backup was away are saved in the backup first.
///
/// # Errors
/// [`SyncError`]. Invalid settings are an error only if the line has lost the queue. Otherwise they are
/// [`SyncOutcome::Refused`].
pub async fn sync_settings(
    line: &Line,
    backup: &dyn Backup,
    queue: &QueueId,
    policy: SettingsPolicy,
) -> Result<SyncOutcome, SyncError> {
    let mut outcome = apply_stored_settings(line, backup, queue, policy).await?;
    for _ in 0..SAVES_MAX {
        if !outcome.has_unsaved_switches() {
            break;
        }
        save_switches(line, backup, queue).await?;
        outcome = apply_stored_settings(line, backup, queue, policy).await?;
    }
    Ok(outcome)
}

async fn apply_stored_settings(
    line: &Line,
    backup: &dyn Backup,
    queue: &QueueId,
    policy: SettingsPolicy,
) -> Result<SyncOutcome, SyncError> {
    let Some(stored) = backup.read_queue(queue).await? else {
        return Ok(SyncOutcome::QueueRemoved);
    };
    match build_configuration(&stored, policy) {
        Ok(configuration) => Ok(SyncOutcome::InForce {
            put: apply_configuration(line, backup, queue, &stored, &configuration).await?,
            revision: configuration.revision.clone(),
            partition: EntryPartition::from_configuration(queue, &configuration),
        }),
        Err(error) => {
            let configuration = keep_settings_with_stored_switches(line, queue, &stored, &error).await?;
            Ok(SyncOutcome::Refused {
                put: apply_configuration(line, backup, queue, &stored, &configuration).await?,
                error,
                stored: stored.settings.fingerprint(),
                partition: EntryPartition::from_configuration(queue, &configuration),
            })
        }
    }
}

/// Returns the configuration to apply when the stored settings are invalid: the settings in force,
/// with the stored switches.
///
/// # Errors
/// [`SyncError`] if the line does not have the queue, because then no settings are in force.
pub async fn keep_settings_with_stored_switches(
    line: &Line,
    queue: &QueueId,
    stored: &StoredQueue,
    wrong: &SettingsError,
) -> Result<Configuration, SyncError> {
    match line.queue_view(queue).await {
        Ok(view) => {
            let in_force = view.view.configuration.settings;
            let settings = match stored.settings.as_map() {
                Some(map) => in_force.with_switches(map),
                None => in_force,
            };
            Ok(stored.configuration(settings))
        }
        Err(LineError::QueueNotFound) => Err(SyncError::NotRestorable(wrong.clone())),
        Err(other) => Err(other.into()),
    }
}

/// Applies a configuration of a stored queue to the line. Restores the queue, with every entry of
/// the backup, if the line does not have it, has an earlier epoch of it, or has data older than the
/// fence.
///
/// # Errors
/// As [`sync_settings`].
pub async fn apply_configuration(
    line: &Line,
    backup: &dyn Backup,
    queue: &QueueId,
    stored: &StoredQueue,
    configuration: &Configuration,
) -> Result<AppliedConfig, SyncError> {
    let restore_queue = async || {
        let settings = &configuration.settings;
        let restored = restore::restore_queue(line, backup, queue, stored, settings).await?;
        let (waiting, ready, active) = (restored.waiting, restored.ready, restored.active);
        let (flushed_changes, epoch) = (restored.flushed_changes, restored.configuration.epoch);
        warn!(
            event = "queue.restored",
            %queue,
            epoch,
            waiting,
            ready,
            active,
            flushed_changes,
            "restored the queue from the backup because the line had lost it or held stale data"
        );
        Ok(AppliedConfig {
            outcome: ConfigureOutcome::Created,
            fence: MinWatermark {
                epoch,
                watermark: restored.watermark,
            },
        })
    };
    stored.require_own_layout()?;
    let epoch = configuration.epoch;
    let mut fence = stored.metadata.watermark;
    // The watermark comes first, so that a stale line does not accept new settings as if it were
    // current.
    match line.raise_watermark(queue, epoch, fence).await {
        Ok(RaiseWatermarkOutcome::Raised(watermark)) => {
            match backup.raise_watermark(queue, epoch, watermark).await {
                Ok(()) => fence = watermark,
                // A failure is harmless: the next sync raises the fence. The settings do not wait
                // for it.
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
        Ok(RaiseWatermarkOutcome::Unchanged | RaiseWatermarkOutcome::OtherEpoch) => {}
        Ok(RaiseWatermarkOutcome::StaleLine) => {
            warn!(
                event = "line.stale_detected",
                %queue,
                "the line came back with data older than the fence; restoring the queue from the backup"
            );
            return restore_queue().await;
        }
        // The line never had the queue, or lost it. Creating it empty would lose every visitor's
        // place, so it is restored.
        Err(LineError::QueueNotFound) => return restore_queue().await,
        Err(error) => return Err(error.into()),
    }
    let outcome = match line.configure(queue, configuration, false).await {
        Err(LineError::QueueNotFound) | Ok(ConfigureOutcome::NeedsRestore) => return restore_queue().await,
        Ok(ConfigureOutcome::Superseded) => {
            resolve_older_configuration(line, backup, queue, configuration).await?
        }
        answer => answer?,
    };
    record_opening(line, backup, queue, stored, &configuration.settings).await;
    let fence = MinWatermark {
        epoch,
        watermark: fence,
    };
    Ok(AppliedConfig { outcome, fence })
}

/// Handles a configuration that the line refuses as older than the one in force.
///
/// If the stored queue has changed since it was read, the process that changed it applies the
/// change, and there is nothing to do. If it has not, its `settings_order` was lowered, by an
/// operator who wrote the whole item or by a restored table. The stored settings still count, so
/// the function applies them with the order in force.
async fn resolve_older_configuration(
    line: &Line,
    backup: &dyn Backup,
    queue: &QueueId,
    configuration: &Configuration,
) -> Result<ConfigureOutcome, SyncError> {
    let in_force = line.queue_view(queue).await?.view.configuration;
    let stored = backup.read_queue(queue).await?;
    let is_same = |stored: &StoredQueue| {
        (stored.metadata.epoch, stored.settings_order) == (configuration.epoch, configuration.settings_order)
    };
    if !stored.as_ref().is_some_and(is_same) {
        return Ok(ConfigureOutcome::Superseded);
    }
    if in_force.epoch > configuration.epoch {
        return Err(SyncError::EpochBehind {
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
