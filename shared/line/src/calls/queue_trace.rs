//! Finds what Redis has of a queue, with plain commands: its configuration, the mark of a restore, or its tombstone.

use redis::Pipeline;
use vestibule_domain::{id::QueueId, tombstone::Tombstone};

use super::{Line, connect::Request, keys::Keys};
use crate::{LineError, QueueTrace};

/// The epoch and the generation that a hash has, if it has them.
type Epochs = (Option<u32>, Option<u32>);
/// The same of a configuration, and the name of the backup that it is from.
type ConfiguredEpochs = (Option<u32>, Option<u32>, Option<String>);
/// The same of a tombstone, and when the queue was deleted.
type BuriedEpochs = (Option<u32>, Option<u32>, Option<u64>);

impl Line {
    /// Returns what the line has of a queue that the backup does not have. It never fails with
    /// [`LineError::QueueNotFound`].
    pub async fn find_trace(&self, queue: &QueueId) -> Result<QueueTrace, LineError> {
        let keys = Keys::new(queue);
        let mut reads = Pipeline::with_capacity(3);
        reads
            .cmd("HMGET")
            .arg(keys.key("config"))
            .arg(&["epoch", "generation", "backup"]);
        reads
            .cmd("HMGET")
            .arg(keys.key("lost"))
            .arg(&["epoch", "generation"]);
        reads
            .cmd("HMGET")
            .arg(keys.key("tombstone"))
            .arg(&["epoch", "generation", "deleted_at_ms"]);
        let (config, lost, tombstone): (ConfiguredEpochs, Epochs, BuriedEpochs) =
            self.connection.send(Request::Pipeline(&reads)).await?;
        // A restore of a queue that Redis had lost has no generation.
        if let (Some(epoch), Some(generation)) = (config.0.max(lost.0), config.1.or(lost.1)) {
            let is_own = config.2.is_some_and(|name| *name == *self.backup_name);
            return Ok(QueueTrace::Queue {
                epoch,
                generation,
                is_own,
            });
        }
        Ok(match tombstone {
            (Some(epoch), Some(generation), Some(deleted_at_ms)) => QueueTrace::Deleted(Tombstone {
                epoch,
                generation,
                deleted_at_ms,
            }),
            _ => QueueTrace::None,
        })
    }
}
