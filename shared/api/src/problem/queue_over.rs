//! What a problem says of a queue that is over.

use serde::Serialize;
use vestibule_domain::settings::FinishReason;

use crate::message::MessageFields;

/// What the problem of a queue that is over says besides.
#[derive(Debug, Serialize)]
pub(super) struct QueueOver {
    /// Why, if the queue is finished.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) finish_reason: Option<FinishReason>,
    /// The operator's message, if the queue is finished.
    #[serde(flatten)]
    pub(super) message: MessageFields,
    /// If the queue was deleted: passes of an earlier epoch are void.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) min_epoch: Option<u32>,
}
