//! The port to the event bus, which is told that a queue opened, paused, finished, or is in trouble. Vestibule ships two
//! implementations of the trait [`EventBus`]: the one of EventBridge in `vestibule-runtime` for a deployment, and [`EventLog`] for one
//! process on a laptop.

mod event_log;

use async_trait::async_trait;
use vestibule_domain::{id::QueueId, queue_event::QueueEvent};

pub use self::event_log::EventLog;

/// The `source` of every event.
pub const EVENT_SOURCE: &str = "vestibule";

/// The most events in one call of [`EventBus::send`].
pub const SEND_EVENTS_MAX: usize = 10;

/// Why an event was not accepted, in a text for the log.
pub type SendError = String;

/// Takes the events of queues. A caller may send an event again: the id tells a repeated one.
#[async_trait]
pub trait EventBus: Send + Sync + 'static {
    /// Sends events of one queue, [`SEND_EVENTS_MAX`] at most, and returns for each whether the bus accepted it. The
    /// caller bounds the time.
    async fn send(&self, queue: &QueueId, events: &[QueueEvent]) -> Vec<Result<(), SendError>>;
}
