//! Why a setting was refused.

/// A setting that was refused, and the reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {reason}")]
pub struct SettingsError {
    /// The name of the setting, as the operator wrote it.
    pub field: String,
    /// What a valid value looks like.
    pub reason: String,
}

pub(super) fn setting_error(field: &str, reason: impl Into<String>) -> SettingsError {
    SettingsError {
        field: field.to_owned(),
        reason: reason.into(),
    }
}
