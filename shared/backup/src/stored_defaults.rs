//! The defaults of a pattern as the backup stores them, written by Vestibule or by an operator.

use super::stored_settings::StoredSettings;

/// The settings that a new queue gets if its id matches a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredDefaults {
    /// The pattern as stored, for example `TICKET:*`. An operator may have written any other text.
    pub pattern: String,
    /// The settings as last written, valid or not.
    pub settings: StoredSettings,
}
