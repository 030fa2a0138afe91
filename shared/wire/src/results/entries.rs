//! Results about many entries.

use serde::Serialize;
use vestibule_domain::{presence::PresenceState, state::EntryState};

/// The result of `entries`: one page.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct EntryList {
    /// The id of the queue.
    pub queue: String,
    /// The generation of the queue.
    pub generation: u32,
    /// The entries of the page, in the order of shard and token. A page may be short or empty before the last one.
    pub entries: Vec<EntryRow>,
    /// The `cursor` of the command that shows the next page. Null after the last one.
    pub cursor: Option<String>,
    /// True if the line does not answer, so that the states are those of the backup.
    pub degraded: bool,
}

/// One entry of a page. A live entry is as the line has it, an ended one as the backup has it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct EntryRow {
    /// The token of the entry, a UUID.
    pub token: String,
    /// The state of the entry.
    pub state: EntryState,
    /// For a waiting entry: where its visitor is. Null for any other, and if the line does not answer.
    pub presence: Option<PresenceState>,
    /// The number of the visit.
    pub visit: u64,
    /// The lane, from 0 (served first) to 7. Null if the backup does not have the place.
    #[cfg_attr(feature = "schemas", schemars(range(max = 7)))]
    pub lane: Option<u8>,
    /// When the visitor entered, in Unix milliseconds. Null if the backup does not have the place.
    pub joined_at_ms: Option<u64>,
    /// When the entry was promoted, in Unix milliseconds. Null if it was not.
    pub promoted_at_ms: Option<u64>,
    /// When the visitor was let in, in Unix milliseconds. Null if that did not happen.
    pub claimed_at_ms: Option<u64>,
    /// The last deadline, in Unix milliseconds: of the claim, or the end of the session. Null if there was none.
    pub expires_at_ms: Option<u64>,
    /// When the visit ended, in Unix milliseconds. Null if it goes on, and if its time ran out.
    pub ended_at_ms: Option<u64>,
    /// How the visit ended: `completed`, `left`, `evicted`, `no-show`, `expired`, `absence`, `overlong-wait` or `dismissed`, or
    /// how the protected service consumed it. Null if it goes on.
    pub ended_by: Option<String>,
}

/// The result of `evict` with many entries.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Evictions {
    /// The id of the queue.
    pub queue: String,
    /// How many entries were evicted.
    pub evicted: u64,
    /// How many matching entries are left. The same command again evicts them.
    pub remaining: usize,
    /// How many entries of the source or the time stay: their visitors were present or let in, or came a moment ago.
    pub spared: u64,
    /// True if all matching entries were evicted.
    pub complete: bool,
    /// Whether the backup has the changes. If not, the promoter writes them when it can.
    pub durable: bool,
}

/// How many entries an `evict` without its confirmation would evict: the member `matching` of the problem
/// `confirmation-needed`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct MatchingEntries {
    #[allow(missing_docs)] // Its members are those of the object.
    #[serde(flatten)]
    pub counts: StageCounts,
    /// How many entries of the source or the time would stay: their visitors were present or let in, or came a moment ago.
    pub spared: u64,
    /// Whether all entries of the queue were looked at.
    pub complete: bool,
}

/// How many entries are at each stage. Those that wait are `present`, `absent`, `called` or `not_called`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct StageCounts {
    /// All live entries.
    pub entries: u64,
    /// Waiting entries whose visitors checked in lately, or all if presence is off.
    pub present: u64,
    /// Waiting entries that were passed over, because the visitor had not checked in.
    pub absent: u64,
    /// Waiting entries that are called, and whose visitors are not present.
    pub called: u64,
    /// Waiting entries that are not called yet.
    pub not_called: u64,
    /// Entries that are promoted and not yet claimed.
    pub ready: u64,
    /// Entries that are let in.
    pub active: u64,
}

/// The result of `sources`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SourceList {
    /// The id of the queue.
    pub queue: String,
    /// The sources with the most live entries, the largest first.
    pub sources: Vec<SourceRow>,
    /// How many sources were found.
    pub sources_found: usize,
    /// How many records were read.
    pub entries_read: u64,
    /// How many shards were read. If they are not all, the counts are estimates from this sample.
    pub sampled_shards: u64,
    /// How many shards there are.
    #[cfg_attr(feature = "schemas", schemars(range(max = 64)))]
    pub shards: u8,
    /// The entries of all sources beyond the first 100,000. Null if there are no more.
    pub others: Option<SourceCounts>,
}

/// The entries of one source.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SourceRow {
    /// The source: a hash of an address, or of a network of IPv6. Null for entries whose source is not known.
    pub source: Option<String>,
    /// Whether the source is blocked.
    pub blocked: bool,
    #[allow(missing_docs)] // Its members are those of the row.
    #[serde(flatten)]
    pub counts: SourceCounts,
}

/// How many entries there are of one source, or of several. `entries` counts the live ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SourceCounts {
    #[allow(missing_docs)] // Its members are those of the object.
    #[serde(flatten)]
    pub live: StageCounts,
    /// Live entries that wait, and whose visitors have never checked in.
    pub never_present: u64,
    /// Entries that were let in, whether they have ended or not.
    pub claimed: u64,
    /// Entries that have ended.
    pub ended: u64,
    /// When the first of the visitors entered, in Unix milliseconds. Null if that is not known.
    pub first_joined_at_ms: Option<u64>,
    /// When the last of the visitors entered, in Unix milliseconds. Null if that is not known.
    pub last_joined_at_ms: Option<u64>,
}
