//! The arguments of each command. A field that may be left out may be `null` as well, except `settings`. Fields that several
//! commands share are written again in each: serde lets unknown fields pass beside a `flatten`. They have no `Debug`, because a
//! visitor id must not be logged.

use serde::{Deserialize, Deserializer, de::Error};
use serde_json::{Map, Value};
use vestibule_domain::{
    id::{EntryId, QueueId, SHARD_COUNT, Source, VisitorKind},
    lane::{LANES, Lane},
    queue_pattern::QueuePattern,
    settings::FinishReason,
    state::EntryState,
};

use super::fields::{OneOf, Thousandths, UnixMs, Whole, read_list};

/// The most queues in one `create`.
pub const CREATE_QUEUES_MAX: usize = 1_000;
/// The most tokens in one `evict`.
pub const EVICT_TOKENS_MAX: usize = 1_000;
/// The longest block with an end, in seconds: 30 days.
const BLOCK_SECONDS_MAX: u32 = 30 * 24 * 3_600;
const DAY_SECONDS: u32 = 86_400;
const LAST_LANE: u32 = 7;
const LAST_SHARD: u32 = 63;
const _: () = assert!(LANES == 8 && SHARD_COUNT == 64);

/// The queue that a command concerns.
#[derive(Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct QueueOrder {
    /// The queue's id.
    pub queue: QueueId,
}

/// The queue that a command concerns which must be confirmed.
#[derive(Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ConfirmedOrder {
    /// The queue's id.
    pub queue: QueueId,
    /// The queue's id once more.
    pub confirm: Option<String>,
    /// The queue's present epoch, as `describe` shows it.
    pub epoch: Option<Whole<0, { u32::MAX }>>,
}

/// The queue or the queues to create.
#[derive(Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CreateOrder {
    /// The id of the queue. Beside `queues` it is the first of them.
    pub queue: Option<String>,
    /// 1 to 1,000 ids. One that is not valid fails alone, with a problem in its row of the answer.
    #[serde(default, deserialize_with = "read_queue_ids")]
    #[cfg_attr(feature = "schemas", schemars(with = "Option<Vec<String>>"))]
    pub queues: Option<Vec<Value>>,
    /// The settings that are not to have their defaults.
    #[serde(default)]
    pub settings: GivenSettings,
}

/// The prefix whose defaults to show, to replace or to remove.
#[derive(Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DefaultsOrder {
    /// The beginning of the ids and a `*`. Without it, the defaults of all prefixes are shown.
    pub prefix: Option<QueuePattern>,
    /// The defaults that replace those of the prefix; `null` removes them. Without it, they are shown.
    #[serde(default, deserialize_with = "keep_null")]
    #[cfg_attr(feature = "schemas", schemars(with = "Option<Map<String, Value>>", extend("x-null" = true)))]
    pub settings: Option<Value>,
}

/// What to change of the settings of a queue.
#[derive(Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct UpdateOrder {
    /// The queue's id.
    pub queue: QueueId,
    /// The settings to change; `null` takes a setting back to its default.
    pub settings: GivenSettings,
    /// The settings that the operator has seen, as `describe` shows it. None of those to change may have changed since.
    pub revision: Option<String>,
    /// The queue's id once more. It counts only if the change needs it.
    pub confirm: Option<String>,
    /// The queue's present epoch. It counts only if the change needs it.
    pub epoch: Option<Whole<0, { u32::MAX }>>,
}

/// The queue to describe.
#[derive(Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DescribeOrder {
    /// The queue's id.
    pub queue: QueueId,
    /// Whether to describe every setting and every command, too.
    pub help: Option<bool>,
}

/// Which queues to list.
#[derive(Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ListOrder {
    /// What their ids begin with. A `*` at the end counts for nothing.
    pub prefix: Option<String>,
    /// The queue after which the list goes on: the last one of the answer before.
    pub after: Option<QueueId>,
}

/// Why a queue ends.
#[derive(Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FinishOrder {
    /// The queue's id.
    pub queue: QueueId,
    /// The headline for those who waited; `over` by default.
    pub reason: Option<OneOf<FinishReason>>,
    /// The last message: a text, or one for each language. Without it, the present one stays.
    pub message: Option<Value>,
    /// The queue's id once more.
    pub confirm: Option<String>,
    /// The queue's present epoch, as `describe` shows it.
    pub epoch: Option<Whole<0, { u32::MAX }>>,
}

