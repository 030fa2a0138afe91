//! The public document of a queue, which every client may read.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use vestibule_domain::{
    estimate::Estimate,
    lane::LaneProgress,
    pace::LimitedBy,
    queue_state::QueueState,
    settings::{Entrance, FinishReason, Mode},
};

use super::Message;

/// What every reader learns of a queue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct PublicDocument {
    /// The id of the queue.
    pub queue: String,
    /// What the queue does.
    pub state: QueueState,
    /// Rises with each restore. Places stay valid.
    pub epoch: u32,
    /// Rises with each reset, which voids all entries.
    pub generation: u32,
    /// When the document was made. Ignore a copy with a lower `generation`, `epoch` or `now_ms` than one already seen.
    pub now_ms: u64,
    /// The least time until a client reads the document again.
    pub refresh_near_ms: u64,
    /// The longest time until a client reads the document again.
    pub refresh_far_ms: u64,
    /// Over which time clients spread their requests at random after a new `epoch` or `generation`.
    pub resync_ms: u64,
    /// How far each lane has moved, by the number of the lane.
    #[cfg_attr(feature = "schemas", schemars(with = "BTreeMap<String, Lane>"))]
    pub lanes: BTreeMap<u8, Lane>,
    /// The number of waiting entries.
    pub waiting: u64,
    /// Whether as many visitors wait as the queue allows. Then a visitor without a place gets 503 `queue-full`.
    pub full: bool,
    /// Promotions per second; null before the first ones.
    pub rate: Option<f64>,
    /// The expected waits at positions spread over the line, in ascending order. Between two positions the wait follows by
    /// interpolation. Empty if the line does not move, or if no estimate is possible. A lane with its own counts by that.
    pub estimated_waits: Vec<PositionWait>,
    /// Whether an operator has paused the promotion.
    pub paused: bool,
    /// `queue`: visitors line up. `passthrough`: every visitor who enters is let in at once.
    #[cfg_attr(feature = "schemas", schemars(schema_with = "super::schemas::mode"))]
    pub mode: Mode,
    /// Who may enter at `now_ms`.
    #[cfg_attr(feature = "schemas", schemars(schema_with = "super::schemas::entrance"))]
    pub entrance: Entrance,
    /// Why the queue is over, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<FinishReason>,
    /// While the state is `scheduled`: when the queue opens. The document has no lanes and no estimates then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opens_at_ms: Option<u64>,
    /// While the state is `scheduled`: over which time clients spread entering at random.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enter_spread_ms: Option<u64>,
    /// While the state is `scheduled`, if the queue draws: the SHA-256 of the seed.
    #[cfg_attr(feature = "schemas", schemars(regex(pattern = "^[0-9a-f]{64}$")))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draw_commitment: Option<String>,
    /// After the opening of a queue that draws: the seed. The lowest 49 bits of the place of an entry that came before are the
    /// first 49 bits of HMAC-SHA256(seed, the 16 bytes of the token).
    #[cfg_attr(feature = "schemas", schemars(regex(pattern = "^[0-9a-f]{64}$")))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draw_seed: Option<String>,
    /// From this moment on no new visitor enters. Absent if none is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closes_at_ms: Option<u64>,
    /// From this moment on the queue is finished. Absent if none is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends_at_ms: Option<u64>,
    /// Why the line promotes no entry now, although some wait: `capacity`, the protected service is full; `presence`, the
    /// next visitors have been called and have not polled yet; `service`, the protected service is not healthy or has not
    /// reported its load; `switch`, the queue is paused, closed, finished or has not opened yet; `journal`, the backup is too
    /// far behind; `clock`, the clocks of Redis and its callers disagree.
    #[cfg_attr(feature = "schemas", schemars(schema_with = "super::schemas::limited_by"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limited_by: Option<LimitedBy>,
    /// Passes with a lower epoch are void. For services that check passes offline.
    pub min_epoch: u32,
    /// The ids (`kid`) of signing keys that leaked. Passes of theirs are void. For services that check passes offline. Absent
    /// if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub void_keys: Vec<String>,
    #[allow(missing_docs)] // Its members are those of the document.
    #[serde(flatten)]
    pub message: Message,
}

/// How far a lane has moved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Lane {
    /// The highest place that was promoted.
    pub promoted_through: u64,
    /// A visitor whose place is not above this one is called: the client polls the entry.
    pub check_in_through: u64,
    /// The highest place that went past the head.
    pub passed_through: u64,
    /// How many entries went past the head, minus those that came back to a place in line.
    pub gone_ahead: i64,
    /// How many entries went past the head per second in the last half minute, promoted or passed over. Null before it was
    /// measured.
    #[cfg_attr(feature = "schemas", schemars(range(min = 0)))]
    pub speed: Option<f64>,
    /// The expected waits at positions spread over the lane, if other lanes have a part of the promotions. They count then,
    /// instead of those of the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimated_waits: Option<Vec<PositionWait>>,
    /// How many turns come before those at positions spread over the lane, if other lanes have turns too. Otherwise it is one
    /// less than the position.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ahead: Option<Vec<PositionAhead>>,
    /// True if `ahead` is the expected number, because lanes share the turns. Otherwise absent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ahead_is_expected: bool,
}

/// How many turns come before the one at a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct PositionAhead {
    /// The position in the lane.
    #[cfg_attr(feature = "schemas", schemars(range(min = 1)))]
    pub position: u64,
    /// The number of turns before it.
    pub ahead: u64,
}

/// The expected wait at a position.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct PositionWait {
    /// The position in the line, or in the lane.
    #[cfg_attr(feature = "schemas", schemars(range(min = 1)))]
    pub position: u64,
    /// The shortest, in seconds.
    pub low: u64,
    /// The longest, in seconds.
    pub high: u64,
}

impl From<(u64, u64)> for PositionAhead {
    fn from((position, ahead): (u64, u64)) -> Self {
        Self { position, ahead }
    }
}

impl From<(u64, Estimate)> for PositionWait {
    fn from((position, Estimate { low, high }): (u64, Estimate)) -> Self {
        Self { position, low, high }
    }
}

impl From<LaneProgress> for Lane {
    fn from(progress: LaneProgress) -> Self {
        Self {
            promoted_through: progress.passed_through,
            check_in_through: progress.check_in_through,
            passed_through: progress.passed_through,
            gone_ahead: progress.gone_ahead,
            speed: progress.speed.per_second(),
            estimated_waits: None,
            ahead: None,
            ahead_is_expected: false,
        }
    }
}
