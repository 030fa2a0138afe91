//! The entry as its visitor sees it.

use std::fmt;

use serde::{Deserialize, Serialize};
use vestibule_domain::{estimate::Estimate, queue_state::QueueState, state::EntryState};

use super::Message;

/// A visitor's place. A field that does not apply is absent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Entry {
    /// The id of the queue.
    pub queue: String,
    /// The name of the entry. It is no secret.
    #[cfg_attr(feature = "schemas", schemars(extend("format" = "uuid")))]
    pub token: String,
    /// The number of the visit. It never repeats in the queue, and a later visit has a higher one.
    #[cfg_attr(feature = "schemas", schemars(schema_with = "super::schemas::visit"))]
    pub visit: u64,
    /// Whether the entry is in line, may be claimed, or is let in.
    #[cfg_attr(feature = "schemas", schemars(schema_with = "super::schemas::live_state"))]
    pub state: EntryState,
    /// What the queue does.
    pub queue_state: QueueState,
    #[allow(missing_docs)] // Its members are those of the entry.
    #[serde(flatten)]
    pub message: Message,
    /// For a waiting entry: its order in line. The public document says up to which place visitors are called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<u64>,
    /// For a waiting entry: its lane, a key of `lanes` in the public document.
    #[cfg_attr(feature = "schemas", schemars(range(max = 7)))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<u8>,
    /// The position in the lane of the entry, 1 for its head. Where several lanes have entries, `ahead` tells when the turn comes.
    #[cfg_attr(feature = "schemas", schemars(range(min = 1)))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<u64>,
    /// For a waiting entry: how many turns come before its own, those of other lanes included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ahead: Option<u64>,
    /// For a waiting entry: how many entries have their turns after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind: Option<u64>,
    /// True if `ahead` is the expected number, because lanes share the turns (`lane_share`). Otherwise absent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ahead_is_expected: bool,
    /// With `look_after_ms`: how many entries of the lane had gone ahead when the position was read. The position falls by
    /// what the public document counts since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gone_ahead: Option<i64>,
    /// For a waiting entry that is not called: read the public document instead of this entry until it calls the place, or
    /// until this time has passed. A client that ignores it keeps to `retry_after_ms`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub look_after_ms: Option<u64>,
    /// The number of waiting entries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<u64>,
    /// The expected wait. Absent if the line stands still, or if no estimate is possible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimated_wait_seconds: Option<Estimate>,
    /// When to send the next request. Absent if `proven` is false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// True for a waiting entry of a queue whose visitors leave by closing the page. A client tells of it by `closed=true`,
    /// and asks for the state again 5 s after a page was loaded with a place.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub leave_on_close: bool,
    /// When the visitor entered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub joined_at_ms: Option<u64>,
    /// When the turn came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promoted_at_ms: Option<u64>,
    /// For a ready entry: the deadline of the claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim_by_ms: Option<u64>,
    /// The same as a duration, for clients that do not trust their clocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim_in_ms: Option<u64>,
    /// For an active entry: when the session ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at_ms: Option<u64>,
    /// The same as a duration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in_ms: Option<u64>,
    /// For an active entry, if the request proves who the visitor is: a JWT, ES256.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pass: Option<Pass>,
    /// With a pass: the address to which the visitor goes, in which {pass} and {return} are to be replaced. Without {pass},
    /// add the pass as a fragment, #pass=….
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_url: Option<String>,
    /// Whether the backup has the change that this request made, so that the change survives the loss of the line. Absent if
    /// the request changed nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub durable: Option<bool>,
    /// Whether the line is unavailable. Then the position is unknown, and no request can change the entry.
    pub degraded: bool,
    /// False if the request presented nothing but the token. Such requests keep no place and take no turn. Otherwise absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proven: Option<bool>,
    /// The visitor id that the server generated, or the secret of a visitor who entered with a ticket. Keep it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visitor: Option<Secret>,
}

impl Entry {
    /// An entry of which nothing else is to be said.
    pub fn new(queue: String, token: String, visit: u64, state: EntryState, queue_state: QueueState) -> Self {
        Self {
            queue,
            token,
            visit,
            state,
            queue_state,
            message: Message::default(),
            place: None,
            lane: None,
            position: None,
            ahead: None,
            behind: None,
            ahead_is_expected: false,
            gone_ahead: None,
            look_after_ms: None,
            waiting: None,
            estimated_wait_seconds: None,
            retry_after_ms: None,
            leave_on_close: false,
            joined_at_ms: None,
            promoted_at_ms: None,
            claim_by_ms: None,
            claim_in_ms: None,
            expires_at_ms: None,
            expires_in_ms: None,
            pass: None,
            target_url: None,
            durable: None,
            degraded: false,
            proven: None,
            visitor: None,
        }
    }
}

/// A text that must not be logged, because it is a right: `Debug` prints `***`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema), schemars(inline))]
pub struct Secret(String);

/// A signed pass. The protected service admits every caller that shows it.
pub type Pass = Secret;

impl Secret {
    /// Hides a text.
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// The text. Use it only in the answer to the visitor that owns it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// The answer about an entry whose page was closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Closing {
    /// How long the visitor may still send a request, and so keep the place.
    pub leaves_in_ms: u64,
}
