//! The commands `restore` and `reset`: restore a queue from the backup, or empty it.

use std::time::Duration;

use serde_json::Value;
use vestibule_backup::StoredQueue;
use vestibule_domain::{
    id::{QueueId, Salt},
    settings::Settings,
};
use vestibule_engine::{
    restore::{RestoreSummary, restore_queue},
    sync::{build_configuration, keep_settings_with_stored_switches},
    tally::try_store_tally,
};
use vestibule_wire::results::{RestoredQueue, to_value};

use super::{Admin, Problem};

impl Admin {
    /// Restores a queue from the backup, whatever the line has. No visitor loses their place or
    /// moves back.
    pub(super) async fn restore(&self, queue: &QueueId) -> Result<Value, Problem> {
        self.save_switches(queue).await?;
        let stored = self.read_stored_queue(queue).await?;
        let settings = self.settings_for_restore(queue, &stored).await?;
        try_store_tally(&self.line, &*self.backup, queue, Duration::ZERO).await;
        let restored = restore_queue(&self.line, &*self.backup, queue, &stored, &settings).await?;
        Ok(describe_restore(queue, &restored))
    }

    /// Starts a new generation, which is empty and in which all earlier tokens and passes are void. It belongs to the present
    /// root key.
    /// The records of the previous generation stay in the backup until their time to live ends.
    pub(super) async fn reset(&self, queue: &QueueId) -> Result<Value, Problem> {
        self.save_switches(queue).await?;
        let stored = self.read_stored_queue(queue).await?;
        stored.require_no_later_layout()?;
        let settings = self.settings_for_restore(queue, &stored).await?;
        // The report of this generation stays in the backup.
        try_store_tally(&self.line, &*self.backup, queue, Duration::ZERO).await;
        let salt = self.root_key.tie(Salt::new(rand::random())).await;
        let new_generation = self
            .backup
            .begin_generation(queue, stored.metadata.epoch, salt)
            .await?;
        let reset_queue = StoredQueue {
            metadata: new_generation.ok_or_else(Problem::epoch_changed)?,
            ..stored
        };
        let restored = restore_queue(&self.line, &*self.backup, queue, &reset_queue, &settings)
            .await
            .map_err(|error| Problem::from(error).after_stored_reset())?;
        Ok(describe_restore(queue, &restored))
    }

    /// Returns the settings to restore a queue with. If the stored settings are invalid, these are
    /// the settings in force.
    async fn settings_for_restore(&self, queue: &QueueId, stored: &StoredQueue) -> Result<Settings, Problem> {
        match build_configuration(stored, self.policy) {
            Ok(configuration) => Ok(configuration.settings),
            Err(wrong) => Ok(
                keep_settings_with_stored_switches(&self.line, queue, stored, &wrong)
                    .await?
                    .settings,
            ),
        }
    }
}

fn describe_restore(queue: &QueueId, restored: &RestoreSummary) -> Value {
    let configuration = &restored.configuration;
    to_value(RestoredQueue {
        queue: queue.to_string(),
        epoch: configuration.epoch,
        min_epoch: configuration.min_epoch,
        generation: configuration.generation,
        waiting: restored.waiting,
        ready: restored.ready,
        active: restored.active,
        flushed_changes: restored.flushed_changes,
    })
}
