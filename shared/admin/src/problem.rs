//! Why a command was not carried out, as problem details (RFC 9457). An operator reads the detail
//! and must learn from it what to do next.

use std::borrow::Cow;

use serde_json::{Map, Value, json};
use vestibule_backup::BackupError;
use vestibule_domain::{
    id::{IdError, OtherRootKey},
    key_ring::RotationUnderWay,
    pace::LimitedBy,
    queue_pattern::QueuePattern,
    queue_state::QueueState,
    right::Right,
    settings::SettingsError,
    state::EntryState,
    tombstone::Tombstone,
};
use vestibule_engine::{
    check::CheckError, deletion::DeletionError, key_store::KeyStoreError, restore::RestoreError,
    sync::SyncError,
};
use vestibule_line::LineError;
use vestibule_wire::Code;

use super::{change_words::describe_changes, limit_advice::explain_limit};

/// The member with the settings that have changed since the revision of a command.
const OVERTAKEN: &str = "changed";

/// A problem that an operator can act upon. On the heap, because nearly every function may return one.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem(Box<vestibule_wire::Problem>);

impl From<vestibule_wire::Problem> for Problem {
    fn from(answer: vestibule_wire::Problem) -> Self {
        Self(Box::new(answer))
    }
}

impl Problem {
    fn new(code: Code, detail: impl Into<Cow<'static, str>>) -> Self {
        vestibule_wire::Problem::new(code, detail).into()
    }

    fn usual(code: Code) -> Self {
        vestibule_wire::Problem::usual(code).into()
    }

    fn with_member(self, name: &str, value: impl Into<Value>) -> Self {
        self.0.with_member(name, value).into()
    }

    fn of_field(self, field: &str) -> Self {
        self.0.of_field(field).into()
    }

    /// A field of the command is unknown, missing or invalid.
    pub(super) fn invalid_field(field: &str, reason: impl AsRef<str>) -> Self {
        let detail = format!("{field}: {}", reason.as_ref());
        Self::new(Code::InvalidCommand, detail).of_field(field)
    }

    pub(super) fn not_an_object() -> Self {
        let detail = "a command must be a JSON object such as {\"op\": \"list\"}";
        Self::new(Code::InvalidCommand, detail)
    }

    pub(super) fn invalid_setting(error: &SettingsError) -> Self {
        Self::new(Code::InvalidSetting, error.to_string()).of_field(&error.field)
    }

    pub(super) fn invalid_stored_setting(error: &SettingsError) -> Self {
        let detail = format!("correct this stored setting with the command update: {error}");
        Self::new(Code::InvalidStoredSetting, detail).of_field(&error.field)
    }

    pub(super) fn invalid_defaults(pattern: &QueuePattern, error: &SettingsError) -> Self {
        let detail = format!(
            "correct the defaults of {pattern} with the command defaults, or in the queues table: {error}"
        );
        Self::new(Code::InvalidStoredSetting, detail)
            .of_field(&error.field)
            .with_member("defaults", pattern.to_string())
    }

    /// The command had no time left for this part of it.
    pub(super) fn no_time_left() -> Self {
        let detail = "the command had no time left for this queue; give the same command again";
        Self::new(Code::BackupUnavailable, detail)
    }

    /// The root key cannot be read, for this reason.
    pub(super) fn root_key_unavailable(reason: &str) -> Self {
        let detail = format!(
            "name the entry by its token, because the entry of a visitor cannot be found without the root key: {reason}"
        );
        Self::new(Code::KeysUnavailable, detail)
    }

    /// The root key is another one than that of the queue.
    fn other_root_key(error: &OtherRootKey) -> Self {
        let detail = format!("put the former root key back, or reset the queue: {error}");
        Self::new(Code::OtherRootKey, detail)
    }

    pub(super) fn unknown_queue() -> Self {
        Self::new(
            Code::UnknownQueue,
            "check the name with the command list, or create the queue with the command create",
        )
    }

    pub(super) fn queue_deleted(tombstone: &Tombstone) -> Self {
        let detail = "the queue was deleted; create it again with the command create, if it is needed";
        let problem = vestibule_wire::Problem {
            min_epoch: Some(tombstone.epoch),
            ..vestibule_wire::Problem::new(Code::QueueDeleted, detail)
        };
        problem
            .with_member("deleted_at_ms", tombstone.deleted_at_ms)
            .into()
    }

