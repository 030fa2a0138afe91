//! The defaults of patterns in the store file: the settings in JSON.

use redb::{ReadTransaction, ReadableTable};
use serde_json::{Map, Value};
use vestibule_backup::{BackupError, StoredDefaults, StoredSettings};
use vestibule_domain::queue_pattern::QueuePattern;

use super::tables::{DEFAULTS, Tables, to_backup_error};

impl Tables<'_> {
    /// Adds, replaces or removes the defaults of a pattern. Returns whether it had some.
    pub(super) fn replace_defaults(
        &mut self,
        pattern: &QueuePattern,
        settings: Option<&Map<String, Value>>,
    ) -> Result<bool, BackupError> {
        let key = pattern.to_string();
        let before = match settings {
            Some(settings) => {
                let value = serde_json::to_vec(settings).map_err(|e| to_backup_error(&e))?;
                self.defaults.insert(key.as_str(), value.as_slice())
            }
            None => self.defaults.remove(key.as_str()),
        };
        Ok(before.map_err(|e| to_backup_error(&e))?.is_some())
    }
}

/// The defaults of all patterns.
pub(super) fn read_defaults(transaction: &ReadTransaction) -> Result<Vec<StoredDefaults>, BackupError> {
    let table = transaction
        .open_table(DEFAULTS)
        .map_err(|e| to_backup_error(&e))?;
    let all = table.iter().map_err(|e| to_backup_error(&e))?;
    all.map(|found| {
        let (pattern, settings) = found.map_err(|e| to_backup_error(&e))?;
        Ok(StoredDefaults {
            pattern: pattern.value().to_owned(),
            settings: serde_json::from_slice::<Map<String, Value>>(settings.value())
                .map_or(StoredSettings::Missing, StoredSettings::Map),
        })
    })
    .collect()
}
