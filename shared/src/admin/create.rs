//! Adding a queue.

use serde_json::{Map, Value, json};

use super::{Admin, Problem};
use crate::{
    backup::{LinePart, StoredQueue},
    domain::{
        id::{QueueId, Salt},
        settings::Settings,
    },
    promoter::sync::{configuration_with, put_in_force},
};

impl Admin {
    /// Adds a queue, to the backup first. Said again with the same settings it mends what a crash between the two left.
    pub(super) async fn create(&self, queue: &QueueId, given: &Map<String, Value>) -> Result<Value, Problem> {
        let settings = Settings::from_map(given).and_then(|settings| self.policy.check(settings));
        let settings = settings.map_err(|error| Problem::setting(&error))?;
        let new = StoredQueue {
            settings: settings.to_map().into(),
            settings_order: 0,
            line: LinePart {
                epoch: 1,
                generation: 1,
                // `random` draws from a generator made for cryptography, seeded by the operating system.
                salt: Salt::new(rand::random()),
            },
        };
        let created = self.backup.create_queue(queue, &new).await?;
        let stored = if created {
            new
        } else {
            self.same(queue, &settings).await?
        };
        let configuration = configuration_with(&stored, settings);
        let in_force = if created {
            // Nobody can stand in it yet.
            self.line
                .configure(queue, &configuration, true)
                .await
                .map_err(Problem::from)
        } else {
            put_in_force(&*self.line, &*self.backup, queue, &configuration)
                .await
                .map_err(Problem::from)
        };
        in_force.map_err(|problem| problem.stored_only())?;
        Ok(json!({
            "queue": queue.as_str(),
            "created": created,
            "settings": configuration.settings,
            "revision": configuration.revision,
            "epoch": configuration.epoch,
            "generation": configuration.generation,
        }))
    }

    /// The queue that is there already, where it has these settings.
    async fn same(&self, queue: &QueueId, settings: &Settings) -> Result<StoredQueue, Problem> {
        let stored = self.stored(queue).await?;
        match stored.settings.parse() {
            Ok(found) if found == *settings => Ok(stored),
            _ => Err(Problem::queue_exists()),
        }
    }
}
