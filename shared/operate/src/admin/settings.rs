//! The command `update` and the switches: change settings, first in the backup and then in the line.

use serde_json::{Map, Value, json};
use tracing::warn;
use vestibule_backup::StoredQueue;
use vestibule_domain::{
    configuration::Configuration,
    id::QueueId,
    settings::{Entrance, Field, Settings, SettingsError},
};
use vestibule_engine::sync::{apply_configuration, build_configuration, keep_settings_with_stored_switches};
use vestibule_line::{ConfigureOutcome, LineError, QueueView};

use super::{Admin, Problem, command::Confirmation};

/// The most attempts at a change while concurrent changes of the stored settings interfere (optimistic
/// concurrency).
const ATTEMPTS_MAX: u32 = 5;

impl Admin {
    /// Changes the given settings and no others. A change that closes or finishes the queue must be
    /// confirmed.
    pub(super) async fn update(
        &self,
        queue: &QueueId,
        given: &Map<String, Value>,
        confirmation: &Confirmation,
    ) -> Result<Value, Problem> {
        reject_blocked(given)?;
        let before = self.read_stored_queue(queue).await?;
        let epoch = before.metadata.epoch;
        let opened_at_ms = if given.contains_key("opens_at_ms") {
            self.find_opening(queue, &before).await
        } else {
            None
        };
        let change = |stored: &Map<String, Value>| {
            let settings = merge_settings(stored, given)?;
            let allowed = self.policy.validate(settings);
            let allowed = allowed.map_err(|error| Problem::invalid_setting(&error))?;
            reject_second_opening(&allowed, opened_at_ms)?;
            if has_harder_entrance(stored, &allowed, vestibule_clock::now_ms()) {
                confirmation.verify("update", epoch)?;
            }
            Ok(allowed.to_map())
        };
        let stored = self.replace_stored_settings(queue, change).await?;
        let configuration = build_configuration(&stored, self.policy)
            .map_err(|error| Problem::invalid_stored_setting(&error))?;
        self.apply_and_describe(queue, &stored, configuration).await
    }

    /// Lets new visitors enter. Refused if a stored time would keep them out all the same.
    pub(super) async fn open(&self, queue: &QueueId) -> Result<Value, Problem> {
        let open = |stored: &Map<String, Value>| {
            let now_ms = vestibule_clock::now_ms();
            let passed = Settings::from_map(stored).ok().and_then(|settings| {
                let times = [
                    ("ends_at_ms", settings.ends_at_ms),
                    ("closes_at_ms", settings.closes_at_ms),
                ];
                let mut passed = times
                    .into_iter()
                    .filter(|(_, at_ms)| at_ms.is_some_and(|ms| ms <= now_ms));
                passed.next()
            });
            match passed {
                Some((field, _)) => Err(Problem::invalid_setting(&SettingsError {
                    field: field.to_owned(),
                    reason: "has passed, so the queue would not open; set a later time or null with the command update"
                        .to_owned(),
                })),
                None => Ok(json!(Entrance::Open)),
            }
        };
        self.change_switch(queue, "entrance", open).await
    }

    /// Changes the one setting of a switch, such as `paused` for `pause`. It also works while
    /// another stored setting is invalid, and leaves that one for its author to correct.
    pub(super) async fn switch(&self, queue: &QueueId, name: &str, value: Value) -> Result<Value, Problem> {
        self.change_switch(queue, name, |_| Ok(value.clone())).await
    }

    /// Changes the one setting of a switch to what `change` returns, which gets all stored settings.
    pub(super) async fn change_stored_switch(
        &self,
        queue: &QueueId,
        name: &str,
        change: &(impl Fn(&Map<String, Value>) -> Result<Value, Problem> + Send + Sync),
    ) -> Result<Value, Problem> {
        let change = |stored: &Map<String, Value>| {
            let mut changed = stored.clone();
            changed.insert(name.to_owned(), change(stored)?);
            Ok(changed)
        };
        let stored = self.replace_stored_settings(queue, change).await?;
        let wrong = match build_configuration(&stored, self.policy) {
            Ok(configuration) => return self.apply_and_describe(queue, &stored, configuration).await,
            Err(wrong) => wrong,
        };
        let configuration = keep_settings_with_stored_switches(&self.line, queue, &stored, &wrong)
            .await
            .map_err(|error| Problem::from(error).after_stored_settings())?;
        let mut result = self.apply_and_describe(queue, &stored, configuration).await?;
        result["stored_settings_problem"] = wrong.to_string().into();
        Ok(result)
    }

    /// When the queue opened, in Unix milliseconds, as far as line and backup tell.
    async fn find_opening(&self, queue: &QueueId, stored: &StoredQueue) -> Option<u64> {
        if stored.metadata.opened_at_ms.is_some() {
            return stored.metadata.opened_at_ms;
        }
        let view = self.line.queue_view(queue).await.ok()?;
        view.configuration.find_opening(view.now_ms, has_visits(&view))
    }

