//! Putting a queue back from the backup, and beginning it anew.

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
    /// Puts a queue back as the backup has it, whatever the line has: nobody's place is lost or moved back.
    pub(super) async fn restore(&self, queue: &QueueId) -> Result<Value, Problem> {
        let stored = self.stored(queue).await?;
        let settings = self.to_restore(queue, &stored).await?;
        let restored = restore(&*self.line, &*self.backup, queue, &stored, &settings).await?;
        Ok(answer(queue, &restored))
    }

    /// Begins a new generation, which nobody of the one before has a place in: its tokens and passes are void. What the
    /// backup has of that one stays until its time to live.
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

    /// The settings to put a queue back with: those in force where the stored ones are wrong.
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
