//! The command `update` and the switches: change settings, first in the backup and then in the line.

use serde_json::{Map, Value, json};
use tracing::warn;
use vestibule_backup::{QueueMetadata, StoredQueue, changed_settings};
use vestibule_domain::{
    configuration::Configuration,
    id::QueueId,
    iso_time::to_iso,
    kept_times::KeptTimes,
    right::Right,
    settings::{BeforeOpening, Entrance, Field, FieldType, FinishReason, Mode, Settings, SettingsError},
};
use vestibule_engine::sync::{apply_configuration, build_configuration, keep_settings_with_stored_switches};
use vestibule_line::{ConfigureOutcome, LineError};
use vestibule_wire::commands::UpdateOrder;
use vestibule_wire::results::{SettingsChange, to_value};

use super::{
    Admin, Problem,
    confirmation::Confirmation,
    given_settings::{read_revision, read_settings},
    overtaken::{effective_settings, find_overtaken},
};

/// The most attempts at a change while concurrent changes of the stored settings interfere (optimistic
/// concurrency).
const ATTEMPTS_MAX: u32 = 5;

/// A capacity that becomes this many times as large may be a slip of the finger.
const CAPACITY_FACTOR: u32 = 10;

impl Admin {
    /// Changes the given settings and no others. A change that closes or finishes the queue, or lets a flood of visitors in,
    /// must be confirmed.
    pub(super) async fn update(&self, order: &UpdateOrder, right: Right) -> Result<Value, Problem> {
        let queue = &order.queue;
        let (given, revision) = (&read_settings(order)?, read_revision(order)?);
        let confirmation = Confirmation::new(queue, order.confirm.as_ref(), order.epoch);
        reject_blocked(given)?;
        let before = self.read_stored_queue(queue).await?;
        let epoch = before.metadata.epoch;
        let opening = if ["opens_at_ms", "before_opening"]
            .iter()
            .any(|name| given.contains_key(*name))
        {
            self.find_opening(queue, &before).await
        } else {
            Opening::default()
        };
        let change = |stored: &Map<String, Value>| {
            let settings = merge_settings(stored, given)?;
            let allowed = self.policy.validate(settings);
            let allowed = allowed.map_err(|error| Problem::invalid_setting(&error))?;
            opening.reject_second_opening(&allowed)?;
            let draws_before = stored
                .get("before_opening")
                .is_some_and(|word| *word == json!(BeforeOpening::Draw));
            opening.reject_change_of_draw(draws_before, &allowed)?;
            if has_harder_entrance(stored, &allowed, vestibule_telemetry::clock::now_ms()) {
                confirmation.verify("update", epoch)?;
                if right < Right::End {
                    return Err(Problem::right_needed(
                        "an update that closes or finishes the queue",
                        Right::End,
                    ));
                }
            }
            if let Some(what) = find_flood(stored, &allowed) {
                confirmation.verify(&format!("an update that {what}"), epoch)?;
            }
            let new = allowed.to_map();
            if let Some(revision) = &revision {
                let overtaken = find_overtaken(revision, given, &effective_settings(stored), &new);
                if !overtaken.is_empty() {
                    return Err(Problem::overtaken(&overtaken));
                }
            }
            Ok(new)
        };
        let replaced = match self.replace_stored_settings(queue, change).await {
            Ok(replaced) => replaced,
            Err(problem) => return Err(self.name_overtakers(queue, problem).await),
        };
        let configuration = build_configuration(&replaced.queue, self.policy)
            .map_err(|error| Problem::invalid_stored_setting(&error))?;
        let result = self.apply_and_describe(queue, &replaced, configuration).await?;
        Ok(to_value(result))
    }

