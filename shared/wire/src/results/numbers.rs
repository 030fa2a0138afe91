//! The results of `list` and `stats`.

use serde::Serialize;
use vestibule_domain::{
    clock::ClockDifference,
    estimate::Estimate,
    pace::LimitedBy,
    queue_state::QueueState,
    settings::{Entrance, Mode},
    tally::QueueTotals,
};

/// The result of `list`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct QueueList {
    /// The queues, in the order of their ids.
    pub queues: Vec<QueueRow>,
    /// The `after` of the command that lists the next queues. Null if there are no more.
    pub after: Option<String>,
}

/// One queue of a list. It has `problem`, or the numbers of a queue that answers.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct QueueRow {
    /// The id of the queue.
    pub queue: String,
    #[allow(missing_docs)] // Its members are those of the row.
    #[serde(flatten)]
    pub numbers: Option<ListedNumbers>,
    /// Why the queue has no numbers. Absent if it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// The numbers of a queue in a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ListedNumbers {
    #[allow(missing_docs)] // Its members are those of the row.
    #[serde(flatten)]
    pub numbers: QueueNumbers,
    /// How many visits were completed since the line created or restored the queue.
    pub completed: u64,
    /// Who may enter now.
    #[cfg_attr(feature = "schemas", schemars(schema_with = "crate::schemas::entrance"))]
    pub entrance: Entrance,
    /// True while the clocks of the line's server and of the admin function differ too much, so that no entry is promoted.
    pub clocks_apart: bool,
}

/// The numbers of a queue that `list` and `stats` show.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct QueueNumbers {
    /// Line time, in Unix milliseconds.
    pub now_ms: u64,
    /// What the queue does.
    pub state: QueueState,
    /// Whether visitors line up.
    pub mode: Mode,
    /// Whether an operator has paused the promotion.
    pub paused: bool,
    /// How many entries wait, absent ones not counted.
    pub waiting: u64,
    /// How many waiting entries are called to check in, absent ones not counted.
    pub called: u64,
    /// How many waiting entries have a visitor who is present.
    pub present: u64,
    /// How many waiting entries were passed over, because the visitor had not checked in. They keep their places.
    pub absent: u64,
    /// How many entries are promoted and not yet claimed.
    pub ready: u64,
    /// How many entries are let in.
    pub active: u64,
    /// How many slots are held for visitors who left or were evicted, as long as a pass of theirs can still be shown.
    pub held: u64,
    /// How many slots there are for ready, active and held entries.
    pub capacity: u32,
    /// How many entries are promoted per interval by the pace in force, which an adaptive queue moves.
    pub batch: u64,
    /// The length of an interval, in seconds.
    pub interval_seconds: u64,
    /// The expected wait of the last in line. Null if none waits, or if no estimate is possible.
    #[cfg_attr(feature = "schemas", schemars(extend("x-null" = true)))]
    pub estimated_wait_seconds: Option<Estimate>,
}

/// The result of `stats`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct QueueStats {
    /// The id of the queue.
    pub queue: String,
    #[allow(missing_docs)] // Its members are those of the result.
    #[serde(flatten)]
    pub numbers: QueueNumbers,
    /// Whether as many visitors wait as `queue_limit` allows.
    pub full: bool,
    /// With an adaptive pace: whether the last load report says that the protected service is not healthy, or is too old. No
    /// entry is promoted then.
    pub service_down: bool,
    /// Why no entry is promoted, although some wait. Null if entries are promoted, and if the next one is only not due yet.
    pub limited_by: Option<LimitedBy>,
    /// How many ends the backup may not have yet.
    pub unsettled_ends: u64,
    /// How many records the backup does not have yet.
    pub journal: u64,
    /// The lengths of the journal at which it takes no more.
    pub journal_limits: JournalCapacity,
    /// How many changes the backup refuses again and again. Above 0, an operator must act.
    pub dead_lettered: u64,
    /// How long ago the promoter ticked the queue, in milliseconds. Null if it never did, and while it is parked.
    pub heartbeat_age_ms: Option<u64>,
    /// How long ago a request ticked the queue, because the promoter did not, in milliseconds. Null if none did.
    pub fallback_tick_age_ms: Option<u64>,
    /// How many entries the pace allows to promote at once now.
    pub bucket_tokens: u64,
    /// How many entries took a slot per second in the last one or two minutes. Null if no rate was observed.
    pub served_per_second: Option<f64>,
    /// How the clocks of the line's server and of the admin function compare.
    pub clock: ClockDifference,
    /// How many visits began, ended, and so on, since the generation began.
    pub totals: QueueTotals,
    /// How long the promoted entries had waited.
    pub waits: DurationTotals,
    /// How long the sessions lasted that ended.
    pub stays: StayTotals,
    /// How the totals compare with the entries in the line.
    pub imbalance: Imbalance,
    /// How long ago the line noticed that it may have lost changes, in milliseconds. Null if no check is due for that.
    pub check_due_age_ms: Option<u64>,
    /// The last load report of the protected service that still counts. Null if there is none.
    pub load: Option<LastLoad>,
    /// The epoch of the queue, which confirms commands.
    pub epoch: u32,
    /// The generation of the queue. Each reset raises it.
    pub generation: u32,
    /// The switches that only the line has, because the backup was unavailable. The promoter stores them.
    pub unsaved_switches: Vec<String>,
}

/// The lengths of the journal at which it takes no more, in records.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct JournalCapacity {
    /// From this length on, no new visitor gets a place.
    pub newcomers: u64,
    /// From this length on, no entry is promoted, either.
    pub promotions: u64,
}

/// Durations by their number and sum.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct DurationTotals {
    /// How many there were.
    pub count: u64,
    /// Their sum, in milliseconds.
    pub sum_ms: u64,
}

/// How long sessions lasted.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct StayTotals {
    /// How many ended.
    pub count: u64,
    /// The sum of their lengths, in milliseconds.
    pub sum_ms: u64,
    /// The length that half of them did not exceed, in milliseconds. Null without a session.
    pub p50_ms: Option<u64>,
    /// The length that 90 % of them did not exceed, in milliseconds. Null without a session.
    pub p90_ms: Option<u64>,
}

/// How the totals compare with the entries in the line. The difference stays the same until the line loses entries.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Imbalance {
    /// Visits that began or returned, minus those that ended, minus the entries in the line.
    pub visits: i64,
    /// The same when the last consistency check began, or at the restore if there was none since.
    pub at_check: i64,
}

/// A load report of the protected service.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LastLoad {
    /// The requests per second that the service serves. Null if it does not say.
    pub tps: Option<u32>,
    /// The time that the service takes for one request, in milliseconds. Null if it does not say.
    pub latency_ms: Option<u32>,
    /// Whether the service considers itself healthy.
    pub healthy: bool,
    /// How long ago the report came, in milliseconds.
    pub age_ms: u64,
}
