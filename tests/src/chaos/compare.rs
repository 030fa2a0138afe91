//! Compares the line with the table: the sorted sets in Redis with the live items of the table.

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

/// The time limit for flushing the journal. It usually takes a moment, but a machine that compiles at the same
/// time is slow.
const FLUSH_MAX: Duration = Duration::from_mins(2);
/// A difference that lasts this long while the journal is empty counts as permanent.
const PERMANENT_AFTER: Duration = Duration::from_secs(4);

/// An entry for which the line and the table differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The entry.
    pub id: EntryId,
    /// When the difference was seen, in Unix milliseconds.
    pub at_ms: u64,
    /// When the table was last changed for this entry, in Unix milliseconds. `None` if the table has no record.
    pub changed_ms: Option<u64>,
    /// The two states.
    pub what: String,
}

/// The result of a comparison while no visitor sends requests.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    /// The permanent differences.
    pub(super) differences: Vec<Difference>,
    /// Why the comparison was not possible.
    pub(super) stuck: Option<String>,
}

/// The state of an entry and a number that the line and the table both know.
type KnownState = (EntryState, u64);

/// Waits until the journal is flushed, and compares the line with the table until both are equal or a
/// difference is permanent.
pub(super) async fn compare_after_flush(world: &World) -> Comparison {
    let end = Instant::now() + FLUSH_MAX;
    let mut empty_since = None;
    // Two comparisons must show the same difference. A single one may be a change between the reads of line and
    // table.
    let mut before = Vec::new();
    loop {
        let journal = read_journal_length(world).await;
        if journal == Some(0) {
            let since = *empty_since.get_or_insert_with(Instant::now);
            let now = find_differences(world).await;
            let stay = now.as_ref().map(|now| permanent_differences(&before, now));
            if now.as_ref().is_some_and(Vec::is_empty) || since.elapsed() > PERMANENT_AFTER {
                return Comparison {
                    differences: stay.unwrap_or_default(),
                    stuck: None,
                };
            }
            before = now.unwrap_or_default();
        } else if Instant::now() > end {
            return Comparison {
                stuck: Some(match journal {
                    Some(records) => format!("{records} records stay in the journal"),
                    None => "the line does not answer".to_owned(),
                }),
                ..Comparison::default()
            };
        }
        sleep(Duration::from_millis(100)).await;
    }
}

/// The partition of the table with the records of the queue.
pub(super) fn partition(world: &World) -> EntryPartition {
    partition_of(world.queue.clone())
}

/// The number of records in the journal. `None` if the line does not answer or does not have the queue.
async fn read_journal_length(world: &World) -> Option<u64> {
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

/// The differences that were the same in the previous comparison.
fn permanent_differences(before: &[Difference], now: &[Difference]) -> Vec<Difference> {
    let was = |one: &&Difference| {
        before
            .iter()
            .any(|other| (other.id, &other.what) == (one.id, &one.what))
    };
    now.iter().filter(was).cloned().collect()
}

/// The differences, or `None` if the line or the table does not answer.
async fn find_differences(world: &World) -> Option<Vec<Difference>> {
    let (line, table) = (read_line(world).await?, read_table(world).await?);
    let now_ms = now_ms();
    let ids: BTreeSet<_> = line.keys().chain(table.keys()).copied().collect();
    let differing = ids.into_iter().filter_map(|id| {
        let here = line
            .get(&id)
            .filter(|(state, at)| !has_expired(*state, *at, now_ms));
        let is_ready = here.is_some_and(|(state, _)| *state == EntryState::Ready);
        let record = table.get(&id).filter(|record| {
            let is_over = record
                .expires_at_ms
                .is_some_and(|deadline_ms| deadline_ms <= now_ms);
            // A restore of the line starts the deadlines of claims again and does not change the table.
            record.state == EntryState::Waiting || !is_over || (record.state == EntryState::Ready && is_ready)
        });
        let there = record.map(|record| (record.state, number_of(record)));
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

/// The number of a record that the score of its entry also contains.
fn number_of(record: &EntryRecord) -> u64 {
    match record.state {
        EntryState::Waiting => record.score.map_or(0, WaitScore::raw),
        EntryState::Ready => record.visit.number().into(),
        _ => DeadlineScore::new(record.expires_at_ms.unwrap_or_default(), record.visit).raw(),
    }
}

fn has_expired(state: EntryState, score: u64, now_ms: u64) -> bool {
    let deadline_ms = DeadlineScore::from_raw(score).map_or(0, DeadlineScore::deadline_ms);
    state != EntryState::Waiting && deadline_ms <= now_ms
}

async fn read_line(world: &World) -> Option<BTreeMap<EntryId, KnownState>> {
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
            let id = EntryId::from_member(&member).expect("a member is a valid entry id");
            (id, (state, score))
        })
    });
    Some(entries.collect())
}

async fn read_table(world: &World) -> Option<BTreeMap<EntryId, EntryRecord>> {
    let mut entries = BTreeMap::new();
    for shard in 0..SHARD_COUNT {
        let records = world
            .deployment
            .backup
            .read_live_entries(&partition(world), shard)
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
