//! Compares both lines: the answers, the views and the whole state.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Debug,
};

use redis::streams::StreamRangeReply;
use vestibule_domain::change::Change;
use vestibule_line::{JournalLine, JournalRecord};
use vestibule_tests::lines::visitor;

use super::{
    JOURNAL_RECORDS_MAX, LinePair,
    invariants::{require_conservation, require_consistent_visits, require_counted_absent},
    to_text,
};
use crate::operations::VISITORS;

impl LinePair {
    pub(super) async fn compare_states(&self) -> Result<(), String> {
        let (raw, journal) = tokio::join!(
            self.dump_redis(),
            self.redis.due_journal_records(&self.queue, JOURNAL_RECORDS_MAX)
        );
        let snapshot = self.memory.dump_queue(&self.queue).expect("snapshot");
        require_equal("sets and state", &snapshot, &raw)?;
        require_consistent_visits(&snapshot)?;
        require_conservation(&snapshot)?;
        require_counted_absent(&snapshot)?;
        let in_memory = self
            .memory
            .due_journal_records(&self.queue, JOURNAL_RECORDS_MAX)
            .await;
        require_equal(
            "journals",
            &normalize_journal(in_memory.expect("journal"))?,
            &normalize_journal(journal.map_err(to_text)?)?,
        )?;
        let [in_memory, in_redis] = self
            .lines()
            .map(|line| line.journal_records(&self.queue, JOURNAL_RECORDS_MAX));
        require_equal(
            "whole journals",
            &normalize_journal(in_memory.await.expect("read"))?,
            &normalize_journal(in_redis.await.map_err(to_text)?)?,
        )?;
        self.require_consistent_slots().await?;
        let [in_memory, in_redis] = self
            .lines()
            .map(|line| line.dead_lettered(&self.queue, JOURNAL_RECORDS_MAX));
        require_equal(
            "dead letters",
            &normalize_journal(in_memory.await.expect("read"))?,
            &normalize_journal(in_redis.await.map_err(to_text)?)?,
        )
    }

    pub(super) async fn compare_views(&self) -> Result<(), String> {
        let [in_memory, in_redis] = self.lines().map(|line| line.queue_view(&self.queue));
        require_equal(
            "views",
            &in_memory.await.map_err(to_text)?,
            &in_redis.await.map_err(to_text)?,
        )?;
        let [in_memory, in_redis] = self.lines().map(|line| line.read_tally(&self.queue));
        require_equal(
            "tallies",
            &in_memory.await.map_err(to_text)?,
            &in_redis.await.map_err(to_text)?,
        )?;
        let ids: Vec<_> = (1..=VISITORS).map(visitor).collect();
        let [in_memory, in_redis] = self.lines().map(|line| line.status_many(&self.queue, &ids));
        require_equal(
            "statuses of all visitors",
            &in_memory.await.map_err(to_text)?,
            &in_redis.await.map_err(to_text)?,
        )
    }

    /// The hash `journaled` points at records that exist, and each record of a single change is in it.
    async fn require_consistent_slots(&self) -> Result<(), String> {
        let key = |name: &str| format!("vestibule:{{{}}}:{name}", self.queue);
        let mut pipe = redis::pipe();
        pipe.hgetall(key("journaled"))
            .zrange(key("deferred"), 0, -1)
            .xrange_all(key("journal"));
        let answer = pipe.query_async(&mut self.link.clone()).await;
        let (slots, deferred, stream): (BTreeMap<String, String>, Vec<String>, StreamRangeReply) =
            answer.expect("Redis answers");
        let singles = stream
            .ids
            .iter()
            .filter(|record| record.map.contains_key("member"));
        let mut ids: Vec<_> = singles.map(|record| record.id.clone()).collect();
        let (in_stream, texts): (Vec<_>, Vec<_>) = slots.iter().partition(|(_, text)| !text.contains(' '));
        let mut in_stream: Vec<_> = in_stream.into_iter().map(|(_, id)| id.clone()).collect();
        ids.sort();
        in_stream.sort();
        require_equal("single changes and their slots", &ids, &in_stream)?;
        let texts: BTreeSet<_> = texts.into_iter().map(|(slot, _)| slot.clone()).collect();
        require_equal(
            "deferred changes and their slots",
            &deferred.into_iter().collect(),
            &texts,
        )
    }
}

/// The changes of a record, its attempts, and when it is due again.
type NormalizedRecord = (Vec<Change>, u32, u64);

/// The journal without its keys, which each line chooses. The order within a record does not matter, so it is
/// sorted.
fn normalize_journal(journal: Vec<JournalRecord>) -> Result<Vec<NormalizedRecord>, String> {
    let sorted = |mut changes: Vec<Change>| {
        changes.sort_by_key(|change| change.id);
        let twice = changes.windows(2).find(|pair| pair[0].id == pair[1].id);
        twice.map_or(Ok(changes.clone()), |pair| {
            Err(format!("twice in one record: {pair:?}"))
        })
    };
    let records = journal.into_iter();
    records
        .map(|record| Ok((sorted(record.changes)?, record.attempts, record.retry_at_ms)))
        .collect()
}

pub(super) fn require_equal<T: PartialEq + Debug>(what: &str, memory: &T, redis: &T) -> Result<(), String> {
    if memory == redis {
        Ok(())
    } else {
        Err(format!(
            "the {what} differ\n  memory: {memory:?}\n  redis:  {redis:?}"
        ))
    }
}
