//! Subscribes to the messages that `promote.lua` publishes.

use vestibule_domain::id::QueueId;

use super::{Line, keys::Keys};
use crate::{LineError, TickSubscription};

impl Line {
    /// Subscribes to the promotions of a queue. The line need not have the queue.
    ///
    /// The subscription begins at some moment before this call returns, so the caller may miss
    /// earlier promotions. A caller that waits for an entry therefore reads its status once more
    /// after subscribing. A message may be lost, and the subscription may end: see
    /// [`TickSubscription`].
    pub async fn subscribe(&self, queue: &QueueId) -> Result<TickSubscription, LineError> {
        self.connection.subscribe(Keys::new(queue).key("changes")).await
    }
}
