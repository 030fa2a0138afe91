//! Receives the messages that scripts publish. All subscriptions to a server share one connection,
//! which the first subscription opens.
//!
//! A subscription ends when its connection breaks, when its queue moves to another server, or when
//! this process leaves a demoted server (see [`Server`](super::server::Server)). The listener then
//! subscribes again, and the new subscription goes to the server that has the queue.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::{mpsc::UnboundedSender, oneshot};

use super::{
    iam::IamLogin,
    line_error::to_line_error,
    subscriber_connection::{SubscriberCommand, SubscriberConnection, SubscriptionServer},
};
use crate::{LineError, TickSubscription};

/// The subscription connections of a process, by the name of the server.
#[derive(Default)]
pub(super) struct SubscriberPool(Mutex<HashMap<String, Arc<ConnectionSlot>>>);

/// The command channel of the connection to one server. A task locks it while it opens the connection or
/// sends a command, so that it opens once (single-flight).
type ConnectionSlot = tokio::sync::Mutex<Option<UnboundedSender<SubscriberCommand>>>;

impl SubscriberPool {
    /// Subscribes to a channel of a server. The subscription receives what is published from then on.
    ///
    /// # Errors
    /// [`LineError::Unavailable`] if the connection cannot be opened or breaks.
    pub(super) async fn subscribe(
        &self,
        server: SubscriptionServer,
        login: Option<&IamLogin>,
        channel: String,
    ) -> Result<TickSubscription, LineError> {
        let slot = self.slot_of_server(&server.name);
        let mut open = slot.lock().await;
        if let Some(commands) = &*open
            && let Some(answer) = request_subscription(commands, &channel).await
        {
            return answer;
        }
        // There is no connection, or it is dead.
        *open = None;
        let commands = SubscriberConnection::open(server, login)
            .await
            .map_err(to_line_error)?;
        let answer = request_subscription(&commands, &channel).await;
        *open = Some(commands);
        answer.unwrap_or_else(|| {
            let reason = "the connection to Redis broke during the subscription";
            Err(LineError::Unavailable(reason.to_owned()))
        })
    }

    fn slot_of_server(&self, server: &str) -> Arc<ConnectionSlot> {
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        slots.entry(server.to_owned()).or_default().clone()
    }
}

/// Sends the command to subscribe, and waits for the answer. `None` if the connection is dead.
async fn request_subscription(
    commands: &UnboundedSender<SubscriberCommand>,
    channel: &str,
) -> Option<Result<TickSubscription, LineError>> {
    let (answer, answered) = oneshot::channel();
    let subscribe = SubscriberCommand::Subscribe {
        channel: channel.to_owned(),
        answer,
    };
    commands.send(subscribe).ok()?;
    answered.await.ok()
}
