//! Compares the line with the table: the sorted sets in Redis with the live items of the table.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    time::Duration,
};

use tokio::time::{Instant, sleep};
use vestibule_backup::{Backup, EntryPartition};
use vestibule_domain::{
    id::{EntryId, SHARD_COUNT},
    record::EntryRecord,
    score::WaitScore,
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

/// The members of a sorted set with their scores.
type ScoredMembers = Vec<(String, u64)>;

/// What the line and the table both know of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct KnownState {
    state: EntryState,
    /// The place of a waiting entry, and the visit of any other.
    place_or_visit: u64,
    /// The deadline, in Unix milliseconds; 0 for a waiting entry.
    deadline_ms: u64,
}

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
        let here = line.get(&id).filter(|here| !here.has_expired(now_ms));
        let is_ready = here.is_some_and(|here| here.state == EntryState::Ready);
        let record = table.get(&id).filter(|record| {
            // A restore of the line starts the deadlines of claims again and does not change the table.
            !record.is_due(now_ms) || (record.state == EntryState::Ready && is_ready)
        });
        let there = record.map(KnownState::of_record);
        let is_same = match (here, there) {
            (Some(here), Some(there)) => here.is_same(there),
            (here, there) => here.is_none() && there.is_none(),
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

impl KnownState {
    fn of_record(record: &EntryRecord) -> Self {
        let place = record.score.map_or(0, WaitScore::raw);
        let is_waiting = record.state == EntryState::Waiting;
        Self {
            state: record.state,
            place_or_visit: if is_waiting {
                place
            } else {
                record.visit().number()
            },
            deadline_ms: record.fact.deadline_ms().unwrap_or_default(),
        }
    }

    /// The claim deadline is not compared: a restore starts it again.
    fn is_same(&self, other: Self) -> bool {
        let is_ready = self.state == EntryState::Ready;
        (self.state, self.place_or_visit) == (other.state, other.place_or_visit)
            && (is_ready || self.deadline_ms == other.deadline_ms)
    }

    fn has_expired(&self, now_ms: u64) -> bool {
        self.state != EntryState::Waiting && self.deadline_ms <= now_ms
    }
}

async fn read_line(world: &World) -> Option<BTreeMap<EntryId, KnownState>> {
    let mut connection = connect(world).await?;
    let key = |name: &str| format!("vestibule:{{{}}}:{name}", world.queue);
    let mut pipe = redis::pipe();
    pipe.atomic();
    for set in ["waiting", "ready", "active"] {
        pipe.zrange_withscores(key(set), 0, -1);
    }
    pipe.hgetall(key("visits"));
    let answer: redis::RedisResult<(
        ScoredMembers,
        ScoredMembers,
        ScoredMembers,
        HashMap<String, String>,
    )> = pipe.query_async(&mut connection).await;
    let (waiting, ready, active, visits) = answer.ok()?;
    // The first number is the place of an entry that has its first turn, and the visit of any other.
    let visit_of = |member: &str| -> u64 {
        let text = visits.get(member).map_or("", String::as_str);
        let number = text.split(' ').next().unwrap_or_default();
        let number = number.parse().expect("an entry with a deadline has a visit");
        let place = WaitScore::from_raw(number).expect("a place or a visit");
        // The low bits of a place are the visit, and a visit has no others.
        place.order()
    };
    let id_of = |member: &str| EntryId::from_member(member).expect("a member is a valid entry id");
    let mut entries = BTreeMap::new();
    for (member, place) in &waiting {
        let known = KnownState {
            state: EntryState::Waiting,
            place_or_visit: *place,
            deadline_ms: 0,
        };
        entries.insert(id_of(member), known);
    }
    for (state, set) in [(EntryState::Ready, &ready), (EntryState::Active, &active)] {
        for (member, deadline_ms) in set {
            let known = KnownState {
                state,
                place_or_visit: visit_of(member),
                deadline_ms: *deadline_ms,
            };
            entries.insert(id_of(member), known);
        }
    }
    Some(entries)
}

async fn read_table(world: &World) -> Option<BTreeMap<EntryId, EntryRecord>> {
    let mut entries = BTreeMap::new();
    for shard in 0..SHARD_COUNT {
        let records = world
            .deployment
            .backup
            .read_live_entries(&partition(world), shard, u64::MAX)
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
