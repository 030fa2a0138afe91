//! Why an order was not carried out, in the form of RFC 9457.

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
    more: Map<String, Value>,
}

impl Problem {
    fn new(status: u16, code: &'static str, title: &'static str, detail: impl Into<String>) -> Self {
        Self {
            status,
            code,
            title,
            detail: detail.into(),
            more: Map::new(),
        }
    }

    fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.more.insert(name.to_owned(), value.into());
        self
    }

    /// A field of the order that is unknown, missing or wrong.
    pub(super) fn field(field: &str, reason: impl AsRef<str>) -> Self {
        let detail = format!("{field}: {}", reason.as_ref());
        Self::new(400, "invalid-order", "The order is not valid", detail).with("field", field)
    }

    pub(super) fn not_an_object() -> Self {
        let detail = "an order is a JSON object such as {\"op\": \"list\"}";
        Self::new(400, "invalid-order", "The order is not valid", detail)
    }

    pub(super) fn setting(error: &SettingsError) -> Self {
        Self::new(400, "invalid-setting", "A setting was refused", error.to_string())
            .with("field", &*error.field)
    }

    pub(super) fn stored_setting(error: &SettingsError) -> Self {
        let detail =
            format!("the stored settings are wrong, name this one in an update to correct it: {error}");
        Self::new(
            409,
            "invalid-stored-setting",
            "The stored settings are wrong",
            detail,
        )
        .with("field", &*error.field)
    }

    pub(super) fn unknown_queue() -> Self {
        Self::new(
            404,
            "unknown-queue",
            "There is no such queue",
            "create it first, or see what there is with list",
        )
    }

    pub(super) fn queue_exists() -> Self {
        let detail = "there is a queue of this id with other settings: change them with update";
        Self::new(409, "queue-exists", "The queue exists", detail).with("field", "queue")
    }

    pub(super) fn unconfirmed(op: &str, field: &str, queue: &str, epoch: u32) -> Self {
        let detail = format!("{op} wants \"confirm\": \"{queue}\" and the current \"epoch\": {epoch}");
        Self::new(409, "confirmation-needed", "The order must be confirmed", detail)
            .with("field", field)
            .with("expected", json!({ "confirm": queue, "epoch": epoch }))
    }

    pub(super) fn no_such_entry() -> Self {
        let detail =
            "nobody with this token or visitor id stands in this queue: inspect tells what the backup knows";
        Self::new(404, "unknown-entry", "There is no such entry", detail)
    }

    pub(super) fn busy() -> Self {
        let detail = "somebody else changed the settings again and again meanwhile: look with describe, then try again";
        Self::new(409, "settings-changed", "The settings changed meanwhile", detail)
    }

    pub(super) fn epoch_changed() -> Self {
        let detail = "the queue was put back or reset meanwhile: look with describe, then try again";
        Self::new(409, "epoch-changed", "The epoch changed meanwhile", detail)
    }

    /// The new generation is stored, but the line does not have it yet.
    pub(super) fn reset_only(&self) -> Self {
        let detail = format!(
            "the reset is stored, and the promoter puts it in force when it can: {}",
            self.detail
        );
        Self {
            detail,
            ..self.clone()
        }
    }

    /// The settings are stored, but the line did not take them.
    pub(super) fn stored_only(&self) -> Self {
        let detail = format!(
            "the settings are stored, and the promoter puts them in force when it can: {}",
            self.detail
        );
        Self {
            detail,
            ..self.clone()
        }
    }

    /// Its stable name.
    pub fn code(&self) -> &'static str {
        self.code
    }

    /// As JSON.
    pub fn to_value(&self) -> Value {
        let mut object = self.more.clone();
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
            LineError::Unknown => {
                let detail = "the line does not have this queue at the moment: the promoter puts it back within seconds";
                Self::new(503, "recovering", "The queue is being put back", detail)
            }
            LineError::Unavailable(_) => Self::new(
                503,
                "line-unavailable",
                "The line does not answer",
                error.to_string(),
            ),
            LineError::Nonsense(_) => {
                Self::new(500, "internal", "The line makes no sense", error.to_string())
            }
            LineError::JournalFull => {
                Self::new(503, "backup-behind", "The backup is behind", error.to_string())
            }
        }
    }
}

impl From<BackupError> for Problem {
    fn from(error: BackupError) -> Self {
        let (status, code, title) = match error {
            BackupError::Unavailable(_) | BackupError::Throttled(_) => {
                (503, "backup-unavailable", "The backup does not answer")
            }
            BackupError::Nonsense(_) => (500, "internal", "The backup makes no sense"),
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
            CheckError::Behind => Self::new(503, "backup-behind", "The backup is behind", error.to_string()),
        }
    }
}

impl From<SyncError> for Problem {
    fn from(error: SyncError) -> Self {
        match error {
            SyncError::Line(error) => error.into(),
            SyncError::Backup(error) => error.into(),
            SyncError::Stuck(error) => Self::stored_setting(&error),
            SyncError::Ahead { .. } => Self::new(
                409,
                "epoch-behind",
                "The stored queue is of an earlier epoch than the line",
                error.to_string(),
            ),
            SyncError::Restore(error) => error.into(),
        }
    }
}

impl From<RestoreError> for Problem {
    fn from(error: RestoreError) -> Self {
        let detail = error.to_string();
        Self::new(503, "recovering", "The queue is being put back", detail)
    }
}

impl Problem {
    pub(super) fn id(field: &str, error: &IdError) -> Self {
        Self::field(field, error.to_string())
    }
}
