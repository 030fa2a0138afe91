//! Switches while the backup is away: an operator must be able to brake at any time.
//!
//! The line takes such a switch at once and remembers that the backup may not have it. No configuration from the backup
//! replaces it: a sync [saves](save_switches) it there first.

use tracing::info;
use vestibule_backup::{Backup, SettingsRevision};
use vestibule_domain::{configuration::Configuration, id::QueueId, settings::Settings};
use vestibule_line::{ConfigureOutcome, Line, LineError, SwitchOrder};

use crate::sync_error::SyncError;

/// The most attempts while other processes change the same switches (optimistic concurrency).
const ATTEMPTS_MAX: u32 = 5;

/// Puts a switch in force in the line alone. `name` is the setting, and `change` returns the settings in force with its new
/// value. Returns the configuration that is in force then, and whether the switch has changed it.
///
/// # Errors
/// The error of `change`, or that of the line.
pub async fn switch_line<E: From<LineError>>(
    line: &Line,
    queue: &QueueId,
    name: &'static str,
    change: impl Fn(&Settings) -> Result<Settings, E>,
) -> Result<(Configuration, bool), E> {
    for _ in 0..ATTEMPTS_MAX {
        let in_force = line.queue_view(queue).await?.view.configuration;
        let settings = change(&in_force.settings)?;
        let order = SwitchOrder {
            name,
            revision_before: in_force.revision.clone(),
            configuration: Configuration {
                revision: SettingsRevision::of(&settings).as_str().to_owned(),
                settings,
                ..in_force
            },
        };
        match line.switch(queue, &order).await? {
            ConfigureOutcome::Changed => return Ok((order.configuration, true)),
            ConfigureOutcome::Unchanged => return Ok((order.configuration, false)),
            // Another process has changed the settings since they were read.
            _ => {}
        }
    }
    Err(LineError::Unavailable("other processes keep changing the settings".to_owned()).into())
}

/// Saves in the backup the switches that the line took while the backup was away. Other settings stay as they are stored,
/// so an edit of them in the meantime counts.
///
/// # Errors
/// [`SyncError`] if the line or the backup fails. The switches then stay in force, and the call may be repeated.
pub async fn save_switches(line: &Line, backup: &dyn Backup, queue: &QueueId) -> Result<(), SyncError> {
    for _ in 0..ATTEMPTS_MAX {
        let Some(unsaved) = line.unsaved_switches(queue).await? else {
            return Ok(());
        };
        // Read after the serial: a switch that comes in between is saved, too, and the serial shows that it is a later one.
        let in_force = line.queue_view(queue).await?.configuration.settings.to_map();
        let Some(stored) = backup.read_queue(queue).await? else {
            return Ok(());
        };
        let mut settings = stored.settings.as_map().unwrap_or(&in_force).clone();
        for name in &unsaved.names {
            settings.extend(in_force.get(name).map(|value| (name.clone(), value.clone())));
        }
        let saved = backup
            .replace_settings(queue, &stored.settings, &settings)
            .await?;
        if saved.is_some() && line.settle_switches(queue, unsaved.serial).await? {
            let names = unsaved.names.join(", ");
            info!(
                event = "queue.switches_saved", %queue, switches = names,
                "stored the switches that were given while the backup was away"
            );
            return Ok(());
        }
    }
    // Other processes keep changing the settings. The next sync goes on.
    Ok(())
}
