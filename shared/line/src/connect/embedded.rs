//! Subscriptions to the server inside this process.

use tokio::sync::mpsc::unbounded_channel;
use vestibule_line_embedded::EmbeddedServer;

use crate::{TickSubscription, calls::parse_tick};

/// Subscribes to a channel. The subscription never breaks.
pub(super) fn subscribe(server: &EmbeddedServer, channel: &str) -> TickSubscription {
    let (sender, ticks) = unbounded_channel();
    server.subscribe(channel, move |message| match parse_tick(message) {
        Some(tick) => sender.send(tick).is_ok(),
        None => !sender.is_closed(),
    });
    TickSubscription::new(ticks, || {})
}
