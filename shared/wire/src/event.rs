//! What the event bus is told of a queue.

use serde::Serialize;
use vestibule_domain::{id::QueueId, queue_event::QueueEvent};

/// The `detail` of an event: the event with its queue and the deployment.
#[derive(Debug, Clone, Serialize)]
pub struct EventDetail<'a> {
    /// The name of the deployment.
    pub deployment: &'a str,
    /// The id of the queue.
    pub queue: &'a str,
    /// What changed.
    #[serde(flatten)]
    pub event: &'a QueueEvent,
}

impl<'a> EventDetail<'a> {
    /// The detail of an event of this queue.
    pub fn new(deployment: &'a str, queue: &'a QueueId, event: &'a QueueEvent) -> Self {
        let queue = queue.as_str();
        Self {
            deployment,
            queue,
            event,
        }
    }

    /// The detail as JSON.
    #[allow(clippy::missing_panics_doc)] // A struct of plain fields always serializes.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("plain fields")
    }
}
