//! The command `entries`: all entries of a state, page by page.
//!
//! A page goes on behind the last entry of the page before, in the order of shard and token. An entry never changes either,
//! so however much the entries move, no page repeats one, and an entry that stays in the state from the first page to the
//! last is on exactly one of them.

use std::collections::HashMap;

use serde_json::Value;
use vestibule_backup::EntryPartition;
use vestibule_domain::{id::EntryId, record::EntryRecord, score::WaitScore, state::EntryState};
use vestibule_line::LineError;
use vestibule_wire::commands::{EntriesOrder, OneOf, Whole};
use vestibule_wire::results::{EntryList, EntryRow, to_value};

use super::{
    Admin, Problem,
    entries_cursor::{EntriesCursor, read_cursor},
    entry_partition,
    line_entries::{LiveEntry, Stage, find_live},
};

/// How many entries a page has if the command does not say.
const PAGE_ENTRIES: u32 = 100;

/// A page reads no further records after this many, so that its work is bounded however few of them match.
const RECORDS_PER_PAGE_MAX: usize = 2_000;
/// How many records are read at once.
const RECORDS_AT_ONCE: usize = 500;

impl Admin {
    /// Shows one page. Live entries are as the line has them, ended ones as the backup has them.
    pub(super) async fn entries(&self, order: &EntriesOrder) -> Result<Value, Problem> {
        let queue = &order.queue;
        let limit = order.limit.map_or(PAGE_ENTRIES, Whole::get) as usize;
        let stored = self.read_stored_queue(queue).await?;
        stored.require_own_layout()?;
        let partition = entry_partition(queue, &stored);
        let first = EntriesCursor::first(partition.generation);
        let mut cursor = Some(read_cursor(order)?.unwrap_or(first));
        if cursor.is_some_and(|cursor| cursor.generation != partition.generation) {
            let reason = "is of an earlier generation, because the queue was reset; begin without a cursor";
            return Err(Problem::invalid_field("cursor", reason));
        }
        let (mut rows, mut records_read, mut is_degraded) = (Vec::new(), 0, false);
        while let Some(at) = cursor
            && rows.len() < limit
            && records_read < RECORDS_PER_PAGE_MAX
        {
            let page = self
                .backup
                .read_entry_page(&partition, at.shard, at.after, RECORDS_AT_ONCE)
                .await?;
            records_read += page.records.len();
            cursor = at.next(page.next_after);
            let live = self.find_live_records(&partition, &page.records).await?;
            is_degraded |= live.is_none();
            for (record, row) in page.records.iter().zip(to_rows(
                &page.records,
                live.as_ref(),
                order.state.map(|OneOf(state)| state),
            )) {
                if rows.len() == limit {
                    break;
                }
                rows.extend(row);
                if rows.len() == limit {
                    cursor = at.next(Some(record.id));
                }
            }
        }
        Ok(to_value(EntryList {
            queue: queue.to_string(),
            generation: partition.generation,
            entries: rows,
            cursor: cursor.map(EntriesCursor::to_text),
            degraded: is_degraded,
        }))
    }

    /// The records that are live in the line. `None` if the line does not have the queue or does not answer.
    async fn find_live_records(
        &self,
        partition: &EntryPartition,
        records: &[EntryRecord],
    ) -> Result<Option<HashMap<EntryId, LiveEntry>>, Problem> {
        let ids: Vec<_> = records
            .iter()
            .filter(|record| record.fact.is_live())
            .map(|record| record.id)
            .collect();
        if ids.is_empty() {
            return Ok(Some(HashMap::new()));
        }
        match find_live(&self.line, &partition.queue, &ids).await {
            Ok(found) => Ok(Some(found.into_iter().map(|entry| (entry.id, entry)).collect())),
            Err(LineError::QueueNotFound | LineError::Unavailable(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// The row of each record, if it is in the state.
fn to_rows(
    records: &[EntryRecord],
    live: Option<&HashMap<EntryId, LiveEntry>>,
    wanted: Option<EntryState>,
) -> impl Iterator<Item = Option<EntryRow>> {
    records.iter().map(move |record| {
        let in_line = live.and_then(|live| live.get(&record.id));
        let state = match (in_line, live) {
            (Some(entry), _) => entry.stage.state(),
            // The visit has ended, and the backup does not have its end yet. A later page may not have it either.
            (None, Some(_)) if record.fact.is_live() => return None,
            (None, _) => record.state,
        };
        wanted
            .is_none_or(|wanted| wanted == state)
            .then(|| to_row(record, state, in_line))
    })
}

fn to_row(record: &EntryRecord, state: EntryState, in_line: Option<&LiveEntry>) -> EntryRow {
    let presence = in_line.and_then(|entry| match entry.stage {
        Stage::Waiting(presence) => Some(presence.state),
        Stage::Ready | Stage::Active => None,
    });
    EntryRow {
        token: record.id.to_string(),
        state,
        presence,
        visit: in_line.map_or(record.visit(), |entry| entry.visit).number(),
        lane: record.score.map(WaitScore::lane),
        joined_at_ms: record.joined_at_ms(),
        promoted_at_ms: record.promoted_at_ms,
        claimed_at_ms: record.claimed_at_ms,
        expires_at_ms: record.expires_at_ms,
        ended_at_ms: record.ended_at_ms,
        ended_by: record.end_reason().map(|reason| reason.name().to_string()),
    }
}
