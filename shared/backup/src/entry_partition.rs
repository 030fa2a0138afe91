//! Where the entries of one generation of a queue are.

use vestibule_domain::{configuration::Configuration, id::QueueId, record::PutRules};

/// The partition of the backup that holds the entries of one generation of one queue.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EntryPartition {
    /// The queue.
    pub queue: QueueId,
    /// The generation of the queue. A reset starts a new generation; the time to live deletes the
    /// old one.
    pub generation: u32,
    /// How long the backup keeps the record of an ended entry, in hours.
    pub retain_hours: u32,
    /// The grace, in seconds: a visitor who missed the turn and enters again within it gets the old
    /// place.
    pub grace_seconds: u32,
}

impl EntryPartition {
    /// The key under which a table keeps the entries of one shard: queue, generation and shard.
    pub fn shard_key(&self, shard: u8) -> String {
        // A queue id contains no '#', so two partitions never share a key.
        format!("{}#{}#{shard}", self.queue, self.generation)
    }

    /// The partition for the generation of this configuration.
    pub fn from_configuration(queue: &QueueId, configuration: &Configuration) -> Self {
        Self {
            queue: queue.clone(),
            generation: configuration.generation,
            retain_hours: configuration.settings.retain_hours,
            grace_seconds: configuration.settings.grace_seconds,
        }
    }

    /// The settings on which every write to this partition depends.
    pub fn put_rules(&self) -> PutRules {
        PutRules {
            grace_seconds: self.grace_seconds,
            retain_hours: self.retain_hours,
        }
    }
}
