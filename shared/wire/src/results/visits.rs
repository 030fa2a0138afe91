//! Results about one entry, and of `promote`.

use serde::Serialize;
use vestibule_domain::{pace::LimitedBy, state::EntryState};

/// The result of `promote` with a count.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Promotion {
    /// The id of the queue.
    pub queue: String,
    /// How many entries the command asked for.
    pub requested: u64,
    /// How many entries were promoted.
    pub promoted: u64,
    /// Why no more entries were promoted.
    pub limited_by: LimitedBy,
    /// How many entries wait now, also the absent ones.
    pub waiting: u64,
    /// How many entries are promoted and not yet claimed.
    pub ready: u64,
    /// How many entries are let in.
    pub active: u64,
    /// Whether the backup has the changes. If not, the promoter writes them when it can.
    pub durable: bool,
}

/// The result of `promote` with one entry.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct EntryPromotion {
    /// The id of the queue.
    pub queue: String,
    /// The token of the entry, a UUID.
    pub token: String,
    /// One.
    pub promoted: u64,
    /// Whether the entry was promoted beyond the pace.
    pub over_pace: bool,
    /// The number of the visit.
    pub visit: u64,
    /// The deadline of the claim, in Unix milliseconds.
    pub claim_by_ms: Option<u64>,
    /// Whether the backup has the change. If not, the promoter writes it when it can.
    pub durable: bool,
}

/// The result of `lane`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LaneMove {
    /// The id of the queue.
    pub queue: String,
    /// The token of the entry, a UUID.
    pub token: String,
    /// The lane of the entry now, from 0 (served first) to 7.
    #[cfg_attr(feature = "schemas", schemars(range(max = 7)))]
    pub lane: u8,
    /// The lane that the entry had.
    #[cfg_attr(feature = "schemas", schemars(range(max = 7)))]
    pub from_lane: u8,
    /// The position in the lane, 1 at the head. Null if the entry does not wait any more.
    pub position: Option<u64>,
    /// The number of the visit.
    pub visit: u64,
    /// Whether the backup has the change. If not, the promoter writes it when it can.
    pub durable: bool,
}

/// The result of `evict` with one entry.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Eviction {
    /// The id of the queue.
    pub queue: String,
    /// The token of the entry, a UUID.
    pub token: String,
    /// The state of the entry now.
    pub state: EntryState,
    /// The number of the visit.
    pub visit: u64,
    /// Whether the backup has the change. If not, the promoter writes it when it can.
    pub durable: bool,
}

/// The result of `inspect`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct InspectedEntry {
    /// The id of the queue.
    pub queue: String,
    /// The token of the entry, a UUID.
    pub token: String,
    /// How the visitor is identified: `known` by an authorizer, a ticket or a trusted caller, or `anon` by a random id.
    #[cfg_attr(feature = "schemas", schemars(extend("enum" = ["known", "anon"])))]
    pub kind: &'static str,
    /// Where the entry is in the line. Null if the line does not know it.
    pub place: Option<Place>,
    /// The block that keeps the visitor out. Null if there is none.
    pub blocked: Option<BlockInForce>,
    /// The keys of the record's item in the table of the entries, by which an operator deletes it. Null without a record.
    pub item: Option<RecordKeys>,
    /// What the backup has of the entry. Null if it has nothing.
    pub record: Option<RecordedVisit>,
}

/// Where an entry is in the line. A member that does not apply is absent.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Place {
    /// The state of the entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<EntryState>,
    /// The number of the visit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub visit: Option<u64>,
    /// For a waiting entry: the position in the lane, 1 at the head, which the visitor is told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<u64>,
    /// For a waiting entry: the position in the whole line, which counts earlier lanes and absent entries, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank_in_line: Option<u64>,
    /// For a waiting entry: the number by which the line orders it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<u64>,
    /// For a waiting entry: the lane, from 0 (served first) to 7.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schemas", schemars(range(max = 7)))]
    pub lane: Option<u8>,
    /// For a waiting entry: when the visitor entered, in Unix milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub joined_at_ms: Option<u64>,
    /// For a ready entry: the deadline of the claim, in Unix milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim_by_ms: Option<u64>,
    /// For an active entry: when the session ends, in Unix milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at_ms: Option<u64>,
    /// For an entry that has ended, and that the line still remembers: when it ended, in Unix milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at_ms: Option<u64>,
    /// For an entry that has ended: whether the backup has the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_backup: Option<bool>,
    /// Why the place is not known: the line does not have the queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A block that keeps a visitor out, and who gave it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct BlockInForce {
    /// The source that is blocked. Null if the visitor is.
    pub source: Option<String>,
    /// When the block ends, in Unix milliseconds. Null if only `unblock` ends it.
    pub until_ms: Option<u64>,
    /// Who gave the command `block`. Null if it did not say, or if the log of orders does not have it any more.
    pub by: Option<String>,
    /// When the command was given, in Unix milliseconds. Null if the log of orders does not have it any more.
    pub at_ms: Option<u64>,
}

/// The keys of an item in the table of the entries.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct RecordKeys {
    /// The partition key.
    pub shard: String,
    /// The sort key.
    pub entry: String,
}

/// What the backup has of an entry.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct RecordedVisit {
    /// The state of the entry.
    pub state: EntryState,
    /// The step of the visit: 0 waiting, 1 ready, 2 waiting again after a missed turn, 3 ready again, 4 active, 5 a slot is held,
    /// 6 ended.
    pub step: u64,
    /// The time of the step, in Unix milliseconds: of the last move to another lane, the deadline of the claim, the end of the
    /// session, or when the held slot becomes free. 0 if the step has none.
    pub step_ms: u64,
    /// Whether the time of the step ran out.
    pub is_over: bool,
    /// The number of the visit.
    pub visit: u64,
    /// The number by which the line orders or ordered the entry. Null if the change with the place never arrived.
    pub score: Option<u64>,
    /// The version of the last change that the record contains.
    pub version: RecordVersion,
    /// When the visitor entered, in Unix milliseconds. Null if the change with the place never arrived.
    pub joined_at_ms: Option<u64>,
    /// When the entry was promoted, in Unix milliseconds. Null if it was not.
    pub promoted_at_ms: Option<u64>,
    /// When the visitor was let in, in Unix milliseconds. Null if that did not happen.
    pub claimed_at_ms: Option<u64>,
    /// The last deadline, in Unix milliseconds: of the claim, or the end of the session. Null if there was none.
    pub expires_at_ms: Option<u64>,
    /// When the visit ended, in Unix milliseconds. Null if it goes on, and if its time ran out.
    pub ended_at_ms: Option<u64>,
    /// Where the visitor entered from. Null if that is not known.
    pub source: Option<String>,
    /// The id under which the protected service consumed the visit. Null if it did not.
    pub use_id: Option<String>,
    /// Whether the visit ended because the wait was longer than `waiting_seconds_max`.
    pub is_overlong_wait: bool,
    /// When the record may be deleted, in Unix milliseconds.
    pub delete_at_ms: u64,
}

/// The version of a change: the order of all changes of a queue.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct RecordVersion {
    /// The epoch of the queue.
    pub epoch: u32,
    /// Rises with each change of the queue within an epoch.
    pub v: u64,
}
