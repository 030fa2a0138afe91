//! The commands `restore` and `reset`: restore a queue from the backup, or empty it.

use serde_json::{Value, json};
use vestibule_backup::StoredQueue;
use vestibule_domain::{
    id::{QueueId, Salt},
    settings::Settings,
};
use vestibule_engine::{
    restore::{Restored, restore},
    sync::{configuration, switched},
};

use super::{Admin, Problem};

impl Admin {
    /// Restores a queue from the backup, whatever the line has. No visitor loses their place or moves back.
    pub(super) async fn restore(&self, queue: &QueueId) -> Result<Value, Problem> {
        let stored = self.stored(queue).await?;
        let settings = self.to_restore(queue, &stored).await?;
        let restored = restore(&*self.line, &*self.backup, queue, &stored, &settings).await?;
        Ok(answer(queue, &restored))
    }

    /// Starts a new generation, which is empty and in which all earlier tokens and passes are void. The records
    /// of the previous generation stay in the backup until their time to live ends.
    pub(super) async fn reset(&self, queue: &QueueId) -> Result<Value, Problem> {
        let stored = self.stored(queue).await?;
        let settings = self.to_restore(queue, &stored).await?;
        let salt = Salt::new(rand::random());
        let begun = self
            .backup
            .begin_generation(queue, stored.line.epoch, salt)
            .await?;
        let anew = StoredQueue {
            line: begun.ok_or_else(Problem::epoch_changed)?,
            ..stored
        };
        let restored = restore(&*self.line, &*self.backup, queue, &anew, &settings)
            .await
            .map_err(|error| Problem::from(error).reset_only())?;
        Ok(answer(queue, &restored))
    }

    /// Returns the settings to restore a queue with. If the stored settings are invalid, these are the settings
    /// in force.
    async fn to_restore(&self, queue: &QueueId, stored: &StoredQueue) -> Result<Settings, Problem> {
        match configuration(stored, self.policy) {
            Ok(configuration) => Ok(configuration.settings),
            Err(wrong) => Ok(switched(&*self.line, queue, stored, &wrong).await?.settings),
        }
    }
}

fn answer(queue: &QueueId, restored: &Restored) -> Value {
    let configuration = &restored.configuration;
    json!({
        "queue": queue.as_str(),
        "epoch": configuration.epoch,
        "min_epoch": configuration.min_epoch,
        "generation": configuration.generation,
        "waiting": restored.waiting,
        "ready": restored.ready,
        "active": restored.active,
        "salvaged": restored.salvaged,
    })
}