    /// Lets new visitors enter. Refused if a stored time would keep them out all the same.
    pub(super) async fn open(&self, queue: &QueueId) -> Result<Value, Problem> {
        let open = |stored: &Map<String, Value>| {
            let now_ms = vestibule_telemetry::clock::now_ms();
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
        let result = self.change_switch(queue, "entrance", &Map::new(), open).await?;
        Ok(to_value(result))
    }

    /// Ends the queue for this reason, with a last message. Without the backup, the message stays as it is, and the answer says
    /// so.
    pub(super) async fn finish(
        &self,
        queue: &QueueId,
        reason: FinishReason,
        message: Option<Value>,
    ) -> Result<Value, Problem> {
        let entrance = match reason {
            FinishReason::Over => Entrance::Finished,
            FinishReason::SoldOut => Entrance::SoldOut,
            FinishReason::Cancelled => Entrance::Cancelled,
        };
        let beside = Map::from_iter(message.map(|message| ("message".to_owned(), message)));
        let mut result = self
            .change_switch(queue, "entrance", &beside, |_| Ok(json!(entrance)))
            .await?;
        if !result.stored && !beside.is_empty() {
            result.left_out = Some(beside.keys().cloned().collect());
        }
        Ok(to_value(result))
    }

    /// Changes the one setting of a switch, such as `paused` for `pause`. It also works while
    /// another stored setting is invalid, and leaves that one for its author to correct.
    pub(super) async fn switch(&self, queue: &QueueId, name: &str, value: Value) -> Result<Value, Problem> {
        let result = self
            .change_switch(queue, name, &Map::new(), |_| Ok(value.clone()))
            .await?;
        Ok(to_value(result))
    }

    /// Changes the one setting of a switch to what `change` returns, which gets all stored settings, and others `beside` it.
    pub(super) async fn change_stored_switch(
        &self,
        queue: &QueueId,
        name: &str,
        beside: &Map<String, Value>,
        change: &(impl Fn(&Map<String, Value>) -> Result<Value, Problem> + Send + Sync),
    ) -> Result<SettingsChange, Problem> {
        let change = |stored: &Map<String, Value>| {
            let mut changed = stored.clone();
            changed.insert(name.to_owned(), change(stored)?);
            changed.extend(beside.clone());
            Ok(changed)
        };
        let replaced = self.replace_stored_settings(queue, change).await?;
        let wrong = match build_configuration(&replaced.queue, self.policy) {
            Ok(configuration) => return self.apply_and_describe(queue, &replaced, configuration).await,
            Err(wrong) => wrong,
        };
        let configuration = keep_settings_with_stored_switches(&self.line, queue, &replaced.queue, &wrong)
            .await
            .map_err(|error| Problem::from(error).after_stored_settings())?;
        let result = self.apply_and_describe(queue, &replaced, configuration).await?;
        Ok(SettingsChange {
            stored_settings_problem: Some(wrong.to_string()),
            ..result
        })
    }

    /// What is known of the opening of the queue, as far as line and backup tell.
    async fn find_opening(&self, queue: &QueueId, stored: &StoredQueue) -> Opening {
        let view = self.line.queue_view(queue).await.ok();
        let by_line = view.as_ref().and_then(|view| view.find_opening());
        Opening {
            opened_at_ms: stored.metadata.opened_at_ms.or(by_line),
            has_line: view.is_some_and(|view| view.waiting > 0),
        }
    }

    /// Changes the stored settings by compare-and-swap.
    async fn replace_stored_settings(
        &self,
        queue: &QueueId,
        change: impl Fn(&Map<String, Value>) -> Result<Map<String, Value>, Problem> + Send + Sync,
    ) -> Result<ReplacedSettings, Problem> {
        self.save_switches(queue).await?;
        for _ in 0..ATTEMPTS_MAX {
            let stored = self.read_stored_queue(queue).await?;
            let settings = match stored.settings.as_map() {
                Some(map) => change(map)?,
                None => change(&self.settings_in_force(queue, &stored).await?)?,
            };
            // First: a process that is killed after this keeps times that no visitor was given, which does no harm.
            let Some(kept_times) = self.keep_times(queue, &stored, &settings).await? else {
                continue;
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
                let old = stored.settings.as_map().map(effective_settings);
                let settings_before =
                    changed_settings(&old.unwrap_or_default(), &effective_settings(&settings));
                let queue = StoredQueue {
                    settings: settings.into(),
                    settings_order,
                    metadata: QueueMetadata {
                        kept_times,
                        ..stored.metadata
                    },
                };
                return Ok(ReplacedSettings {
                    queue,
                    settings_before,
                });
            }
        }
        Err(Problem::settings_changed())
    }

    /// Records what the settings before a change have given out. Returns what the queue keeps of it; `None` if another
    /// process changed the queue meanwhile.
    async fn keep_times(
        &self,
        queue: &QueueId,
        stored: &StoredQueue,
        settings: &Map<String, Value>,
    ) -> Result<Option<KeptTimes>, Problem> {
        let before = stored.metadata.kept_times;
        let (Ok(old), Ok(new)) = (stored.settings.parse(), Settings::from_map(settings)) else {
            return Ok(Some(before));
        };
        let kept = before.after_change(&old, &new, vestibule_telemetry::clock::now_ms());
        let epoch = stored.metadata.epoch;
        let is_kept = kept == before || self.backup.replace_kept_times(queue, epoch, before, kept).await?;
        Ok(is_kept.then_some(kept))
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
        replaced: &ReplacedSettings,
        configuration: Configuration,
    ) -> Result<SettingsChange, Problem> {
        let how = apply_configuration(&self.line, &*self.backup, queue, &replaced.queue, &configuration)
            .await
            .map_err(|error| Problem::from(error).after_stored_settings())?
            .outcome;
        Ok(SettingsChange {
            queue: queue.to_string(),
            changed: matches!(how, ConfigureOutcome::Created | ConfigureOutcome::Changed),
            // The settings were stored, but a later change replaced them before they came into force.
            superseded: matches!(
                how,
                ConfigureOutcome::Superseded | ConfigureOutcome::SwitchesUnsaved
            ),
            stored: true,
            settings: configuration.settings.into(),
            settings_before: Some(replaced.settings_before.clone()),
            revision: configuration.revision,
            stored_settings_problem: None,
            left_out: None,
        })
    }
}

/// A queue whose stored settings a command has replaced.
struct ReplacedSettings {
    /// The queue as it is stored now.
    queue: StoredQueue,
    /// The settings that changed, as they were before.
    settings_before: Map<String, Value>,
}

/// What decides whether settings of the opening may still change.
#[derive(Default)]
struct Opening {
    /// When the queue opened, in Unix milliseconds; `None` if it has not, or no visitor has come yet.
    opened_at_ms: Option<u64>,
    /// Whether visitors wait.
    has_line: bool,
}

impl Opening {
    /// Refuses a time to open in the future for a queue that has opened: the line would ignore it.
    fn reject_second_opening(&self, new: &Settings) -> Result<(), Problem> {
        let is_late = new.opens_later(vestibule_telemetry::clock::now_ms());
        let Some(opened_at_ms) = self.opened_at_ms.filter(|_| is_late) else {
            return Ok(());
        };
        Err(refuse_setting(
            "opens_at_ms",
            format!(
                "has no effect, because the queue opened at {} and an opening cannot be undone; pause the queue, or begin a \
                 new one with the command reset",
                to_iso(opened_at_ms)
            ),
        ))
    }

