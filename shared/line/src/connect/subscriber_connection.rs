//! A connection that receives what scripts publish.

use std::{future::pending, time::Duration};

use redis::{
    AsyncConnectionConfig, Client, PushInfo, PushKind, RedisError, Value, aio::MultiplexedConnection,
};
use tokio::{
    sync::{
        mpsc::{UnboundedReceiver, UnboundedSender, WeakUnboundedSender, unbounded_channel},
        oneshot, watch,
    },
    time::{Instant, sleep_until},
};

use super::{
    iam::IamLogin,
    line_error::to_line_error,
    link_test::{LinkHealth, LinkTest},
    timeouts::{PING_AFTER_IDLE_MS, Timeouts},
};
use crate::{LineError, TickSubscription, calls::parse_tick, tick_subscription::Subscribers};

/// A connection that received nothing for this long is tested: before a new subscription, and as
/// long as it has subscriptions.
const PING_AFTER_IDLE: Duration = Duration::from_millis(PING_AFTER_IDLE_MS);

/// The server of a subscription.
pub(super) struct SubscriptionServer {
    /// Distinguishes the server from the others of the process.
    pub(super) name: String,
    pub(super) client: Client,
    pub(super) link_test: LinkTest,
    /// Changes when this process leaves the server. `None` for the node of a cluster.
    pub(super) departures: Option<watch::Receiver<u64>>,
}

/// What a connection for subscriptions is to do.
pub(super) enum SubscriberCommand {
    Subscribe {
        channel: String,
        answer: oneshot::Sender<Result<TickSubscription, LineError>>,
    },
    Unsubscribe {
        channel: String,
    },
}

/// A connection that serves subscriptions only. It runs as a task of its own.
pub(super) struct SubscriberConnection {
    link: MultiplexedConnection,
    pushes: UnboundedReceiver<PushInfo>,
    listeners: Subscribers<String>,
    /// Channels whose subscription this connection ended itself and whose confirmation has not come yet.
    unconfirmed_unsubscribes: Vec<String>,
    last_heard_at: Instant,
    link_test: LinkTest,
    departures: Option<watch::Receiver<u64>>,
    /// The sender of its own commands, through which a listener that is dropped ends its
    /// subscription. It is weak, so that the task ends when no other sender is left.
    commands: WeakUnboundedSender<SubscriberCommand>,
}

/// The connection is dead. All its subscriptions end, and their listeners subscribe again.
struct ConnectionBroken;

