//! Results about the settings and the life of queues.

use serde::Serialize;
use serde_json::{Map, Value};
use vestibule_domain::{
    clock::ClockDifference,
    queue_state::QueueState,
    settings::{Blocks, Settings},
};

use super::Build;

/// The result of `create` with one queue.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct CreatedQueue {
    /// The id of the queue.
    pub queue: String,
    /// True if the command made the queue, false if it existed with the same settings.
    pub created: bool,
    /// The prefix whose defaults are among the settings. Null if no prefix has defaults for the queue.
    pub defaults: Option<String>,
    /// The settings in force.
    #[cfg_attr(feature = "schemas", schemars(with = "Map<String, Value>"))]
    pub settings: Settings,
    /// Identifies the settings: an `update` with it is refused if one of them has changed since.
    pub revision: String,
    /// The epoch of the queue, which confirms commands.
    pub epoch: u32,
    /// The generation of the queue: 1, or the next one after a deletion.
    pub generation: u32,
}

/// The result of `create` with a list of queues.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct CreatedQueues {
    /// One row for each id, in the order of the command. An id that was given twice has one row.
    pub queues: Vec<CreationRow>,
    /// How many queues the command made.
    pub created: usize,
    /// How many queues existed with the same settings.
    pub existing: usize,
    /// How many queues could not be created. The same command again completes it.
    pub failed: usize,
}

/// What became of one queue of a `create`. It has `problem`, or the members of a queue that exists.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct CreationRow {
    /// The id as the command gave it, which need not be a text.
    pub queue: Value,
    #[allow(missing_docs)] // Its members are those of the row.
    #[serde(flatten)]
    pub new: Option<NewQueue>,
    /// Why the queue was not created, as problem details: `code`, `detail`, `field` and so on. Absent if it exists now.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schemas", schemars(with = "Map<String, Value>"))]
    pub problem: Option<Value>,
}

/// One queue of a `create` that exists now.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct NewQueue {
    /// True if the command made the queue, false if it existed with the same settings.
    pub created: bool,
    /// The prefix whose defaults are among the settings. Null if no prefix has defaults for the queue.
    #[cfg_attr(feature = "schemas", schemars(extend("x-null" = true)))]
    pub defaults: Option<String>,
    /// Identifies the settings: an `update` with it is refused if one of them has changed since.
    pub revision: String,
}

/// The result of `defaults` with a prefix, and a row of the result without one.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct PrefixDefaults {
    /// The beginning of the ids and a `*`.
    pub prefix: String,
    /// The settings that a new queue of the prefix gets, as they are stored. Null if there are none.
    #[cfg_attr(feature = "schemas", schemars(with = "Option<Map<String, Value>>"))]
    pub settings: Option<Value>,
    /// Whether the command replaced earlier defaults. Absent if it replaces none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replaced: Option<bool>,
    /// Whether there were defaults to remove. Absent if the command does not remove them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub removed: Option<bool>,
    /// Why a `create` of the prefix is refused, or why the item is ignored. Absent if the defaults are valid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// The result of `defaults` without a prefix.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct AllDefaults {
    /// The defaults of each prefix, in the order of the prefixes.
    pub defaults: Vec<PrefixDefaults>,
}

/// The result of a command that changes settings: `update`, `pause`, `resume`, `open`, `drain`, `close` and `finish`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SettingsChange {
    /// The id of the queue.
    pub queue: String,
    /// Whether the settings in force changed.
    pub changed: bool,
    /// True if a later change replaced the settings before they came into force.
    pub superseded: bool,
    /// Whether the backup has the change. While it is unavailable, a switch is in force in the line alone, and the promoter
    /// stores it later.
    pub stored: bool,
    /// The settings after the change.
    #[cfg_attr(feature = "schemas", schemars(with = "Map<String, Value>"))]
    pub settings: Box<Settings>,
    /// The settings that the command changed, as they were. An `update` with them and with `revision` sets the command back.
    /// Absent if `stored` is false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settings_before: Option<Map<String, Value>>,
    /// Identifies the settings: an `update` with it is refused if one of them has changed since.
    pub revision: String,
    /// What is wrong with another stored setting. The switch is in force all the same. Absent if all are valid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stored_settings_problem: Option<String>,
    /// The fields of the command that were not carried out, because `stored` is false: `message`. Otherwise absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<Vec<String>>,
}

/// The result of `block` and `unblock`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct BlockChange {
    /// The id of the queue.
    pub queue: String,
    /// The entry token of the visitor. Null if the command named a source.
    pub token: Option<String>,
    /// Whether the blocks in force changed.
    pub changed: bool,
    /// True if a later change replaced the blocks before they came into force.
    pub superseded: bool,
    /// The blocks of the queue: each has a `token` or a `source`, and `until_ms`, which is null for a block without an end.
    #[cfg_attr(feature = "schemas", schemars(schema_with = "crate::schemas::blocks"))]
    pub blocked: Blocks,
}