    /// Refuses an end of the draw while visitors wait at drawn places, and a draw after the opening, which would publish
    /// the seed of a draw that never was.
    fn reject_change_of_draw(&self, draws_before: bool, new: &Settings) -> Result<(), Problem> {
        let draws = new.before_opening == BeforeOpening::Draw;
        let reason = match self.opened_at_ms {
            _ if draws == draws_before => return Ok(()),
            Some(opened_at_ms) if draws => format!(
                "comes too late, because the queue opened at {}; begin a new one with the command reset",
                to_iso(opened_at_ms)
            ),
            _ if draws_before && self.has_line => {
                "cannot change while visitors wait whose places were drawn; begin a new queue with the command reset"
                    .to_owned()
            }
            _ => return Ok(()),
        };
        Err(refuse_setting("before_opening", reason))
    }
}

fn refuse_setting(name: &str, reason: String) -> Problem {
    Problem::invalid_setting(&SettingsError {
        field: name.to_owned(),
        reason,
    })
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

/// What in the new settings could flood the protected service, if the stored ones did not already do so.
fn find_flood(stored: &Map<String, Value>, new: &Settings) -> Option<&'static str> {
    let old = Settings::from_map(stored).unwrap_or_default();
    if new.mode == Mode::Passthrough && old.mode != Mode::Passthrough {
        return Some("lets all visitors pass");
    }
    let is_flood = new.capacity / CAPACITY_FACTOR >= old.capacity;
    is_flood.then_some("makes the capacity ten times as large or more")
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
        // The other form of a time, which the order replaces.
        if let Some(field) = Field::find(name).filter(|field| field.field_type == FieldType::Time) {
            merged.remove(field.text_name());
        }
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