impl SubscriberConnection {
    /// Opens a connection and returns the sender of its commands. The connection ends when the last
    /// sender is dropped.
    pub(super) async fn open(
        server: SubscriptionServer,
        login: Option<&IamLogin>,
    ) -> Result<UnboundedSender<SubscriberCommand>, RedisError> {
        let (push, pushes) = unbounded_channel();
        let mut config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(Timeouts::PRODUCTION.connect))
            .set_response_timeout(Some(Timeouts::PRODUCTION.response))
            .set_push_sender(push);
        if let Some(login) = login {
            config = config.set_credentials_provider(login.clone());
        }
        let (sender, receiver) = unbounded_channel();
        let connection = Self {
            link: server
                .client
                .get_multiplexed_async_connection_with_config(&config)
                .await?,
            pushes,
            listeners: Subscribers::default(),
            unconfirmed_unsubscribes: Vec::new(),
            last_heard_at: Instant::now(),
            link_test: server.link_test,
            departures: server.departures,
            commands: sender.downgrade(),
        };
        tokio::spawn(connection.run(receiver));
        Ok(sender)
    }

    /// Runs until the connection is dead, or until no sender of its commands is left.
    async fn run(mut self, mut commands: UnboundedReceiver<SubscriberCommand>) {
        loop {
            let done = tokio::select! {
                push = self.pushes.recv() => self.handle_push(push),
                command = commands.recv() => match command {
                    Some(SubscriberCommand::Subscribe { channel, answer }) => self.subscribe(channel, answer).await,
                    Some(SubscriberCommand::Unsubscribe { channel }) => self.unsubscribe(channel).await,
                    None => return,
                },
                () = sleep_until(self.last_heard_at + PING_AFTER_IDLE), if !self.listeners.is_empty() => self.test_link().await,
                () = wait_for_departure(&mut self.departures) => return,
            };
            if let Err(ConnectionBroken) = done {
                return;
            }
        }
    }

    fn handle_push(&mut self, push: Option<PushInfo>) -> Result<(), ConnectionBroken> {
        let PushInfo { kind, data } = push.ok_or(ConnectionBroken)?;
        self.last_heard_at = Instant::now();
        match (kind, parse_channel(&data)) {
            (PushKind::Disconnection, _) => Err(ConnectionBroken),
            (PushKind::SMessage, Some(channel)) => {
                // A message of another form comes from another version during a deployment.
                if let Some(Value::BulkString(message)) = data.get(1)
                    && let Some(tick) = parse_tick(message)
                {
                    self.listeners.send_tick(&channel, tick);
                }
                Ok(())
            }
            (PushKind::SUnsubscribe, Some(channel)) => {
                // If this connection did not ask for it, the queue moved to another server. The
                // client could then match the next replies to the wrong commands, so the connection
                // must end.
                let at = self
                    .unconfirmed_unsubscribes
                    .iter()
                    .position(|left| *left == channel)
                    .ok_or(ConnectionBroken)?;
                self.unconfirmed_unsubscribes.swap_remove(at);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    async fn subscribe(
        &mut self,
        channel: String,
        answer: oneshot::Sender<Result<TickSubscription, LineError>>,
    ) -> Result<(), ConnectionBroken> {
        // The socket may be dead, because a Lambda thaws with the sockets that it froze with.
        if self.last_heard_at.elapsed() > PING_AFTER_IDLE {
            self.test_link().await?;
        }
        if !self.listeners.has_subscribers(&channel)
            && let Err(error) = self
                .send_channel_command("SSUBSCRIBE", &channel, &PushKind::SSubscribe)
                .await?
        {
            let _ = answer.send(Err(to_line_error(error)));
            return Ok(());
        }
        let ticks = self.listeners.subscribe(channel.clone());
        let commands = self.commands.upgrade().ok_or(ConnectionBroken)?;
        let changes = TickSubscription::new(ticks, move || {
            // If the connection is dead, there is no subscription to end.
            let _ = commands.send(SubscriberCommand::Unsubscribe { channel });
        });
        // If the caller gave up, the subscription is dropped here, which ends it.
        let _ = answer.send(Ok(changes));
        Ok(())
    }

    async fn unsubscribe(&mut self, channel: String) -> Result<(), ConnectionBroken> {
        if !self.listeners.has_subscribers(&channel) || !self.listeners.drop_closed(&channel) {
            return Ok(());
        }
        self.unconfirmed_unsubscribes.push(channel.clone());
        self.send_channel_command("SUNSUBSCRIBE", &channel, &PushKind::SUnsubscribe)
            .await?
            .map_err(|_| ConnectionBroken)
    }

    /// Sends a command about a channel and returns the server's answer. A command that the server
    /// refuses leaves the connection as it was.
    async fn send_channel_command(
        &mut self,
        command: &str,
        channel: &str,
        confirmed: &PushKind,
    ) -> Result<Result<(), RedisError>, ConnectionBroken> {
        match redis::cmd(command).arg(channel).query_async(&mut self.link).await {
            Ok(Value::Push { kind, data })
                if kind == *confirmed && parse_channel(&data).as_deref() == Some(channel) =>
            {
                self.last_heard_at = Instant::now();
                Ok(Ok(()))
            }
            Err(error) if error.code().is_some() => Ok(Err(error)),
            Ok(_) | Err(_) => Err(ConnectionBroken),
        }
    }

    async fn test_link(&mut self) -> Result<(), ConnectionBroken> {
        let health = self.link_test.run(&mut self.link).await;
        self.last_heard_at = Instant::now();
        match health {
            LinkHealth::Alive => Ok(()),
            LinkHealth::Demoted(_) | LinkHealth::Dead => Err(ConnectionBroken),
        }
    }
}

/// Returns when this process leaves the server of the connection. Never returns if it cannot leave.
async fn wait_for_departure(departures: &mut Option<watch::Receiver<u64>>) {
    let has_left = match departures {
        Some(departures) => departures.changed().await.is_ok(),
        None => false,
    };
    if !has_left {
        pending::<()>().await;
    }
}

fn parse_channel(data: &[Value]) -> Option<String> {
    match data.first() {
        Some(Value::BulkString(channel)) => String::from_utf8(channel.clone()).ok(),
        _ => None,
    }
}