    pub(super) fn queue_exists() -> Self {
        Self::usual(Code::QueueExists).of_field("queue")
    }

    pub(super) fn confirmation_needed(op: &str, field: &str, queue: &str, epoch: u32) -> Self {
        let detail =
            format!("to confirm {op}, add the fields \"confirm\": \"{queue}\" and \"epoch\": {epoch}");
        Self::new(Code::ConfirmationNeeded, detail)
            .of_field(field)
            .with_member("expected", json!({ "confirm": queue, "epoch": epoch }))
    }

    /// The caller's alias does not allow the command.
    pub(super) fn right_needed(what: &str, needed: Right) -> Self {
        let alias = needed.name();
        let detail = format!(
            "{what} needs the right \"{alias}\"; invoke the alias \"{alias}\" of this function, if IAM lets you"
        );
        Self::new(Code::RightNeeded, detail).with_member("needed", alias)
    }

    /// Whether the command lacks its confirmation.
    pub(super) fn needs_confirmation(&self) -> bool {
        self.0.code == Code::ConfirmationNeeded
    }

    /// Whether the backup did not answer, or throttles.
    pub(super) fn is_of_absent_backup(&self) -> bool {
        self.0.code == Code::BackupUnavailable
    }

    /// Whether the command itself is at fault.
    pub(super) fn is_of_command(&self) -> bool {
        self.0.status < 500
    }

    /// The problem with the number of entries that the command would change.
    pub(super) fn with_matching(self, matching: Value) -> Self {
        self.with_member("matching", matching)
    }

    /// The setting has commands of its own.
    pub(super) fn setting_of_commands(name: &str, commands: &str) -> Self {
        let detail = format!("{name}: change it with the commands {commands}");
        Self::new(Code::InvalidSetting, detail).of_field(name)
    }

    pub(super) fn unknown_entry() -> Self {
        let detail =
            "the queue has no entry with this token or visitor id; inspect shows what the backup has of it";
        Self::new(Code::UnknownEntry, detail)
    }

    /// The entry was promoted or let in, so it has no place in line.
    pub(super) fn not_waiting(state: EntryState) -> Self {
        let detail = format!(
            "the entry is {}, so it has no place in line any more",
            state.name()
        );
        let problem = vestibule_wire::Problem {
            state: Some(state),
            ..vestibule_wire::Problem::new(Code::NotWaiting, detail)
        };
        problem.into()
    }

    /// The line did not promote the entry.
    pub(super) fn not_promoted(limit: LimitedBy, state: QueueState) -> Self {
        Self::new(Code::NotPromoted, explain_limit(limit, state)).with_member("limited_by", limit.name())
    }

    pub(super) fn rotated_by_another_command() -> Self {
        Self::new(
            Code::RotationUnderWay,
            "another command rotated the keys at the same time, and its key is in force",
        )
    }

    pub(super) fn settings_changed() -> Self {
        Self::usual(Code::SettingsChanged)
    }

    /// Settings that the command wants to change have changed since the operator has seen them. They are given as they are now.
    pub(super) fn overtaken(settings: &Map<String, Value>) -> Self {
        let names: Vec<_> = settings.keys().map(String::as_str).collect();
        let detail = format!("changed since the revision of this command: {}", names.join(", "));
        let first = names.first().copied().unwrap_or_default();
        Self::new(Code::SettingsChanged, detail)
            .of_field(first)
            .with_member(OVERTAKEN, settings.clone())
    }

    /// The settings of [`overtaken`](Self::overtaken); `None` of any other problem.
    pub(super) fn overtaken_settings(&self) -> Option<Map<String, Value>> {
        self.0.for_operators.get(OVERTAKEN)?.as_object().cloned()
    }

    /// Names who changed the settings of an [overtaken](Self::overtaken) command.
    pub(super) fn with_overtakers(mut self, changes: Vec<Value>) -> Self {
        self.0.detail = format!(
            "{}; read the settings with describe, and give the command again with the new revision if you still want it",
            describe_changes(&changes)
        )
        .into();
        self.with_member(OVERTAKEN, changes)
    }

