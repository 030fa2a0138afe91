//! Entries and changes for the suites. Each test gets new ones, so that no test meets the data of another.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;
use uuid::{Builder, Uuid};
use vestibule_backup::{Backup, EntryPartition};
use vestibule_domain::{
    change::{Change, Event, Version},
    id::{EntryId, QueueId},
    score::WaitScore,
};

use crate::lines::fresh_queue;

/// The entry partition of the first generation of a new queue.
pub fn fresh_partition() -> EntryPartition {
    partition_of(fresh_queue())
}

/// The entry partition of the first generation of a queue that has the default settings.
pub fn partition_of(queue: QueueId) -> EntryPartition {
    EntryPartition {
        queue,
        generation: 1,
        retain_hours: 24,
        grace_seconds: 600,
    }
}

/// The entry id of a new visitor.
///
/// # Panics
/// Never: the text is a valid UUID.
pub fn fresh_id() -> EntryId {
    let uuid = Builder::from_custom_bytes(*Uuid::new_v4().as_bytes()).into_uuid();
    uuid.to_string().parse().expect("a UUID of version 8")
}

/// Now, in Unix milliseconds.
///
/// # Panics
/// If the clock of the machine is before 1970.
pub fn now_ms() -> u64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    u64::try_from(since_1970.as_millis()).expect("before the year 500,000,000")
}

/// The place of the `n`-th visitor who enters now.
pub fn place(n: u64) -> WaitScore {
    WaitScore::next(0, now_ms() + n)
}

/// A change with version `v` of epoch 1, made `v` milliseconds from now.
pub fn change(id: EntryId, v: u64, event: Event) -> Change {
    Change {
        id,
        version: Version { epoch: 1, v },
        at_ms: now_ms() + v,
        event,
        source: None,
    }
}

/// Writes all of these changes to the backup. Repeats the writes that fail.
///
/// # Panics
/// If the backup does not accept all of them within a minute.
pub async fn write_all(backup: &dyn Backup, partition: &EntryPartition, changes: &[Change]) {
    let until = Instant::now() + Duration::from_mins(1);
    let mut left = changes.to_vec();
    while !left.is_empty() {
        assert!(
            Instant::now() < until,
            "the backup did not accept {} changes within a minute",
            left.len()
        );
        // On a busy machine the emulator may answer too late. A repeated write changes nothing.
        let outcomes = backup.put_changes(partition, &left, until).await;
        let mut outcomes = outcomes.iter();
        left.retain(|_| outcomes.next().is_some_and(Result::is_err));
    }
}
