//! The command `create`: adds a queue.

use serde_json::{Map, Value, json};
use tracing::warn;
use uuid::Uuid;
use vestibule_backup::{Lease, QueueMetadata, StoredQueue};
use vestibule_domain::{
    id::{QueueId, Salt},
    settings::Settings,
};
use vestibule_engine::sync::apply_configuration;

use super::{Admin, Problem, settings::reject_blocked};

impl Admin {
    /// Adds a queue, first to the backup and then to the line. The command is idempotent: repeated
    /// with the same settings, it completes what a crash between the two writes left undone.
    pub(super) async fn create(&self, queue: &QueueId, given: &Map<String, Value>) -> Result<Value, Problem> {
        reject_blocked(given)?;
        let settings = Settings::from_map(given).and_then(|settings| self.policy.validate(settings));
        let settings = settings.map_err(|error| Problem::invalid_setting(&error))?;
        // `random` uses a cryptographic generator that the operating system seeds.
        let part = QueueMetadata::new(Salt::new(rand::random()));
        let lease = Lease::new(Uuid::new_v4());
        let new = StoredQueue {
            settings: settings.to_map().into(),
            settings_order: 0,
            metadata: QueueMetadata {
                // The lease keeps the promoter away. Without it, a promoter that finds the queue
                // now would restore it as a lost queue, with an empty pace bucket.
                lease: Some(lease),
                ..part
            },
        };
        let created = self.backup.create_queue(queue, &new).await?;
        let stored = if created {
            new
        } else {
            self.read_queue_with_settings(queue, &settings).await?
        };
        let configuration = stored.configuration(settings);
        let in_force = if created {
            // The queue is new, so it may be created empty: it has no entries to restore.
            let configured = self.line.configure(queue, &configuration, true).await;
            let released = self
                .backup
                .release_lease(queue, stored.metadata.epoch, lease.holder)
                .await;
            if let Err(error) = released {
                warn!(
                    event = "queue.lease_release_failed",
                    %queue,
                    %error,
                    "could not release the lease of a new queue; the lease expires by itself"
                );
            }
            configured.map_err(Problem::from)
        } else {
            apply_configuration(&*self.line, &*self.backup, queue, &stored, &configuration)
                .await
                .map(|put| put.outcome)
                .map_err(Problem::from)
        };
        in_force.map_err(|problem| problem.after_stored_settings())?;
        Ok(json!({
            "queue": queue.as_str(),
            "created": created,
            "settings": configuration.settings,
            "revision": configuration.revision,
            "epoch": configuration.epoch,
            "generation": configuration.generation,
        }))
    }

    /// Returns the existing queue if its settings equal the given ones.
    async fn read_queue_with_settings(
        &self,
        queue: &QueueId,
        settings: &Settings,
    ) -> Result<StoredQueue, Problem> {
        let stored = self.read_stored_queue(queue).await?;
        match stored.settings.parse() {
            Ok(found) if found == *settings => Ok(stored),
            _ => Err(Problem::queue_exists()),
        }
    }
}
