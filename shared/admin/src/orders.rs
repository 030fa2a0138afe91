//! The log of the orders that a queue got, which the command `report` shows.

use futures_util::{StreamExt, stream};
use tracing::warn;
use vestibule_backup::OperatorOrder;
use vestibule_domain::id::QueueId;
use vestibule_telemetry::clock::now_ms;

use super::{Admin, entry_partition, pending_order::PendingOrder};

const HOUR_MS: u64 = 3_600_000;

/// How many queues of one command get their log entries at the same time.
const CONCURRENT_RECORDS_MAX: usize = 16;

impl Admin {
    /// Adds a command that was carried out to the logs of its queues. A failure is logged, and the command stays carried
    /// out.
    pub(super) async fn record_order(&self, order: PendingOrder) {
        let order = &order;
        stream::iter(&order.queues)
            .for_each_concurrent(CONCURRENT_RECORDS_MAX, async |queue| {
                self.record_order_to(queue, order).await;
            })
            .await;
    }

    async fn record_order_to(&self, queue: &QueueId, order: &PendingOrder) {
        let recorded = async {
            let Some(stored) = self.backup.read_queue(queue).await? else {
                // One of many queues that could not be created.
                return Ok(());
            };
            let (at_ms, tokens) = (now_ms(), order.tokens.clone());
            let retain_hours = entry_partition(queue, &stored).retain_hours;
            let until_ms = at_ms + u64::from(retain_hours) * HOUR_MS;
            let order = OperatorOrder {
                at_ms,
                op: order.op.to_owned(),
                caller: order.caller.clone(),
                request_id: order.request_id.clone(),
                generation: stored.metadata.generation,
                arguments: order.arguments.clone(),
                tokens_until_ms: (!tokens.is_empty()).then_some(until_ms),
                tokens,
                settings_before: order.settings_before.clone(),
                revision: order.revision.clone(),
            };
            self.backup.record_order(queue, &order).await
        };
        if let Err(error) = recorded.await {
            warn!(
                event = "report.order_not_recorded",
                %queue,
                op = order.op,
                %error,
                "carried out a command, but could not add it to the log of orders that the report shows"
            );
        }
    }
}
