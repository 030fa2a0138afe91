//! The fingerprint of a stored queue, by which the promoter notices a change without reading the queue.

use serde_json::json;

use super::{backup_error::BackupError, stored_queue::StoredQueue, stored_settings::json_fingerprint};

/// Identifies what is stored of a queue, apart from what the promoter itself writes every few seconds: the
/// watermark and the lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueFingerprint(String);

impl QueueFingerprint {
    /// The fingerprint of what a backup read of a queue, valid or not.
    pub fn of_stored(stored: Result<&StoredQueue, &BackupError>) -> Self {
        let value = match stored {
            Ok(StoredQueue {
                settings,
                settings_order,
                metadata,
            }) => json!([
                settings.fingerprint(),
                settings_order,
                metadata.layout,
                metadata.epoch,
                metadata.generation,
                metadata.min_epoch,
                metadata.salt.to_text(),
                metadata.salt.root().map(|root| root.to_string()),
                metadata.opened_at_ms,
            ]),
            Err(error) => json!(error.to_string()),
        };
        Self(json_fingerprint(&value))
    }
}
