//! The first read of the consistency check: finds the entries that the line and the backup show
//! differently. It reads one after the other while both change, so a difference found here is only
//! a suspicion.

use std::{collections::HashMap, ops::Range};

use futures_util::{StreamExt, TryStreamExt, stream};
use tokio::time::sleep;
use vestibule_backup::{Backup, EntryPartition};
use vestibule_domain::{
    change::Change, entry_status::StoredEntry, fact::Fact, id::EntryId, record::EntryRecord,
};
use vestibule_line::{Cursor, Line};

use super::summary::{CheckConfig, CheckError, CheckSummary};

/// How many shards of the backup are read concurrently.
const SHARDS_AT_ONCE: usize = 4;

/// What the first read observed of one entry.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct EntryObservation {
    /// The entry in the line.
    pub(super) entry: Option<StoredEntry>,
    /// An end that the line remembers because the backup may not have it.
    pub(super) end: Option<Change>,
    /// The fact of an entry whose slot the line holds.
    held: Option<Fact>,
    /// The fact of the record, if the backup shows the entry as live or its slot as held.
    pub(super) live_fact: Option<Fact>,
}

impl EntryObservation {
    /// Whether all that was observed is a slot that the line holds.
    fn is_slot_alone(&self) -> bool {
        self.entry.is_none() && self.end.is_none() && self.live_fact.is_none()
    }
}

/// The entries of these shards that the line and the backup show differently. `now_ms` is line time.
pub(super) async fn find_differences(
    line: &Line,
    backup: &dyn Backup,
    partition: &EntryPartition,
    shards: Range<u8>,
    now_ms: u64,
    config: CheckConfig,
    summary: &mut CheckSummary,
) -> Result<HashMap<EntryId, EntryObservation>, CheckError> {
    let mut observations = read_line(line, partition, &shards, config).await?;
    summary.checked_line = observations
        .values()
        .filter(|observation| observation.entry.is_some())
        .count() as u64;
    let reads: Vec<_> = shards
        .map(|shard| backup.read_live_entries(partition, shard, now_ms))
        .collect();
    let mut reads = stream::iter(reads).buffer_unordered(SHARDS_AT_ONCE);
    while let Some(records) = reads.try_next().await? {
        summary.checked_table += records.iter().filter(|record| record.fact.is_live()).count() as u64;
        for record in records {
            discard_if_equal(&mut observations, &record);
        }
    }
    // A slot that the line alone holds becomes free by itself.
    observations.retain(|_, observation| !observation.is_slot_alone());
    Ok(observations)
}

/// The entries of these shards that the line has, and the ends that it remembers.
async fn read_line(
    line: &Line,
    partition: &EntryPartition,
    shards: &Range<u8>,
    config: CheckConfig,
) -> Result<HashMap<EntryId, EntryObservation>, CheckError> {
    let mut observations: HashMap<EntryId, EntryObservation> = HashMap::new();
    let mut next = Some(Cursor::default());
    while let Some(from) = next {
        let page = line.read_page(&partition.queue, &from).await?;
        for (id, entry) in page.entries {
            if shards.contains(&id.shard()) {
                observations.entry(id).or_default().entry = Some(entry);
            }
        }
        for (id, held) in page.held {
            if shards.contains(&id.shard()) {
                observations.entry(id).or_default().held = Some(held);
            }
        }
        for end in page.ends {
            if shards.contains(&end.id.shard()) {
                observations.entry(end.id).or_default().end = Some(end);
            }
        }
        next = page.next;
        if next.is_some() {
            sleep(config.page_pause).await;
        }
    }
    Ok(observations)
}

/// Drops the observation if the line and the backup agree about the entry.
fn discard_if_equal(observations: &mut HashMap<EntryId, EntryObservation>, record: &EntryRecord) {
    let observation = observations.entry(record.id).or_default();
    let is_same = observation.entry.is_some_and(|entry| entry.agrees_with(record))
        || observation.held == Some(record.fact);
    if observation.end.is_none() && is_same {
        observations.remove(&record.id);
    } else {
        observation.live_fact = Some(record.fact);
    }
}