/// The result of `describe`. What only the line knows is null if the line does not have the queue.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct QueueDescription {
    /// The id of the queue.
    pub queue: String,
    /// The settings in force.
    #[cfg_attr(feature = "schemas", schemars(with = "Option<Map<String, Value>>"))]
    pub settings: Option<Settings>,
    /// Identifies the settings in force: an `update` with it is refused if one of them has changed since.
    pub revision: Option<String>,
    /// What the queue does.
    pub state: Option<QueueState>,
    /// When the queue opened, in Unix milliseconds. Null if it has not, or no visitor has come yet.
    pub opened_at_ms: Option<u64>,
    /// How the clocks of the line's server and of the admin function compare.
    pub clock: Option<ClockDifference>,
    /// The settings in the table, valid or not. They differ from those in force for some seconds after an edit, and for as long
    /// as they are invalid.
    pub stored_settings: Value,
    /// What is wrong with the stored settings. Null if they are valid.
    pub stored_settings_problem: Option<String>,
    /// The epoch of the queue, which confirms commands.
    pub epoch: u32,
    /// The generation of the queue. Each reset raises it.
    pub generation: u32,
    /// Passes with a lower epoch are void.
    pub min_epoch: u32,
    /// Which build answers.
    pub build: Build,
    /// Every setting that exists. Absent without `help`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fields: Option<Vec<SettingHelp>>,
    /// Every command. Absent without `help`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commands: Option<Vec<CommandHelp>>,
}

/// What a command is.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct CommandHelp {
    /// The value of `op`.
    pub op: &'static str,
    /// The names of the other fields, without those of a confirmation.
    pub arguments: Vec<&'static str>,
    /// Whether the command must repeat the queue's id and its epoch.
    pub needs_confirmation: bool,
    /// The least right for the command: `look`, `operate` or `end`.
    pub right: &'static str,
    /// What it does.
    pub meaning: &'static str,
}

/// What a setting is.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SettingHelp {
    /// The name of the setting.
    pub name: &'static str,
    /// The unit of its value.
    pub unit: &'static str,
    /// Which values it takes: from `min` to `max`, one of `words`, a `time`, an `address`, or up to a number of characters,
    /// languages, keys or blocks.
    #[cfg_attr(feature = "schemas", schemars(with = "Map<String, Value>"))]
    pub takes: Value,
    /// Its value if it is not set. Empty if that is no value.
    pub default: String,
    /// What it does.
    pub meaning: &'static str,
}

/// The result of `delete`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct DeletedQueue {
    /// The id of the queue.
    pub queue: String,
    /// True if this command deleted the queue, false if it completed an earlier deletion.
    pub deleted: bool,
    /// The last generation of the queue.
    pub generation: u32,
    /// Passes with a lower epoch are void, which are all of the queue.
    pub min_epoch: u32,
    /// When the queue was deleted, in Unix milliseconds.
    pub deleted_at_ms: u64,
    /// Until when the tombstone is kept, in Unix milliseconds.
    pub tombstone_until_ms: u64,
}

/// The result of `restore` and `reset`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct RestoredQueue {
    /// The id of the queue.
    pub queue: String,
    /// The new epoch of the queue, which confirms commands.
    pub epoch: u32,
    /// Passes with a lower epoch are void. A reset raises it.
    pub min_epoch: u32,
    /// The generation of the queue. A reset raises it.
    pub generation: u32,
    /// How many entries wait.
    pub waiting: usize,
    /// How many entries are ready.
    pub ready: usize,
    /// How many entries are active.
    pub active: usize,
    /// How many changes only the line had, which the backup has now.
    pub flushed_changes: usize,
}

/// The result of `check`: what differed between line and backup, and was repaired.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct CheckResult {
    /// The id of the queue.
    pub queue: String,
    /// Entries with a place in the line.
    pub checked_line: u64,
    /// Live entries in the backup.
    pub checked_table: u64,
    /// Places that the backup did not have.
    pub written: u64,
    /// Places that the backup had in another form than the line.
    pub rewritten: u64,
    /// Entries for which the backup had a later state (promoted, let in, or a longer session), which the line took over.
    pub adopted: u64,
    /// Places that the line had lost.
    pub restored: u64,
    /// Ends that the backup did not have, or that the line no longer had to remember.
    pub ended: u64,
    /// Places that the line still had after their end.
    pub removed: u64,
    /// Differences left to the next check, because a change was under way, or because neither side was certainly right.
    pub skipped: u64,
    /// Changes that the backup refuses, after one more try.
    pub dead_lettered: usize,
    /// What Redis does when its memory is full. It must be `noeviction`. `unknown` if Redis does not say.
    pub eviction_policy: String,
    /// True if the whole queue was compared.
    pub complete: bool,
    /// Where the check stopped: the `from_shard` of the next command. Null if `complete` is true.
    #[cfg_attr(feature = "schemas", schemars(range(max = 63)))]
    pub next_shard: Option<u8>,
}
