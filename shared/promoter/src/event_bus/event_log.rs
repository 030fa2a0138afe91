//! The event bus of a developer's machine: the log.

use async_trait::async_trait;
use tracing::info;
use vestibule_domain::{id::QueueId, queue_event::QueueEvent};
use vestibule_wire::EventDetail;

use super::{EVENT_SOURCE, EventBus, SendError};

/// Logs each event as it would be sent.
#[derive(Debug, Clone)]
pub struct EventLog {
    /// The name of the deployment, which is in the detail of each event.
    pub deployment: String,
}

#[async_trait]
impl EventBus for EventLog {
    async fn send(&self, queue: &QueueId, events: &[QueueEvent]) -> Vec<Result<(), SendError>> {
        for event in events {
            info!(
                event = "queue.event_logged",
                %queue,
                source = EVENT_SOURCE,
                detail_type = event.kind.detail_type(),
                detail = EventDetail::new(&self.deployment, queue, event).to_json(),
                "a deployment with an event bus would send this event"
            );
        }
        vec![Ok(()); events.len()]
    }
}
