//! The command `evict` for many entries. Without its confirmation it says how many entries match.

use futures_util::{StreamExt, future::join_all, stream};
use serde_json::Value;
use tokio::time::Instant;
use vestibule_backup::{EntryPartition, StoredQueue};
use vestibule_domain::{
    id::{EntryId, QueueId, SHARD_COUNT},
    score::Visit,
};
use vestibule_engine::{
    flush::{RECORDS_MAX, flush_journal},
    write_through::{WriteOutcome, write_through},
};
use vestibule_line::{EVICT_CHUNK, EvictOrder, LeaveOutcome, LeaveReason, LineError};
use vestibule_wire::results::{self, Evictions, StageCounts, to_value};

use super::{
    Admin, CHECK_TIME_MAX, Problem, entry_partition,
    line_entries::{LiveEntry, Stage, find_live},
    selectors::EntryFilter,
};

/// How many shards are read at the same time.
const SHARDS_AT_ONCE: usize = 4;
/// How many ready and active entries are evicted at the same time. Each takes a write to the backup.
const EVICTIONS_AT_ONCE: usize = 16;

/// The entries that an order would evict.
#[derive(Debug, Default)]
struct MatchingEntries {
    waiting: Vec<(EntryId, Visit)>,
    admitted: Vec<(EntryId, Visit)>,
    counts: StageCounts,
    /// Entries of the source or the time that stay: their visitors have checked in, were let in, or came a moment ago.
    spared: u64,
    /// Whether all entries of the queue were looked at.
    is_complete: bool,
}

impl MatchingEntries {
    /// Adds an entry. `spared_from_ms` is since when, in Unix milliseconds, a visitor may not have had the time to check in;
    /// `None` to spare no entry.
    fn add(&mut self, entry: LiveEntry, spared_from_ms: Option<u64>) {
        let key = (entry.id, entry.visit);
        let is_spared = |from_ms| match entry.stage {
            Stage::Waiting(presence) => presence.has_checked_in || entry.visit.began_at_ms() >= from_ms,
            Stage::Ready | Stage::Active => true,
        };
        if spared_from_ms.is_some_and(is_spared) {
            self.spared += 1;
            return;
        }
        match entry.stage {
            Stage::Waiting(_) => self.waiting.push(key),
            Stage::Ready | Stage::Active => self.admitted.push(key),
        }
        entry.stage.count_in(&mut self.counts);
    }
}

/// How many ready and active entries were evicted, and whether all of these ends are in the backup.
#[derive(Debug)]
struct AdmittedEvictions {
    evicted: u64,
    durable: bool,
}

impl Admin {
    /// Says which entries the filter matches, for an operator who has not confirmed the order yet.
    pub(super) async fn preview_evict(
        &self,
        queue: &QueueId,
        filter: &EntryFilter,
    ) -> Result<Value, Problem> {
        let stored = self.read_stored_queue(queue).await?;
        let until = Instant::now() + CHECK_TIME_MAX;
        let matching = self.find_matching(queue, &stored, filter, until).await?;
        Ok(to_value(results::MatchingEntries {
            counts: matching.counts,
            spared: matching.spared,
            complete: matching.is_complete,
        }))
    }

