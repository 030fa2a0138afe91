//! Why a command was not carried out, as problem details (RFC 9457). An operator reads the detail and must
//! learn from it what to do next.

use serde_json::{Map, Value, json};
use vestibule_backup::BackupError;
use vestibule_domain::{id::IdError, settings::SettingsError};
use vestibule_engine::{check::CheckError, restore::RestoreError, sync::SyncError};
use vestibule_line::LineError;

/// A problem that an operator can act upon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    status: u16,
    code: &'static str,
    title: &'static str,
    detail: String,
    members: Map<String, Value>,
}

impl Problem {
    fn new(status: u16, code: &'static str, title: &'static str, detail: impl Into<String>) -> Self {
        Self {
            status,
            code,
            title,
            detail: detail.into(),
            members: Map::new(),
        }
    }

    fn with_member(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.members.insert(name.to_owned(), value.into());
        self
    }

    /// A field of the command is unknown, missing or invalid.
    pub(super) fn invalid_field(field: &str, reason: impl AsRef<str>) -> Self {
        let detail = format!("{field}: {}", reason.as_ref());
        Self::new(400, "invalid-command", "The command is not valid", detail).with_member("field", field)
    }

    pub(super) fn not_an_object() -> Self {
        let detail = "a command must be a JSON object such as {\"op\": \"list\"}";
        Self::new(400, "invalid-command", "The command is not valid", detail)
    }

    pub(super) fn invalid_setting(error: &SettingsError) -> Self {
        Self::new(
            400,
            "invalid-setting",
            "A setting is not valid",
            error.to_string(),
        )
        .with_member("field", &*error.field)
    }

    pub(super) fn invalid_stored_setting(error: &SettingsError) -> Self {
        let detail = format!("correct this stored setting with the command update: {error}");
        Self::new(
            409,
            "invalid-stored-setting",
            "A stored setting is not valid",
            detail,
        )
        .with_member("field", &*error.field)
    }

    pub(super) fn unknown_queue() -> Self {
        Self::new(
            404,
            "unknown-queue",
            "The queue does not exist",
            "check the name with the command list, or create the queue with the command create",
        )
    }

    pub(super) fn queue_exists() -> Self {
        let detail =
            "a queue with this id exists and has other settings; change them with the command update";
        Self::new(409, "queue-exists", "The queue already exists", detail).with_member("field", "queue")
    }

    pub(super) fn confirmation_needed(op: &str, field: &str, queue: &str, epoch: u32) -> Self {
        let detail =
            format!("to confirm {op}, add the fields \"confirm\": \"{queue}\" and \"epoch\": {epoch}");
        Self::new(
            409,
            "confirmation-needed",
            "The command must be confirmed",
            detail,
        )
        .with_member("field", field)
        .with_member("expected", json!({ "confirm": queue, "epoch": epoch }))
    }

    pub(super) fn unknown_entry() -> Self {
        let detail =
            "the queue has no entry with this token or visitor id; inspect shows what the backup has of it";
        Self::new(404, "unknown-entry", "The entry does not exist", detail)
    }

    pub(super) fn settings_changed() -> Self {
        let detail =
            "other changes of the settings kept interfering; read the settings with describe, then try again";
        Self::new(
            409,
            "settings-changed",
            "The settings changed during the command",
            detail,
        )
    }

    pub(super) fn epoch_changed() -> Self {
        let detail =
            "the queue was restored or reset meanwhile; read the new epoch with describe, then try again";
        Self::new(
            409,
            "epoch-changed",
            "The epoch changed during the command",
            detail,
        )
    }

    /// Says in the detail that the new generation is stored, but the line does not have it yet.
    pub(super) fn after_stored_reset(&self) -> Self {
        let detail = format!(
            "the reset is stored, but was not applied to the line; the promoter applies it when it can: {}",
            self.detail
        );
        Self {
            detail,
            ..self.clone()
        }
    }

    /// Says in the detail that the settings are stored, but the line did not take them.
    pub(super) fn after_stored_settings(&self) -> Self {
        let detail = format!(
            "the settings are stored, but were not applied to the line; the promoter applies them when it can: {}",
            self.detail
        );
        Self {
            detail,
            ..self.clone()
        }
    }

    /// The stable, machine-readable name of the problem.
    pub fn code(&self) -> &'static str {
        self.code
    }

    /// The problem as a JSON object.
    pub fn to_value(&self) -> Value {
        let mut object = self.members.clone();
        object.insert(
            "type".to_owned(),
            format!("urn:problem-type:vestibule:{}", self.code).into(),
        );
        object.insert("title".to_owned(), self.title.into());
        object.insert("status".to_owned(), self.status.into());
        object.insert("code".to_owned(), self.code.into());
        object.insert("detail".to_owned(), self.detail.clone().into());
        object.into()
    }
}

impl From<LineError> for Problem {
    fn from(error: LineError) -> Self {
        match error {
            LineError::QueueNotFound => {
                let detail =
                    "the line has lost this queue; the promoter restores it within seconds, so try again";
                Self::new(503, "recovering", "The queue is being restored", detail)
            }
            LineError::Unavailable(_) => Self::new(
                503,
                "line-unavailable",
                "The line does not answer",
                error.to_string(),
            ),
            LineError::Protocol(_) => Self::new(
                500,
                "internal",
                "The line gave an invalid answer",
                error.to_string(),
            ),
            LineError::JournalFull => Self::new(
                503,
                "backup-behind",
                "The backup is too far behind",
                error.to_string(),
            ),
        }
    }
}

impl From<BackupError> for Problem {
    fn from(error: BackupError) -> Self {
        let (status, code, title) = match error {
            BackupError::Unavailable(_) | BackupError::Throttled(_) => {
                (503, "backup-unavailable", "The backup does not answer")
            }
            BackupError::Unreadable(_) => (500, "internal", "The backup holds invalid data"),
        };
        Self::new(status, code, title, error.to_string())
    }
}

impl From<CheckError> for Problem {
    fn from(error: CheckError) -> Self {
        match error {
            CheckError::Line(error) => error.into(),
            CheckError::Backup(error) => error.into(),
            CheckError::Reset => Self::new(409, "queue-reset", "The queue was reset", error.to_string()),
            CheckError::JournalBehind => Self::new(
                503,
                "backup-behind",
                "The backup is too far behind",
                error.to_string(),
            ),
        }
    }
}

impl From<SyncError> for Problem {
    fn from(error: SyncError) -> Self {
        match error {
            SyncError::Line(error) => error.into(),
            SyncError::Backup(error) => error.into(),
            SyncError::NotRestorable(error) => Self::invalid_stored_setting(&error),
            SyncError::EpochBehind { .. } => Self::new(
                409,
                "epoch-behind",
                "The stored queue has an earlier epoch than the line",
                error.to_string(),
            ),
            SyncError::Restore(error) => error.into(),
        }
    }
}

impl From<RestoreError> for Problem {
    fn from(error: RestoreError) -> Self {
        let detail = error.to_string();
        Self::new(503, "recovering", "The queue is being restored", detail)
    }
}

impl Problem {
    pub(super) fn invalid_id(field: &str, error: &IdError) -> Self {
        Self::invalid_field(field, error.to_string())
    }
}
