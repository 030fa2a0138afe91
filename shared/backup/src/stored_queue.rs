//! A queue as the backup stores it: its settings, and Vestibule's own metadata.

use vestibule_domain::{
    configuration::{Configuration, LAYOUT},
    id::Salt,
    kept_times::KeptTimes,
    settings::Settings,
    tombstone::Tombstone,
};

use super::{
    backup_error::BackupError, lease::Lease, settings_revision::SettingsRevision,
    stored_settings::StoredSettings,
};

/// Vestibule's own metadata of a queue. Operators edit the settings, not this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueMetadata {
    /// The [layout](LAYOUT) of the queue's data.
    pub layout: u32,
    /// Rises by one at each restore and at each reset.
    pub epoch: u32,
    /// Rises by one at each reset.
    pub generation: u32,
    /// The lowest epoch whose passes are valid: the epoch of the last reset.
    pub min_epoch: u32,
    /// The salt of this generation. Entry ids are derived with it.
    pub salt: Salt,
    /// The highest watermark that the line of this queue has shown. A line that shows a lower one
    /// has restarted with stale data.
    pub watermark: u64,
    /// When this generation opened, in Unix milliseconds; `None` as long as that is not recorded.
    pub opened_at_ms: Option<u64>,
    /// What earlier settings of this generation have given out.
    pub kept_times: KeptTimes,
    /// The lease of the process that restores the queue at the moment; `None` if no restore is
    /// under way.
    pub lease: Option<Lease>,
}

impl QueueMetadata {
    /// The metadata of a new queue.
    pub fn new(salt: Salt) -> Self {
        Self {
            layout: LAYOUT,
            epoch: 1,
            generation: 1,
            min_epoch: 1,
            salt,
            watermark: 0,
            opened_at_ms: None,
            kept_times: KeptTimes::default(),
            lease: None,
        }
    }

    /// The metadata of a queue that is created again: it begins above the tombstone of the deleted one.
    pub fn after_deletion(tombstone: &Tombstone, salt: Salt) -> Self {
        let epoch = tombstone.epoch.saturating_add(1);
        Self {
            epoch,
            generation: tombstone.generation.saturating_add(1),
            min_epoch: epoch,
            ..Self::new(salt)
        }
    }

    /// The metadata after a reset: the next epoch and the next generation, with a new salt and
    /// without a lease.
    #[must_use]
    pub fn next_generation(self, salt: Salt) -> Self {
        Self {
            layout: LAYOUT,
            epoch: self.epoch + 1,
            generation: self.generation + 1,
            min_epoch: self.epoch + 1,
            salt,
            opened_at_ms: None,
            kept_times: KeptTimes::default(),
            lease: None,
            ..self
        }
    }
}

/// A queue as the backup stores it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredQueue {
    /// The settings as last written, valid or not.
    pub settings: StoredSettings,
    /// Rises by one with each [`Backup::replace_settings`](super::Backup::replace_settings); an
    /// edit by hand does not change it. Of two reads of the settings, the one with the higher
    /// number is later.
    pub settings_order: u64,
    /// Vestibule's own metadata.
    pub metadata: QueueMetadata,
}

impl StoredQueue {
    /// Requires that this build can read the queue's entries.
    ///
    /// # Errors
    /// [`BackupError::Unreadable`] if the queue has an earlier or a later layout.
    pub fn require_own_layout(&self) -> Result<(), BackupError> {
        self.require_no_later_layout()?;
        if self.metadata.layout < LAYOUT {
            return Err(BackupError::Unreadable(format!(
                "an earlier build made the queue (layout {}), and this build reads layout {LAYOUT}; run the command \
                 reset, which empties the queue, or deploy the earlier build until the queue is no longer needed",
                self.metadata.layout
            )));
        }
        Ok(())
    }

    /// Requires that no later build serves the queue. A queue of an earlier build may be reset.
    ///
    /// # Errors
    /// [`BackupError::Unreadable`] if the queue has a later layout.
    pub fn require_no_later_layout(&self) -> Result<(), BackupError> {
        if self.metadata.layout > LAYOUT {
            return Err(BackupError::Unreadable(format!(
                "a later build serves the queue (layout {}), and this build reads layout {LAYOUT}; deploy the later build",
                self.metadata.layout
            )));
        }
        Ok(())
    }

    /// The configuration to put in force in the line, with these settings.
    pub fn configuration(&self, settings: Settings) -> Configuration {
        let part = &self.metadata;
        Configuration {
            revision: SettingsRevision::of(&settings).as_str().to_owned(),
            settings,
            settings_order: self.settings_order,
            epoch: part.epoch,
            generation: part.generation,
            min_epoch: part.min_epoch,
            salt: part.salt,
            opened_at_ms: part.opened_at_ms,
            kept_times: part.kept_times,
        }
    }
}