    /// Evicts as many of the matching entries as fit into the time of a command. The operator repeats the command for
    /// the remaining ones.
    pub(super) async fn evict_matching(
        &self,
        queue: &QueueId,
        filter: &EntryFilter,
    ) -> Result<Value, Problem> {
        let stored = self.read_stored_queue(queue).await?;
        let partition = entry_partition(queue, &stored);
        let until = Instant::now() + CHECK_TIME_MAX;
        let matching = self.find_matching(queue, &stored, filter, until).await?;
        let (mut evicted, mut tried, mut durable) = (0, 0, true);
        for chunk in matching.waiting.chunks(EVICT_CHUNK) {
            let order = EvictOrder {
                visits: chunk.to_vec(),
                spares_checked_in: filter.spares_checked_in(),
            };
            match self.line.evict_waiting(queue, &order).await {
                Ok(count) => evicted += count,
                // The promoter writes the journal to the backup meanwhile.
                Err(LineError::JournalFull) if evicted > 0 => break,
                Err(error) => return Err(error.into()),
            }
            tried += chunk.len();
            // A flush that fails leaves the ends in the journal, which the promoter writes.
            let flushed = flush_journal(&self.line, &*self.backup, &partition, RECORDS_MAX, until).await;
            durable &= flushed.is_ok_and(|flushed| flushed.refused + flushed.dead_lettered == 0);
            if Instant::now() >= until {
                break;
            }
        }
        for chunk in matching.admitted.chunks(EVICTIONS_AT_ONCE) {
            if Instant::now() >= until {
                break;
            }
            let admitted = self.evict_admitted(&partition, chunk).await?;
            evicted += admitted.evicted;
            durable &= admitted.durable;
            tried += chunk.len();
        }
        let remaining = matching.waiting.len() + matching.admitted.len() - tried;
        Ok(to_value(Evictions {
            queue: queue.to_string(),
            evicted,
            remaining,
            spared: matching.spared,
            complete: matching.is_complete && remaining == 0,
            durable,
        }))
    }

    /// Evicts entries that are ready or active, each on its own because its slot may have to be held.
    async fn evict_admitted(
        &self,
        partition: &EntryPartition,
        entries: &[(EntryId, Visit)],
    ) -> Result<AdmittedEvictions, Problem> {
        let mut evictions = Vec::with_capacity(entries.len());
        for (id, visit) in entries {
            evictions.push(self.evict_visit(partition, *id, *visit));
        }
        let mut done = AdmittedEvictions {
            evicted: 0,
            durable: true,
        };
        for outcome in join_all(evictions).await {
            if let Some(write) = outcome? {
                done.evicted += 1;
                done.durable &= write.durable;
            }
        }
        Ok(done)
    }

    /// Evicts one visit. Returns `None` if it has ended.
    async fn evict_visit(
        &self,
        partition: &EntryPartition,
        id: EntryId,
        visit: Visit,
    ) -> Result<Option<WriteOutcome>, Problem> {
        let left = self
            .line
            .leave(&partition.queue, id, Some(visit), LeaveReason::Evict)
            .await?;
        let LeaveOutcome::Ended(change) = left else {
            return Ok(None);
        };
        let written = write_through(&self.line, &*self.backup, partition, &change).await?;
        Ok(Some(written))
    }

    async fn find_matching(
        &self,
        queue: &QueueId,
        stored: &StoredQueue,
        filter: &EntryFilter,
        until: Instant,
    ) -> Result<MatchingEntries, Problem> {
        let view = self.line.queue_view(queue).await?;
        let settings = &view.configuration.settings;
        if filter.spares_checked_in() && !settings.has_presence() {
            return Err(Problem::invalid_field(
                "all",
                "must be true, because presence_seconds is 0 and so the line does not know who was never present",
            ));
        }
        let call_ms = u64::from(settings.call_seconds) * 1_000;
        let spared_from_ms = filter
            .spares_checked_in()
            .then(|| view.now_ms.saturating_sub(call_ms));
        let mut matching = MatchingEntries::default();
        if let EntryFilter::Listed(tokens) = filter {
            for entry in find_live(&self.line, queue, tokens).await? {
                matching.add(entry, spared_from_ms);
            }
            matching.is_complete = true;
            return Ok(matching);
        }
        let partition = entry_partition(queue, stored);
        let reads =
            (0..SHARD_COUNT).map(|shard| self.backup.read_live_entries(&partition, shard, view.now_ms));
        let mut reads = stream::iter(reads).buffer_unordered(SHARDS_AT_ONCE);
        while let Some(records) = reads.next().await {
            let records = records?;
            let ids: Vec<_> = records
                .iter()
                .filter(|record| record.fact.is_live() && filter.matches(record))
                .map(|record| record.id)
                .collect();
            for chunk in ids.chunks(EVICT_CHUNK) {
                for entry in find_live(&self.line, queue, chunk).await? {
                    matching.add(entry, spared_from_ms);
                }
            }
            if Instant::now() >= until {
                return Ok(matching);
            }
        }
        matching.is_complete = true;
        Ok(matching)
    }
}