    pub(super) fn epoch_changed() -> Self {
        Self::usual(Code::EpochChanged)
    }

    /// Says in the detail that the new generation is stored, but the line does not have it yet.
    pub(super) fn after_stored_reset(self) -> Self {
        self.after(
            "the reset is stored, but was not applied to the line; the promoter applies it when it can",
        )
    }

    /// Says in the detail that the settings are stored, but the line did not take them.
    pub(super) fn after_stored_settings(self) -> Self {
        self.after("the settings are stored, but were not applied to the line; the promoter applies them when it can")
    }

    /// Says in the detail that the deletion is stored, but the line still has the queue.
    fn after_stored_deletion(self) -> Self {
        self.after(
            "the deletion is stored, but the line still has the queue; the promoter removes it when it can",
        )
    }

    fn after(mut self, done: &str) -> Self {
        self.0.detail = format!("{done}: {}", self.0.detail).into();
        self
    }

    /// The stable, machine-readable name of the problem.
    pub fn code(&self) -> &'static str {
        self.0.code.name()
    }

    /// The problem as a JSON object.
    pub fn to_value(&self) -> Value {
        self.0.to_value()
    }
}

impl From<OtherRootKey> for Problem {
    fn from(error: OtherRootKey) -> Self {
        Self::other_root_key(&error)
    }
}

impl From<LineError> for Problem {
    fn from(error: LineError) -> Self {
        match error {
            LineError::QueueNotFound => {
                let detail =
                    "the line has lost this queue; the promoter restores it within seconds, so try again";
                Self::new(Code::Recovering, detail)
            }
            LineError::Unavailable(_) | LineError::Full(_) => {
                Self::new(Code::LineUnavailable, error.to_string())
            }
            LineError::Protocol(_) => Self::new(Code::Internal, error.to_string()),
            LineError::JournalFull => Self::new(Code::BackupBehind, error.to_string()),
        }
    }
}

impl From<KeyStoreError> for Problem {
    fn from(error: KeyStoreError) -> Self {
        let code = match &error {
            KeyStoreError::Unavailable(_) => Code::KeysUnavailable,
            KeyStoreError::Invalid(_) => Code::Internal,
            KeyStoreError::Fixed => Code::KeyFixed,
        };
        Self::new(code, error.to_string())
    }
}

impl From<RotationUnderWay> for Problem {
    fn from(error: RotationUnderWay) -> Self {
        let detail = format!("{error}; give the command again after that time");
        Self::new(Code::RotationUnderWay, detail).with_member("signs_from_ms", error.signs_from_ms)
    }
}

impl From<BackupError> for Problem {
    fn from(error: BackupError) -> Self {
        let code = match error {
            BackupError::Unavailable(_) | BackupError::Throttled(_) => Code::BackupUnavailable,
            BackupError::Unreadable(_) => Code::Internal,
        };
        Self::new(code, error.to_string())
    }
}

impl From<DeletionError> for Problem {
    fn from(error: DeletionError) -> Self {
        match error {
            DeletionError::Backup(error) => error.into(),
            DeletionError::Line(error) => Self::from(error).after_stored_deletion(),
        }
    }
}

impl From<CheckError> for Problem {
    fn from(error: CheckError) -> Self {
        match error {
            CheckError::Line(error) => error.into(),
            CheckError::Backup(error) => error.into(),
            CheckError::Reset => Self::new(Code::QueueReset, error.to_string()),
            CheckError::JournalBehind => Self::new(Code::BackupBehind, error.to_string()),
        }
    }
}

impl From<SyncError> for Problem {
    fn from(error: SyncError) -> Self {
        match error {
            SyncError::Line(error) => error.into(),
            SyncError::Backup(error) => error.into(),
            SyncError::NotRestorable(error) => Self::invalid_stored_setting(&error),
            SyncError::EpochBehind { .. } => Self::new(Code::EpochBehind, error.to_string()),
            SyncError::Restore(error) => error.into(),
        }
    }
}

impl From<RestoreError> for Problem {
    fn from(error: RestoreError) -> Self {
        let detail = error.to_string();
        Self::new(Code::Recovering, detail)
    }
}

impl Problem {
    pub(super) fn invalid_id(field: &str, error: &IdError) -> Self {
        Self::invalid_field(field, error.to_string())
    }
}
