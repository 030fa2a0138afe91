//! Subscribes to the messages that `promote.lua` publishes.

use vestibule_domain::id::QueueId;
use vestibule_line::{LineError, TickSubscription};

use super::{RedisLine, keys::Keys};

pub(super) async fn subscribe(line: &RedisLine, queue: &QueueId) -> Result<TickSubscription, LineError> {
    line.connection.subscribe(Keys::new(queue).key("changes")).await
}
