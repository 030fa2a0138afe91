//! The first read of the consistency check: finds the entries that the line and the backup show differently. It reads
//! one after the other while both change, so a difference found here is only a suspicion.

use std::{collections::HashMap, ops::Range};

use futures_util::{StreamExt, TryStreamExt, stream};
use tokio::time::sleep;
use vestibule_backup::{Backup, Shelf};
use vestibule_domain::{
    change::{Change, Version},
    id::EntryId,
    record::Record,
    standing::Spot,
};
use vestibule_line::{Cursor, Line};

use super::{CheckError, Checked, Manner};

/// How many shards of the backup are read concurrently.
const SHARDS_AT_ONCE: usize = 4;

/// What the first read observed of one entry.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sight {
    /// The entry's position in the line.
    pub(super) spot: Option<Spot>,
    /// An end that the line remembers because the backup may not have it.
    pub(super) end: Option<Change>,
    /// The version of the record, if the backup shows the entry as live.
    pub(super) live: Option<Version>,
}

/// The entries of these shards that the line and the backup show differently.
pub(super) async fn differences(
    line: &dyn Line,
    backup: &dyn Backup,
    shelf: &Shelf,
    shards: Range<u8>,
    manner: Manner,
    checked: &mut Checked,
) -> Result<HashMap<EntryId, Sight>, CheckError> {
    let mut sights = in_line(line, shelf, &shards, manner).await?;
    checked.checked_line = sights.values().filter(|sight| sight.spot.is_some()).count() as u64;
    let reads: Vec<_> = shards.map(|shard| backup.live_entries(shelf, shard)).collect();
    let mut reads = stream::iter(reads).buffer_unordered(SHARDS_AT_ONCE);
    while let Some(records) = reads.try_next().await? {
        checked.checked_table += records.len() as u64;
        for record in records {
            compare(&mut sights, &record);
        }
    }
    Ok(sights)
}

/// The entries of these shards that the line has, and the ends that it remembers.
async fn in_line(
    line: &dyn Line,
    shelf: &Shelf,
    shards: &Range<u8>,
    manner: Manner,
) -> Result<HashMap<EntryId, Sight>, CheckError> {
    let mut sights: HashMap<EntryId, Sight> = HashMap::new();
    let mut next = Some(Cursor::default());
    while let Some(from) = next {
        let page = line.page(&shelf.queue, &from).await?;
        for (id, spot) in page.spots {
            if shards.contains(&id.shard()) {
                sights.entry(id).or_default().spot = Some(spot);
            }
        }
        for end in page.ends {
            if shards.contains(&end.id.shard()) {
                sights.entry(end.id).or_default().end = Some(end);
            }
        }
        next = page.next;
        if next.is_some() {
            sleep(manner.page_pause).await;
        }
    }
    Ok(sights)
}

/// Drops the observation if the line and the backup agree about the entry.
fn compare(sights: &mut HashMap<EntryId, Sight>, record: &Record) {
    let sight = sights.entry(record.id).or_default();
    if sight.end.is_none() && sight.spot.is_some_and(|spot| record.shows(spot)) {
        sights.remove(&record.id);
    } else {
        sight.live = Some(record.version);
    }
}
