//! How many polls the whole deployment holds.

use async_trait::async_trait;
use vestibule_domain::id::EntryId;

use super::{HoldOrder, HoldOutcome, LineError};

/// The count of held polls over all processes of a deployment.
#[async_trait]
pub trait HoldBudget: Send + Sync + 'static {
    /// Counts one more held poll if the whole deployment holds fewer polls than `order.below`.
    async fn take_hold(&self, order: &HoldOrder<'_>) -> Result<HoldOutcome, LineError>;

    /// Stops counting the held polls of these entries. An entry without a counted poll changes nothing.
    async fn release_holds(&self, deployment: &str, ids: &[EntryId]) -> Result<(), LineError>;
}
