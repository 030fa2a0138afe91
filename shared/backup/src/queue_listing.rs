//! All queues of the backup at one moment.

use vestibule_domain::{id::QueueId, tombstone::Tombstone};

use super::queue_fingerprint::QueueFingerprint;

/// All queues, as of the last acknowledged write.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QueueListing {
    /// The queues with the fingerprints of what is stored of each. A queue with damaged data is in the list too.
    pub queues: Vec<(QueueId, QueueFingerprint)>,
    /// The deleted queues.
    pub deleted: Vec<(QueueId, Tombstone)>,
}
