//! The command `sources`: from which sources the entries of a queue come.
//!
//! The source of an entry is in its record. So the command reads the records, and asks the line for the presence of
//! those that wait. Of a large queue it reads some shards alone: the shard of an entry is a part of its derived id, so
//! each shard is a fair sample.

use std::{cmp::Reverse, collections::HashMap};

use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use tokio::time::Instant;
use vestibule_domain::{
    id::{EntryId, QueueId, SHARD_COUNT, Source},
    record::EntryRecord,
    settings::{BlockTarget, Settings},
};
use vestibule_line::EVICT_CHUNK;

use super::{
    Admin, CHECK_TIME_MAX, Problem, entry_partition,
    line_entries::{Stage, StageCounts, find_live},
};

/// The command reads no further shard after this many records.
const SAMPLED_ENTRIES: u64 = 20_000;
/// How many shards are read at the same time.
const SHARDS_AT_ONCE: usize = 2;
/// The most sources that are counted one by one. The entries of further ones are counted together.
const SOURCES_MAX: usize = 100_000;

/// What is known of the entries of one source.
#[derive(Debug, Clone, Copy, Default)]
struct SourceCounts {
    live: StageCounts,
    /// Live entries that wait and whose visitors have not checked in by a poll.
    never_present: u64,
    /// Entries that were let in, whether they have ended or not.
    claimed: u64,
    ended: u64,
    first_joined_at_ms: Option<u64>,
    last_joined_at_ms: Option<u64>,
}

impl SourceCounts {
    fn add(&mut self, record: &EntryRecord, stage: Option<Stage>) {
        match stage {
            Some(stage) => self.live.add(stage),
            None => self.ended += 1,
        }
        if let Some(Stage::Waiting(presence)) = stage
            && !presence.has_checked_in
        {
            self.never_present += 1;
        }
        self.claimed += u64::from(record.claimed_at_ms.is_some());
        if let Some(joined_at_ms) = record.joined_at_ms() {
            let first = self.first_joined_at_ms.unwrap_or(joined_at_ms);
            self.first_joined_at_ms = Some(first.min(joined_at_ms));
            self.last_joined_at_ms = self.last_joined_at_ms.max(Some(joined_at_ms));
        }
    }

    fn to_json(self, factor: impl Fn(u64) -> u64) -> Value {
        let mut counts = json!(self.live.scale(&factor));
        counts["never_present"] = json!(factor(self.never_present));
        counts["claimed"] = json!(factor(self.claimed));
        counts["ended"] = json!(factor(self.ended));
        counts["first_joined_at_ms"] = json!(self.first_joined_at_ms);
        counts["last_joined_at_ms"] = json!(self.last_joined_at_ms);
        counts
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
        let sources = table.largest(limit as usize).into_iter().map(|(source, counts)| {
            let mut shown = counts.to_json(factor);
            shown["source"] = json!(source.map(|source| source.to_string()));
            shown["blocked"] = json!(is_blocked(settings, source, view.now_ms));
            shown
        });
        Ok(json!({
            "queue": queue.as_str(),
            "sources": sources.collect::<Vec<_>>(),
            "sources_found": table.sources.len(),
            "entries_read": entries_read,
            "sampled_shards": shards_read,
            "shards": SHARD_COUNT,
            "others": (table.others.live.entries + table.others.ended > 0).then(|| table.others.to_json(factor)),
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
                table
                    .counts_of(record.source)
                    .add(record, stages.get(&record.id).copied());
            }
        }
        Ok(())
    }
}

fn is_blocked(settings: &Settings, source: Option<Source>, now_ms: u64) -> bool {
    source.is_some_and(|source| settings.blocked.contains(BlockTarget::Source(source), now_ms))
}