    /// Changes the stored settings by compare-and-swap. Returns the queue as it is stored afterwards.
    async fn replace_stored_settings(
        &self,
        queue: &QueueId,
        change: impl Fn(&Map<String, Value>) -> Result<Map<String, Value>, Problem> + Send + Sync,
    ) -> Result<StoredQueue, Problem> {
        self.save_switches(queue).await?;
        for _ in 0..ATTEMPTS_MAX {
            let stored = self.read_stored_queue(queue).await?;
            let settings = match stored.settings.as_map() {
                Some(map) => change(map)?,
                None => change(&self.settings_in_force(queue, &stored).await?)?,
            };
            let replaced = self
                .backup
                .replace_settings(queue, &stored.settings, &settings)
                .await?;
            if let Some(settings_order) = replaced {
                if stored.settings.as_map().is_none() {
                    let wrong = stored.settings.parse().err().map(|error| error.to_string());
                    warn!(
                        event = "queue.settings_replaced",
                        %queue,
                        wrong,
                        "replaced stored settings that are not a map with the settings in force"
                    );
                }
                return Ok(StoredQueue {
                    settings: settings.into(),
                    settings_order,
                    ..stored
                });
            }
        }
        Err(Problem::settings_changed())
    }

    /// Returns the settings to change if the stored value is not a map. Only the settings in force
    /// can be meant then.
    async fn settings_in_force(
        &self,
        queue: &QueueId,
        stored: &StoredQueue,
    ) -> Result<Map<String, Value>, Problem> {
        match (self.line.queue_view(queue).await, stored.settings.parse()) {
            (Ok(view), _) => Ok(view.configuration.settings.to_map()),
            (Err(LineError::QueueNotFound), Err(wrong)) => Err(Problem::invalid_stored_setting(&wrong)),
            (Err(error), _) => Err(error.into()),
        }
    }

    async fn apply_and_describe(
        &self,
        queue: &QueueId,
        stored: &StoredQueue,
        configuration: Configuration,
    ) -> Result<Value, Problem> {
        let how = apply_configuration(&self.line, &*self.backup, queue, stored, &configuration)
            .await
            .map_err(|error| Problem::from(error).after_stored_settings())?
            .outcome;
        Ok(json!({
            "queue": queue.as_str(),
            "changed": matches!(how, ConfigureOutcome::Created | ConfigureOutcome::Changed),
            // The settings were stored, but a later change replaced them before they came into force.
            "superseded": matches!(how, ConfigureOutcome::Superseded | ConfigureOutcome::SwitchesUnsaved),
            "stored": true,
            "settings": configuration.settings,
            "revision": configuration.revision,
        }))
    }
}

/// Whether a visit has begun, as far as the counts tell. A restored line counts only live entries.
fn has_visits(view: &QueueView) -> bool {
    view.totals.entered + view.totals.returned + view.waiting + view.ready + view.active > 0
}

/// Refuses a time to open in the future for a queue that opened at `opened_at_ms`: the line would ignore it.
fn reject_second_opening(new: &Settings, opened_at_ms: Option<u64>) -> Result<(), Problem> {
    match opened_at_ms {
        Some(opened_at_ms) if new.opens_later(vestibule_clock::now_ms()) => {
            Err(Problem::invalid_setting(&SettingsError {
                field: "opens_at_ms".to_owned(),
                reason: format!(
                    "has no effect, because the queue opened at {opened_at_ms} and an opening cannot be undone; pause the \
                     queue, or begin a new one with the command reset"
                ),
            }))
        }
        _ => Ok(()),
    }
}

/// Refuses a list of blocks: one that an operator read a while ago would undo the blocks of others. `null` ends all
/// blocks, and corrects a list that is invalid.
pub(super) fn reject_blocked(given: &Map<String, Value>) -> Result<(), Problem> {
    match given.get("blocked") {
        None | Some(Value::Null) => Ok(()),
        Some(_) => Err(Problem::setting_of_commands("blocked", "block and unblock")),
    }
}

/// Whether the new settings close or finish a queue at `now_ms`, in Unix milliseconds, that the stored
/// settings do not, or finish one that they only close. Of invalid stored settings the switches count.
fn has_harder_entrance(stored: &Map<String, Value>, new: &Settings, now_ms: u64) -> bool {
    let old = Settings::from_map(stored).unwrap_or_else(|_| Settings::default().with_switches(stored));
    let new = new.entrance_at(now_ms);
    new.stops_promotion() && new != old.entrance_at(now_ms) && old.entrance_at(now_ms) != Entrance::Finished
}

/// Merges the given settings into the stored ones. An update corrects an invalid stored setting by
/// naming it. The value `null` removes a stored name that is not a setting.
fn merge_settings(stored: &Map<String, Value>, given: &Map<String, Value>) -> Result<Settings, Problem> {
    if let Ok(settings) = Settings::from_map(stored) {
        return settings
            .with_fields(given)
            .map_err(|error| Problem::invalid_setting(&error));
    }
    let mut merged = stored.clone();
    for (name, value) in given {
        if value.is_null() && Field::find(name).is_none() {
            merged.remove(name);
        } else {
            merged.insert(name.clone(), value.clone());
        }
    }
    Settings::from_map(&merged).map_err(|error| {
        if given.contains_key(&error.field) {
            Problem::invalid_setting(&error)
        } else {
            Problem::invalid_stored_setting(&error)
        }
    })
}
