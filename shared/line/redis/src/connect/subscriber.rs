//! Receives the messages that scripts publish. The process opens one more connection to each server that has
//! a queue with a subscription. All subscriptions to a server share that connection, and the first one opens
//! it.
//!
//! A subscription ends when its connection breaks, or when its queue moves to another server. The listener
//! then subscribes again, and the new subscription goes to the server that has the queue.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use redis::{
    AsyncConnectionConfig, Client, PushInfo, PushKind, RedisError, Value, aio::MultiplexedConnection,
};
use tokio::{
    sync::{
        mpsc::{UnboundedReceiver, UnboundedSender, WeakUnboundedSender, unbounded_channel},
        oneshot,
    },
    time::{Instant, sleep_until, timeout},
};
use vestibule_line::{Changes, LineError, Listeners};

use super::{CONNECT_TIMEOUT, IDLE_MS, IamLogin, PING_TIMEOUT, RESPONSE_TIMEOUT, failed};
use crate::changes::tick;

/// A connection that received nothing for this long is pinged: before a new subscription, and as long as it
/// has subscriptions.
const IDLE: Duration = Duration::from_millis(IDLE_MS);

/// The subscription connections of a process, by the name of the server.
#[derive(Default)]
pub(super) struct Subscriber(Mutex<HashMap<String, Arc<Slot>>>);

/// The command channel of the connection to one server. A task locks it while it opens the connection or
/// sends a command, so that it opens once (single-flight).
type Slot = tokio::sync::Mutex<Option<UnboundedSender<Order>>>;

enum Order {
    Listen {
        channel: String,
        answer: oneshot::Sender<Result<Changes, LineError>>,
    },
    Leave {
        channel: String,
    },
}

impl Subscriber {
    /// Subscribes to a channel of a server. The subscription receives what is published after this method
    /// returns.
    ///
    /// # Errors
    /// [`LineError::Unavailable`] if the connection cannot be opened or breaks.
    pub(super) async fn listen(
        &self,
        server: &str,
        client: &Client,
        login: Option<&IamLogin>,
        channel: String,
    ) -> Result<Changes, LineError> {
        let slot = self.slot(server);
        let mut open = slot.lock().await;
        if let Some(orders) = &*open
            && let Some(answer) = ask(orders, &channel).await
        {
            return answer;
        }
        // There is no connection, or it is dead.
        *open = None;
        let orders = Ear::open(client, login).await.map_err(failed)?;
        let answer = ask(&orders, &channel).await;
        *open = Some(orders);
        answer.unwrap_or_else(|| {
            let reason = "the connection to Redis broke during the subscription";
            Err(LineError::Unavailable(reason.to_owned()))
        })
    }

    fn slot(&self, server: &str) -> Arc<Slot> {
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        slots.entry(server.to_owned()).or_default().clone()
    }
}

/// Sends the command to subscribe, and waits for the answer. `None` if the connection is dead.
async fn ask(orders: &UnboundedSender<Order>, channel: &str) -> Option<Result<Changes, LineError>> {
    let (answer, answered) = oneshot::channel();
    let listen = Order::Listen {
        channel: channel.to_owned(),
        answer,
    };
    orders.send(listen).ok()?;
    answered.await.ok()
}

/// A connection that serves subscriptions only. It runs as a task of its own.
struct Ear {
    link: MultiplexedConnection,
    pushes: UnboundedReceiver<PushInfo>,
    listeners: Listeners<String>,
    /// Channels whose subscription this connection ended itself and whose confirmation has not come yet.
    left: Vec<String>,
    heard_at: Instant,
    /// The sender of its own commands, through which a listener that is dropped ends its subscription. It is
    /// weak, so that the task ends when no other sender is left.
    orders: WeakUnboundedSender<Order>,
}

/// The connection is dead. All its subscriptions end, and their listeners subscribe again.
struct Broken;

