//! The line and the table, compared: what the sets in Redis hold, and which items of the table are live.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use tokio::time::{Instant, sleep};
use vestibule_backup::{Backup, EntryPartition};
use vestibule_domain::{
    id::{EntryId, SHARD_COUNT},
    record::EntryRecord,
    score::{DeadlineScore, WaitScore},
    state::EntryState,
};

use super::world::World;
use crate::entries::{now_ms, partition_of};

/// The journal is in the table within this: usually at once, but machines that compile at the same time are slow.
const JOURNAL: Duration = Duration::from_mins(2);
/// Differences that are still there after so long with an empty journal stay.
const DIFFERENCES: Duration = Duration::from_secs(4);

/// An entry that is not in the line as it is in the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Which.
    pub id: EntryId,
    /// When that was seen, in Unix milliseconds.
    pub at_ms: u64,
    /// When the table last heard of it, in Unix milliseconds; `None` where it has nothing.
    pub changed_ms: Option<u64>,
    /// What was.
    pub what: String,
}

/// How the line and the table stand when nobody asks for anything.
#[derive(Debug, Default)]
pub(super) struct Settled {
    /// What stays different.
    pub(super) differences: Vec<Difference>,
    /// What did not come about.
    pub(super) stuck: Option<String>,
}

/// Where an entry is, as far as the line and the table both know: `None` of what only one has.
type Standing = (EntryState, u64);

/// Waits until the journal is in the table and compares the line with it, until both are equal or stay as they are.
pub(super) async fn settle(world: &World) -> Settled {
    let end = Instant::now() + JOURNAL;
    let mut empty_since = None;
    // What differs in two looks alike is no change that came between the reading of the one and of the other.
    let mut before = Vec::new();
    loop {
        let journal = journal(world).await;
        if journal == Some(0) {
            let since = *empty_since.get_or_insert_with(Instant::now);
            let now = differences(world).await;
            let stay = now.as_ref().map(|now| lasting(&before, now));
            if now.as_ref().is_some_and(Vec::is_empty) || since.elapsed() > DIFFERENCES {
                return Settled {
                    differences: stay.unwrap_or_default(),
                    stuck: None,
                };
            }
            before = now.unwrap_or_default();
        } else if Instant::now() > end {
            return Settled {
                stuck: Some(match journal {
                    Some(records) => format!("{records} records stay in the journal"),
                    None => "the line does not come back".to_owned(),
                }),
                ..Settled::default()
            };
        }
        sleep(Duration::from_millis(100)).await;
    }
}

/// Where the records of the queue stand.
pub(super) fn shelf(world: &World) -> EntryPartition {
    partition_of(world.queue.clone())
}

/// How many records the journal has; `None` where the line does not answer, or does not have the queue.
async fn journal(world: &World) -> Option<u64> {
    let mut connection = connect(world).await?;
    let key = |name: &str| format!("vestibule:{{{}}}:{name}", world.queue);
    let answer: redis::RedisResult<(bool, u64)> = redis::pipe()
        .exists(key("config"))
        .xlen(key("journal"))
        .query_async(&mut connection)
        .await;
    let (is_there, records) = answer.ok()?;
    is_there.then_some(records)
}

/// Those that were the same a moment before.
fn lasting(before: &[Difference], now: &[Difference]) -> Vec<Difference> {
    let was = |one: &&Difference| {
        before
            .iter()
            .any(|other| (other.id, &other.what) == (one.id, &one.what))
    };
    now.iter().filter(was).cloned().collect()
}

/// `None` where either does not answer.
async fn differences(world: &World) -> Option<Vec<Difference>> {
    let (line, table) = (line(world).await?, table(world).await?);
    let now_ms = now_ms();
    let ids: BTreeSet<_> = line.keys().chain(table.keys()).copied().collect();
    let differing = ids.into_iter().filter_map(|id| {
        let here = line.get(&id).filter(|(state, at)| !is_due(*state, *at, now_ms));
        let is_ready = here.is_some_and(|(state, _)| *state == EntryState::Ready);
        let record = table.get(&id).filter(|record| {
            let is_over = record
                .expires_at_ms
                .is_some_and(|deadline_ms| deadline_ms <= now_ms);
            // The deadlines of a claim start anew where a line is put back, and the table does not hear of it.
            record.state == EntryState::Waiting || !is_over || (record.state == EntryState::Ready && is_ready)
        });
        let there = record.map(|record| (record.state, mark(record)));
        let is_same = match (here, there) {
            (Some((EntryState::Ready, at)), Some((EntryState::Ready, visit))) => {
                DeadlineScore::from_raw(*at).is_some_and(|score| u64::from(score.visit().number()) == visit)
            }
            (Some(here), Some(there)) => *here == there,
            (None, None) => true,
            _ => false,
        };
        (!is_same).then(|| Difference {
            id,
            at_ms: now_ms,
            changed_ms: table.get(&id).map(|record| record.version.v / 1_000),
            what: format!("the line has {here:?}, the table {there:?}"),
        })
    });
    Some(differing.collect())
}

/// What the score of an entry says that its record says, too.
fn mark(record: &EntryRecord) -> u64 {
    match record.state {
        EntryState::Waiting => record.score.map_or(0, WaitScore::raw),
        EntryState::Ready => record.visit.number().into(),
        _ => DeadlineScore::new(record.expires_at_ms.unwrap_or_default(), record.visit).raw(),
    }
}

fn is_due(state: EntryState, score: u64, now_ms: u64) -> bool {
    let deadline_ms = DeadlineScore::from_raw(score).map_or(0, DeadlineScore::deadline_ms);
    state != EntryState::Waiting && deadline_ms <= now_ms
}

async fn line(world: &World) -> Option<BTreeMap<EntryId, Standing>> {
    let mut connection = connect(world).await?;
    let mut pipe = redis::pipe();
    pipe.atomic();
    for set in ["waiting", "ready", "active"] {
        pipe.zrange_withscores(format!("vestibule:{{{}}}:{set}", world.queue), 0, -1);
    }
    let sets: redis::RedisResult<[Vec<(String, u64)>; 3]> = pipe.query_async(&mut connection).await;
    let states = [EntryState::Waiting, EntryState::Ready, EntryState::Active];
    let entries = states.into_iter().zip(sets.ok()?).flat_map(|(state, set)| {
        set.into_iter().map(move |(member, score)| {
            let id = EntryId::from_member(&member).expect("a member is an id");
            (id, (state, score))
        })
    });
    Some(entries.collect())
}

async fn table(world: &World) -> Option<BTreeMap<EntryId, EntryRecord>> {
    let mut entries = BTreeMap::new();
    for shard in 0..SHARD_COUNT {
        let records = world
            .deployment
            .backup
            .read_live_entries(&shelf(world), shard)
            .await
            .ok()?;
        entries.extend(records.into_iter().map(|record| (record.id, record)));
    }
    Some(entries)
}

async fn connect(world: &World) -> Option<redis::aio::MultiplexedConnection> {
    let address = *world.redis.lock().await.address().borrow();
    let client = redis::Client::open(format!("redis://{address}")).ok()?;
    client.get_multiplexed_async_connection().await.ok()
}
