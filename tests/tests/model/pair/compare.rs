//! Where the two differ: in an answer, in a view, or in anything that they hold.

use std::{collections::BTreeMap, fmt::Debug};

use vestibule_domain::{change::Change, id::EntryId};
use vestibule_line::{JournalLine, JournalRecord};
use vestibule_line_memory::QueueDump;
use vestibule_tests::lines::visitor;

use super::{Pair, WHOLE_JOURNAL, text};
use crate::ops::VISITORS;

impl Pair {
    pub(super) async fn compare_states(&self) -> Result<(), String> {
        let (raw, journal) = tokio::join!(
            self.raw(),
            self.redis.due_journal_records(&self.queue, WHOLE_JOURNAL)
        );
        let snapshot = self.memory.dump_queue(&self.queue).expect("snapshot");
        same("sets and state", &snapshot, &raw)?;
        let in_memory = self.memory.due_journal_records(&self.queue, WHOLE_JOURNAL).await;
        same(
            "journals",
            &comparable(in_memory.expect("journal"))?,
            &comparable(journal.map_err(text)?)?,
        )?;
        let [in_memory, in_redis] = self
            .lines()
            .map(|line| line.dead_lettered(&self.queue, WHOLE_JOURNAL));
        same(
            "records set aside",
            &comparable(in_memory.await.expect("read"))?,
            &comparable(in_redis.await.map_err(text)?)?,
        )
    }

    pub(super) async fn compare_views(&self) -> Result<(), String> {
        let [in_memory, in_redis] = self.lines().map(|line| line.queue_view(&self.queue));
        same(
            "views",
            &in_memory.await.map_err(text)?,
            &in_redis.await.map_err(text)?,
        )?;
        let ids: Vec<_> = (1..=VISITORS).map(visitor).collect();
        let [in_memory, in_redis] = self.lines().map(|line| line.status_many(&self.queue, &ids));
        same(
            "looks at all",
            &in_memory.await.map_err(text)?,
            &in_redis.await.map_err(text)?,
        )
    }

    /// What Redis holds, by the keys of the design and plain commands.
    async fn raw(&self) -> QueueDump {
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
        // Redis orders members of one score by the text that stands for them, memory by id.
        let scored = |entries: Scored| {
            let mut entries: Vec<_> = entries
                .iter()
                .map(|(member, score)| (entry(member), exact(*score)))
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
                // What enter.lua needs of the configuration: the answers to entering tell whether it is right.
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
    EntryId::from_member(member).expect("a member")
}

fn exact(score: f64) -> u64 {
    assert!(
        score.fract() == 0.0 && (0.0..9_007_199_254_740_992.0).contains(&score),
        "{score}"
    );
    // What was just asserted makes the cast exact.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let score = score as u64;
    score
}

/// The changes of a record, how often they were refused, and when they are due again.
type Comparable = (Vec<Change>, u32, u64);

/// A journal without its keys, which every line makes up by itself; within a record the order means nothing.
fn comparable(journal: Vec<JournalRecord>) -> Result<Vec<Comparable>, String> {
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

pub(super) fn same<T: PartialEq + Debug>(what: &str, memory: &T, redis: &T) -> Result<(), String> {
    if memory == redis {
        Ok(())
    } else {
        Err(format!(
            "the {what} differ\n  memory: {memory:?}\n  redis:  {redis:?}"
        ))
    }
}