/// Whom to promote: some from the heads of the lanes, or one.
#[derive(Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PromoteOrder {
    /// The queue's id.
    pub queue: QueueId,
    /// How many entries, at most.
    pub count: Option<Whole<1, 1_000_000>>,
    /// The token of the only entry to promote.
    pub token: Option<EntryId>,
    /// The visitor's id, instead of the token.
    pub visitor: Option<String>,
    /// The kind of the visitor. Without it, entries of both kinds are looked for.
    pub kind: Option<OneOf<VisitorKind>>,
    /// Whether one entry is promoted beyond the pace.
    pub over_pace: Option<bool>,
}

/// Which entry moves to which lane.
#[derive(Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LaneOrder {
    /// The queue's id.
    pub queue: QueueId,
    /// The entry's token.
    pub token: Option<EntryId>,
    /// The visitor's id, instead of the token.
    pub visitor: Option<String>,
    /// The kind of the visitor. Without it, entries of both kinds are looked for.
    pub kind: Option<OneOf<VisitorKind>>,
    /// The lane; 0 is served first.
    pub lane: Whole<0, LAST_LANE>,
}

/// Whom to remove: one entry, those of a list, or those of a source or of a time.
#[derive(Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct EvictOrder {
    /// The queue's id.
    pub queue: QueueId,
    /// The entry's token.
    pub token: Option<EntryId>,
    /// The visitor's id, instead of the token.
    pub visitor: Option<String>,
    /// The kind of the visitor. Without it, entries of both kinds are looked for.
    pub kind: Option<OneOf<VisitorKind>>,
    /// 1 to 1,000 tokens.
    #[serde(default, deserialize_with = "read_entry_tokens")]
    pub tokens: Option<Vec<EntryId>>,
    /// The source of the entries, as `sources` shows it.
    pub source: Option<Source>,
    /// The first moment at which they joined, in Unix milliseconds.
    pub joined_from_ms: Option<UnixMs>,
    /// The last moment at which they joined, in Unix milliseconds.
    pub joined_to_ms: Option<UnixMs>,
    /// Whether to remove also the visitors who have been present, and those who were let in.
    pub all: Option<bool>,
    /// The queue's id once more.
    pub confirm: Option<String>,
    /// The queue's present epoch, as `describe` shows it.
    pub epoch: Option<Whole<0, { u32::MAX }>>,
}

/// Which entry to show.
#[derive(Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct InspectOrder {
    /// The queue's id.
    pub queue: QueueId,
    /// The entry's token.
    pub token: Option<EntryId>,
    /// The visitor's id, instead of the token.
    pub visitor: Option<String>,
    /// The kind of the visitor. Without it, entries of both kinds are looked for, and that of the known visitor is shown.
    pub kind: Option<OneOf<VisitorKind>>,
}

/// How many sources to show.
#[derive(Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SourcesOrder {
    /// The queue's id.
    pub queue: QueueId,
    /// How many sources, at most; 20 by default.
    pub limit: Option<Whole<1, 1_000>>,
}

/// Whom to block: a visitor, or a source.
#[derive(Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct BlockOrder {
    /// The queue's id.
    pub queue: QueueId,
    /// The entry's token.
    pub token: Option<EntryId>,
    /// The visitor's id, instead of the token.
    pub visitor: Option<String>,
    /// The kind of the visitor. Without it, entries of both kinds are looked for.
    pub kind: Option<OneOf<VisitorKind>>,
    /// The source, as `sources` shows it.
    pub source: Option<Source>,
    /// How long the block lasts, in seconds. Without it, that of a source lasts an hour, and that of a visitor until `unblock`.
    pub for_seconds: Option<Whole<1, BLOCK_SECONDS_MAX>>,
}

/// Whose block to end.
#[derive(Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct UnblockOrder {
    /// The queue's id.
    pub queue: QueueId,
    /// The entry's token.
    pub token: Option<EntryId>,
    /// The visitor's id, instead of the token.
    pub visitor: Option<String>,
    /// The kind of the visitor. Without it, blocks of both kinds are looked for.
    pub kind: Option<OneOf<VisitorKind>>,
    /// The source, as `sources` shows it.
    pub source: Option<Source>,
}

/// Which report to show, and how.
#[derive(Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ReportOrder {
    /// The queue's id.
    pub queue: QueueId,
    /// `json` by default.
    pub format: Option<OneOf<ReportFormat>>,
    /// The generation; the last one by default.
    pub generation: Option<Whole<1, { u32::MAX }>>,
}

/// How a report is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ReportFormat {
    /// As members of the answer.
    Json,
    /// As one text of rows, for a spreadsheet.
    Csv,
}

