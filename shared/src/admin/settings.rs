//! Changing the settings of a queue: in the backup first, then in the line.

use serde_json::{Map, Value, json};

use super::{Admin, Problem};
use crate::{
    backup::StoredQueue,
    domain::{
        id::QueueId,
        settings::{FIELDS, Settings},
    },
    line::Configured,
    promoter::sync::{configuration_with, put_in_force},
};

/// How often a change is tried again when somebody else was faster.
const TRIES: u32 = 5;

impl Admin {
    /// Changes the given settings and leaves the others alone.
    pub(super) async fn update(&self, queue: &QueueId, given: &Map<String, Value>) -> Result<Value, Problem> {
        self.replace(queue, |stored| updated(stored, given)).await
    }

    /// Changes settings that an operation of its own stands for.
    pub(super) async fn set(&self, queue: &QueueId, change: fn(&mut Settings)) -> Result<Value, Problem> {
        let changed = |stored: &Map<String, Value>| {
            let mut settings = Settings::from_map(stored).map_err(|error| Problem::stored_setting(&error))?;
            change(&mut settings);
            Ok(settings)
        };
        self.replace(queue, changed).await
    }

    async fn replace(
        &self,
        queue: &QueueId,
        change: impl Fn(&Map<String, Value>) -> Result<Settings, Problem> + Send + Sync,
    ) -> Result<Value, Problem> {
        for _ in 0..TRIES {
            let stored = self.stored(queue).await?;
            let settings = change(&stored.settings)?;
            let settings = self
                .policy
                .check(settings)
                .map_err(|error| Problem::setting(&error))?;
            if let Some(settings_order) = self
                .backup
                .replace_settings(queue, &stored.settings, &settings.to_map())
                .await?
            {
                let stored = StoredQueue {
                    settings_order,
                    ..stored
                };
                return self.put_in_force(queue, &stored, settings).await;
            }
        }
        Err(Problem::busy())
    }

    async fn put_in_force(
        &self,
        queue: &QueueId,
        stored: &StoredQueue,
        settings: Settings,
    ) -> Result<Value, Problem> {
        let configuration = configuration_with(stored, settings);
        let how = put_in_force(&*self.line, &*self.backup, queue, &configuration)
            .await
            .map_err(|error| Problem::from(error).stored_only())?;
        Ok(json!({
            "queue": queue.as_str(),
            "changed": matches!(how, Configured::Created | Configured::Changed),
            // Stored, and replaced by a later change before it was in force.
            "overtaken": how == Configured::Older,
            "settings": configuration.settings,
            "revision": configuration.revision,
        }))
    }
}

/// The stored settings with the given ones in their place. Stored ones that are wrong can be corrected by naming them;
/// `null` drops one that nobody knows.
fn updated(stored: &Map<String, Value>, given: &Map<String, Value>) -> Result<Settings, Problem> {
    if let Ok(settings) = Settings::from_map(stored) {
        return settings.with(given).map_err(|error| Problem::setting(&error));
    }
    let mut merged = stored.clone();
    for (name, value) in given {
        if value.is_null() && FIELDS.iter().all(|field| field.name != name) {
            merged.remove(name);
        } else {
            merged.insert(name.clone(), value.clone());
        }
    }
    Settings::from_map(&merged).map_err(|error| {
        if given.contains_key(&error.field) {
            Problem::setting(&error)
        } else {
            Problem::stored_setting(&error)
        }
    })
}
