//! The command `sources`: from which sources the entries of a queue come.
//!
//! The source of an entry is in its record. So the command reads the records, and asks the line for the presence of
//! those that wait. Of a large queue it reads some shards alone: the shard of an entry is a part of its derived id, so
//! each shard is a fair sample.

use std::{cmp::Reverse, collections::HashMap};

use futures_util::{StreamExt, stream};
use serde_json::Value;
use tokio::time::Instant;
use vestibule_domain::{
    id::{EntryId, QueueId, SHARD_COUNT, Source},
    record::EntryRecord,
    settings::{BlockTarget, Settings},
};
use vestibule_line::EVICT_CHUNK;
use vestibule_wire::results::{SourceCounts, SourceList, SourceRow, StageCounts, to_value};

use super::{
    Admin, CHECK_TIME_MAX, Problem, entry_partition,
    line_entries::{Stage, find_live},
};

/// The command reads no further shard after this many records.
const SAMPLED_ENTRIES: u64 = 20_000;
/// How many shards are read at the same time.
const SHARDS_AT_ONCE: usize = 2;
/// The most sources that are counted one by one. The entries of further ones are counted together.
const SOURCES_MAX: usize = 100_000;

/// Counts an entry of a source.
fn count_entry(counts: &mut SourceCounts, record: &EntryRecord, stage: Option<Stage>) {
    match stage {
        Some(stage) => stage.count_in(&mut counts.live),
        None => counts.ended += 1,
    }
    if let Some(Stage::Waiting(presence)) = stage
        && !presence.has_checked_in
    {
        counts.never_present += 1;
    }
    counts.claimed += u64::from(record.claimed_at_ms.is_some());
    if let Some(joined_at_ms) = record.joined_at_ms() {
        let first = counts.first_joined_at_ms.unwrap_or(joined_at_ms);
        counts.first_joined_at_ms = Some(first.min(joined_at_ms));
        counts.last_joined_at_ms = counts.last_joined_at_ms.max(Some(joined_at_ms));
    }
}

/// All counts, multiplied.
fn scale(counts: SourceCounts, factor: impl Fn(u64) -> u64) -> SourceCounts {
    let live = counts.live;
    SourceCounts {
        live: StageCounts {
            entries: factor(live.entries),
            present: factor(live.present),
            absent: factor(live.absent),
            called: factor(live.called),
            not_called: factor(live.not_called),
            ready: factor(live.ready),
            active: factor(live.active),
        },
        never_present: factor(counts.never_present),
        claimed: factor(counts.claimed),
        ended: factor(counts.ended),
        ..counts
    }
}

/// The counts of each source. Entries without a source are counted under `None`.
#[derive(Debug, Default)]
struct SourceTable {
    sources: HashMap<Option<Source>, SourceCounts>,
    others: SourceCounts,
}

impl SourceTable {
    fn counts_of(&mut self, source: Option<Source>) -> &mut SourceCounts {
        if self.sources.len() >= SOURCES_MAX && !self.sources.contains_key(&source) {
            return &mut self.others;
        }
        self.sources.entry(source).or_default()
    }

    /// The sources with the most live entries.
    fn largest(&self, limit: usize) -> Vec<(Option<Source>, SourceCounts)> {
        let mut sources: Vec<_> = self
            .sources
            .iter()
            .map(|(source, counts)| (*source, *counts))
            .collect();
        sources
            .sort_by_key(|(source, counts)| (Reverse(counts.live.entries), Reverse(counts.ended), *source));
        sources.truncate(limit);
        sources
    }
}

impl Admin {
    /// Shows the sources with the most live entries.
    pub(super) async fn sources(&self, queue: &QueueId, limit: u32) -> Result<Value, Problem> {
        let stored = self.read_stored_queue(queue).await?;
        let view = self.line.queue_view(queue).await?;
        let partition = entry_partition(queue, &stored);
        let until = Instant::now() + CHECK_TIME_MAX;
        let mut table = SourceTable::default();
        let (mut shards_read, mut entries_read) = (0_u64, 0_u64);
        let mut reads = Vec::new();
        for shard in 0..SHARD_COUNT {
            reads.push(self.backup.read_recent_entries(&partition, shard));
        }
        let mut reads = stream::iter(reads).buffered(SHARDS_AT_ONCE);
        while entries_read < SAMPLED_ENTRIES
            && Instant::now() < until
            && let Some(records) = reads.next().await
        {
            let records = records?;
            self.count_records(queue, &records, &mut table).await?;
            shards_read += 1;
            entries_read += records.len() as u64;
        }
        let factor = |count: u64| count * u64::from(SHARD_COUNT) / shards_read.max(1);
        let settings = &view.configuration.settings;
        let rows = table.largest(limit as usize).into_iter();
        let rows = rows.map(|(source, counts)| SourceRow {
            source: source.map(|source| source.to_string()),
            blocked: is_blocked(settings, source, view.now_ms),
            counts: scale(counts, factor),
        });
        let others = table.others;
        Ok(to_value(SourceList {
            queue: queue.to_string(),
            sources: rows.collect(),
            sources_found: table.sources.len(),
            entries_read,
            sampled_shards: shards_read,
            shards: SHARD_COUNT,
            others: (others.live.entries + others.ended > 0).then(|| scale(others, factor)),
        }))
    }

    async fn count_records(
        &self,
        queue: &QueueId,
        records: &[EntryRecord],
        table: &mut SourceTable,
    ) -> Result<(), Problem> {
        for chunk in records.chunks(EVICT_CHUNK) {
            let live = chunk.iter().filter(|record| record.fact.is_live());
            let ids: Vec<_> = live.map(|record| record.id).collect();
            let found = find_live(&self.line, queue, &ids).await?;
            let stages: HashMap<EntryId, Stage> = found.iter().map(|entry| (entry.id, entry.stage)).collect();
            for record in chunk {
                let counts = table.counts_of(record.source);
                count_entry(counts, record, stages.get(&record.id).copied());
            }
        }
        Ok(())
    }
}

fn is_blocked(settings: &Settings, source: Option<Source>, now_ms: u64) -> bool {
    source.is_some_and(|source| settings.blocked.contains(BlockTarget::Source(source), now_ms))
}