impl Ear {
    async fn open(client: &Client, login: Option<&IamLogin>) -> Result<UnboundedSender<Order>, RedisError> {
        let (push, pushes) = unbounded_channel();
        let mut config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(CONNECT_TIMEOUT))
            .set_response_timeout(Some(RESPONSE_TIMEOUT))
            .set_push_sender(push);
        if let Some(login) = login {
            config = config.set_credentials_provider(login.clone());
        }
        let (order, orders) = unbounded_channel();
        let ear = Self {
            link: client
                .get_multiplexed_async_connection_with_config(&config)
                .await?,
            pushes,
            listeners: Listeners::default(),
            left: Vec::new(),
            heard_at: Instant::now(),
            orders: order.downgrade(),
        };
        tokio::spawn(ear.run(orders));
        Ok(order)
    }

    /// Runs until the connection is dead, or until no sender of its commands is left.
    async fn run(mut self, mut orders: UnboundedReceiver<Order>) {
        loop {
            let done = tokio::select! {
                push = self.pushes.recv() => self.hear(push),
                order = orders.recv() => match order {
                    Some(Order::Listen { channel, answer }) => self.listen(channel, answer).await,
                    Some(Order::Leave { channel }) => self.leave(channel).await,
                    None => return,
                },
                () = sleep_until(self.heard_at + IDLE), if !self.listeners.is_empty() => self.ping().await,
            };
            if let Err(Broken) = done {
                return;
            }
        }
    }

    fn hear(&mut self, push: Option<PushInfo>) -> Result<(), Broken> {
        let PushInfo { kind, data } = push.ok_or(Broken)?;
        self.heard_at = Instant::now();
        match (kind, channel_of(&data)) {
            (PushKind::Disconnection, _) => Err(Broken),
            (PushKind::SMessage, Some(channel)) => {
                // A message of another form comes from another version during a deployment, and is ignored.
                if let Some(Value::BulkString(message)) = data.get(1)
                    && let Some(tick) = tick(message)
                {
                    self.listeners.tell(&channel, tick);
                }
                Ok(())
            }
            (PushKind::SUnsubscribe, Some(channel)) => {
                // If this connection did not ask for it, the queue moved to another server. The client could
                // then match the next replies to the wrong commands, so the connection must end.
                let at = self.left.iter().position(|left| *left == channel).ok_or(Broken)?;
                self.left.swap_remove(at);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    async fn listen(
        &mut self,
        channel: String,
        answer: oneshot::Sender<Result<Changes, LineError>>,
    ) -> Result<(), Broken> {
        // The socket may be dead, because a Lambda thaws with the sockets that it froze with.
        if self.heard_at.elapsed() > IDLE {
            self.ping().await?;
        }
        if !self.listeners.has(&channel)
            && let Err(error) = self.call("SSUBSCRIBE", &channel, &PushKind::SSubscribe).await?
        {
            let _ = answer.send(Err(failed(error)));
            return Ok(());
        }
        let ticks = self.listeners.add(channel.clone());
        let orders = self.orders.upgrade().ok_or(Broken)?;
        let changes = Changes::new(ticks, move || {
            // If the connection is dead, there is no subscription to end.
            let _ = orders.send(Order::Leave { channel });
        });
        // If the caller gave up, the subscription is dropped here, which ends it.
        let _ = answer.send(Ok(changes));
        Ok(())
    }

    async fn leave(&mut self, channel: String) -> Result<(), Broken> {
        if !self.listeners.has(&channel) || !self.listeners.drop_closed(&channel) {
            return Ok(());
        }
        self.left.push(channel.clone());
        self.call("SUNSUBSCRIBE", &channel, &PushKind::SUnsubscribe)
            .await?
            .map_err(|_| Broken)
    }

    /// Sends a command about a channel and returns the server's answer. A command that the server refuses
    /// leaves the connection as it was.
    async fn call(
        &mut self,
        command: &str,
        channel: &str,
        confirmed: &PushKind,
    ) -> Result<Result<(), RedisError>, Broken> {
        match redis::cmd(command).arg(channel).query_async(&mut self.link).await {
            Ok(Value::Push { kind, data })
                if kind == *confirmed && channel_of(&data).as_deref() == Some(channel) =>
            {
                self.heard_at = Instant::now();
                Ok(Ok(()))
            }
            Err(error) if error.code().is_some() => Ok(Err(error)),
            Ok(_) | Err(_) => Err(Broken),
        }
    }

    async fn ping(&mut self) -> Result<(), Broken> {
        let ping = redis::cmd("PING");
        let pinged = timeout(PING_TIMEOUT, ping.query_async::<String>(&mut self.link)).await;
        self.heard_at = Instant::now();
        match pinged {
            Ok(Ok(_)) => Ok(()),
            _ => Err(Broken),
        }
    }
}

fn channel_of(data: &[Value]) -> Option<String> {
    match data.first() {
        Some(Value::BulkString(channel)) => String::from_utf8(channel.clone()).ok(),
        _ => None,
    }
}