/// Which entries to show.
#[derive(Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct EntriesOrder {
    /// The queue's id.
    pub queue: QueueId,
    /// Their state; any by default.
    pub state: Option<OneOf<EntryState>>,
    /// How many entries, at most; 100 by default.
    pub limit: Option<Whole<1, 1_000>>,
    /// Where the page begins: the `cursor` of the answer before.
    pub cursor: Option<String>,
}

/// Where a check begins.
#[derive(Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CheckOrder {
    /// The queue's id.
    pub queue: QueueId,
    /// The first shard to check; 0 by default. The answer to a check that ran out of time has the next one.
    pub from_shard: Option<Whole<0, LAST_SHARD>>,
}

/// What the settings of a queue are computed from: a protected service (`tps`), or a crowd (`visitors`).
#[derive(Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PlanOrder {
    /// Calls that the protected service answers per second.
    pub tps: Option<Whole<1, 10_000_000>>,
    /// Calls of one visitor in a session, on average; up to three decimals, such as `6.5`.
    pub calls: Option<Thousandths<100_000>>,
    /// The length of a session, in seconds; 300 by default for a crowd.
    pub session_seconds: Option<Whole<1, DAY_SECONDS>>,
    /// The share of the calls that fail and are sent again, in percent; 0 by default.
    pub failure_percent: Option<Whole<0, 100>>,
    /// The share of the service that stays free for everything else, in percent; 0 by default.
    pub margin_percent: Option<Whole<0, 99>>,
    /// How often a batch is let in, in seconds; 10 by default.
    pub interval_seconds: Option<Whole<1, 3_600>>,
    /// Instead of `interval_seconds`: how many batches are inside at once. The interval is `session_seconds / target_load`.
    pub target_load: Option<Whole<1, DAY_SECONDS>>,
    /// How many visitors come.
    pub visitors: Option<Whole<1, 100_000_000>>,
    /// The time in which they come, in seconds; 1,800 by default, or as long as the line needs.
    pub arrival_seconds: Option<Whole<1, DAY_SECONDS>>,
    /// How long they are to wait on average, in minutes; 30 by default, and 0 for as short as possible. The wait is longer if the line
    /// is slower.
    pub wait_minutes: Option<Whole<0, 1_440>>,
    /// How often the protected service asks `validate` about each visitor; 0 by default.
    pub checks: Option<Whole<0, 10_000>>,
    /// The cache that holds the line; `serverless` by default.
    pub cache: Option<OneOf<CacheKind>>,
    /// Whether the API answers the reads of the public document, because no CDN stands before it.
    pub without_cdn: Option<bool>,
}

/// The cache that holds the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum CacheKind {
    /// `ElastiCache` Serverless, the default of the template.
    Serverless,
    /// Nodes (`CacheNodeType`), or a Redis of the owner.
    Node,
}

/// No arguments.
#[derive(Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PreflightOrder {}

/// How urgent the rotation of the signing key is.
#[derive(Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RotateOrder {
    /// Whether the present keys have leaked, so that they are void at once.
    pub leaked: Option<bool>,
}

/// Settings by name, as an operator gives them.
#[derive(Debug, Clone, Default)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schemas", schemars(inline))]
pub struct GivenSettings(pub Map<String, Value>);

impl<'de> Deserialize<'de> for GivenSettings {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match Value::deserialize(from)? {
            Value::Object(settings) => Ok(Self(settings)),
            _ => Err(Error::custom("must be an object of settings")),
        }
    }
}

/// The ids of queues as they are given, so that one which is not valid fails alone.
fn read_queue_ids<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<Value>>, D::Error> {
    read_list(from, CREATE_QUEUES_MAX, "queue ids")
}

/// Different tokens.
fn read_entry_tokens<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<EntryId>>, D::Error> {
    let Some(values) = read_list(from, EVICT_TOKENS_MAX, "entry tokens")? else {
        return Ok(None);
    };
    let tokens = values
        .iter()
        .map(|value| value.as_str().unwrap_or_default().parse());
    let mut tokens: Vec<EntryId> = tokens.collect::<Result<_, _>>().map_err(Error::custom)?;
    tokens.sort_unstable();
    tokens.dedup();
    Ok(Some(tokens))
}

/// A value that may be `null`, which is not the same as an absent one.
fn keep_null<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

impl CheckOrder {
    /// The first shard to check.
    pub fn from_shard(&self) -> u8 {
        let shard = self
            .from_shard
            .map(Whole::get)
            .and_then(|shard| u8::try_from(shard).ok());
        shard.unwrap_or_default()
    }
}

impl LaneOrder {
    /// The lane.
    pub fn lane(&self) -> Lane {
        Lane::new(self.lane.get().into()).unwrap_or_default()
    }
}
