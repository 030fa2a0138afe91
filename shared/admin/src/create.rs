//! The command `create`: adds queues.

use serde_json::{Map, Value};
use tracing::warn;
use uuid::Uuid;
use vestibule_backup::{Lease, QueueMetadata, StoredQueue};
use vestibule_domain::{
    configuration::Configuration,
    id::{QueueId, Salt},
    queue_pattern::QueuePattern,
    settings::Settings,
};
use vestibule_engine::{deletion::complete_deletion, sync::apply_configuration};
use vestibule_wire::results::{self, to_value};

use super::{Admin, Problem, defaults::DefaultsTable, settings::reject_blocked};

/// The settings of a new queue, with the pattern whose defaults are among them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NewSettings {
    pub(super) settings: Settings,
    pub(super) pattern: Option<QueuePattern>,
}

/// A queue that `create` added, or that existed with the same settings.
pub(super) struct CreatedQueue {
    /// Whether this command added it.
    pub(super) created: bool,
    pub(super) configuration: Configuration,
}

impl Admin {
    /// Adds a queue, first to the backup and then to the line. The command is idempotent: repeated
    /// with the same settings, it completes what a crash between the two writes left undone. A queue that was
    /// deleted begins anew, in the next generation.
    pub(super) async fn create(&self, queue: &QueueId, given: &Map<String, Value>) -> Result<Value, Problem> {
        reject_blocked(given)?;
        let defaults = DefaultsTable::read(&*self.backup).await?;
        let new = self.settings_of_new_queue(&defaults, queue, given)?;
        let CreatedQueue {
            created,
            configuration,
        } = self.create_with_settings(queue, &new.settings).await?;
        Ok(to_value(results::CreatedQueue {
            queue: queue.to_string(),
            created,
            defaults: new.pattern.map(|pattern| pattern.to_string()),
            settings: configuration.settings,
            revision: configuration.revision,
            epoch: configuration.epoch,
            generation: configuration.generation,
        }))
    }

    /// The defaults of the longest pattern that matches, overridden by the given settings.
    pub(super) fn settings_of_new_queue(
        &self,
        defaults: &DefaultsTable,
        queue: &QueueId,
        given: &Map<String, Value>,
    ) -> Result<NewSettings, Problem> {
        let matching = defaults.find(queue);
        let inherited = match matching {
            Some(defaults) => defaults.settings.parse(),
            None => Ok(Settings::default()),
        };
        let inherited = match (inherited, matching) {
            (Ok(settings), _) => settings,
            (Err(error), Some(defaults)) => return Err(Problem::invalid_defaults(&defaults.pattern, &error)),
            (Err(error), None) => return Err(Problem::invalid_setting(&error)),
        };
        let settings = inherited
            .with_fields(given)
            .and_then(|settings| self.policy.validate(settings));
        let pattern = matching.map(|defaults| defaults.pattern.clone());
        match (settings, pattern) {
            (Ok(settings), pattern) => Ok(NewSettings { settings, pattern }),
            // The policy refuses a setting that the queue has from the defaults alone.
            (Err(error), Some(pattern)) if !given.contains_key(&error.field) => {
                Err(Problem::invalid_defaults(&pattern, &error))
            }
            (Err(error), _) => Err(Problem::invalid_setting(&error)),
        }
    }

    /// Adds a queue with these settings to the backup and the line, or finds that it exists with the same ones.
    pub(super) async fn create_with_settings(
        &self,
        queue: &QueueId,
        settings: &Settings,
    ) -> Result<CreatedQueue, Problem> {
        // `random` uses a cryptographic generator that the operating system seeds.
        let salt = self.root_key.tie(Salt::new(rand::random())).await;
        // A queue that was deleted is no more: neither in the line, nor for its tokens and passes.
        let part = match complete_deletion(&self.line, &*self.backup, queue).await? {
            Some(tombstone) => QueueMetadata::after_deletion(&tombstone, salt),
            None => QueueMetadata::new(salt),
        };
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
            self.read_queue_with_settings(queue, settings).await?
        };
        let configuration = stored.configuration(settings.clone());
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
            apply_configuration(&self.line, &*self.backup, queue, &stored, &configuration)
                .await
                .map(|put| put.outcome)
                .map_err(Problem::from)
        };
        in_force.map_err(Problem::after_stored_settings)?;
        Ok(CreatedQueue {
            created,
            configuration,
        })
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
