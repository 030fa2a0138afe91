//! How often an entry calls an API that the authorizer protects.

use async_trait::async_trait;
use vestibule_domain::{
    call_limit::CallLimit,
    id::{EntryId, QueueId},
};

use super::{CallOutcome, LineError};

/// The count of the calls of each entry, over all processes of a deployment.
#[async_trait]
pub trait CallBudget: Send + Sync + 'static {
    /// Counts one call of an entry if the limit allows it. A refused call does not count. The line need
    /// have neither the queue nor the entry: the caller has proven that the entry exists, and the line
    /// forgets its calls after the period of the limit.
    async fn take_call(
        &self,
        queue: &QueueId,
        id: EntryId,
        limit: CallLimit,
    ) -> Result<CallOutcome, LineError>;
}
