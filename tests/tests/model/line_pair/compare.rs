//! Compares both lines: the answers, the views and the whole state.

use std::{collections::BTreeMap, fmt::Debug};

use vestibule_domain::{change::Change, id::EntryId};
use vestibule_line::{JournalLine, JournalRecord};
use vestibule_line_memory::QueueDump;
use vestibule_tests::lines::visitor;

use super::{JOURNAL_RECORDS_MAX, LinePair, to_text};
use crate::operations::VISITORS;

impl LinePair {
    pub(super) async fn compare_states(&self) -> Result<(), String> {
        let (raw, journal) = tokio::join!(
            self.dump_redis(),
            self.redis.due_journal_records(&self.queue, JOURNAL_RECORDS_MAX)
        );
        let snapshot = self.memory.dump_queue(&self.queue).expect("snapshot");
        require_equal("sets and state", &snapshot, &raw)?;
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
        let ids: Vec<_> = (1..=VISITORS).map(visitor).collect();
        let [in_memory, in_redis] = self.lines().map(|line| line.status_many(&self.queue, &ids));
        require_equal(
            "statuses of all visitors",
            &in_memory.await.map_err(to_text)?,
            &in_redis.await.map_err(to_text)?,
        )
    }

    /// The state in Redis, read with plain commands and the keys of the design.
    async fn dump_redis(&self) -> QueueDump {
        type Scored = Vec<(String, f64)>;
        let key = |name: &str| format!("vestibule:{{{}}}:{name}", self.queue);
        let mut pipe = redis::pipe();
        for name in ["waiting", "ready", "active"] {
            pipe.zrange_withscores(key(name), 0, -1);
        }
        let pipe = pipe.hgetall(key("ended")).hgetall(key("state"));
        let answer = pipe.query_async(&mut self.link.clone()).await;
        let (waiting, ready, active, ended, state): (
            Scored,
            Scored,
            Scored,
            BTreeMap<String, String>,
            BTreeMap<String, String>,
        ) = answer.expect("Redis answers");
        let mut ended: Vec<_> = ended
            .iter()
            .map(|(member, v)| (entry(member), v.clone()))
            .collect();
        ended.sort_unstable();
        // Redis sorts members of the same score by their text, and memory by id.
        let scored = |entries: Scored| {
            let mut entries: Vec<_> = entries
                .iter()
                .map(|(member, score)| (entry(member), to_integer(*score)))
                .collect();
            entries.sort_by_key(|(id, score)| (*score, *id));
            entries
        };
        QueueDump {
            waiting: scored(waiting),
            ready: scored(ready),
            active: scored(active),
            ended,
            state: state
                .into_iter()
                // The part of the configuration that enter.lua reads. The answers of `enter` show whether it is
                // right.
                .filter(|(name, _)| !["epoch", "entrance", "re_entry", "paused"].contains(&name.as_str()))
                .map(|(name, number)| {
                    let number = number.parse().unwrap_or_else(|_| panic!("{name} is {number}"));
                    (name, number)
                })
                .collect(),
        }
    }
}

fn entry(member: &str) -> EntryId {
    EntryId::from_member(member).expect("a member is a valid entry id")
}

fn to_integer(score: f64) -> u64 {
    assert!(
        score.fract() == 0.0 && (0.0..9_007_199_254_740_992.0).contains(&score),
        "{score}"
    );
    // The assertion above makes the cast exact.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let score = score as u64;
    score
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
