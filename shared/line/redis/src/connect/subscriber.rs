//! Hearing what scripts publish: one more connection to each server that has a queue somebody listens to, shared by all who
//! listen there, and opened with the first of them.
//!
//! A subscription ends with its connection, and where its queue moves to another server: whoever listens begins anew, and
//! is led to where the queue is then.

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

/// A connection that heard nothing for so long is pinged: before anybody counts on it, and while somebody does.
const IDLE: Duration = Duration::from_millis(IDLE_MS);

/// The connections of a process, by the server's name.
#[derive(Default)]
pub(super) struct Subscriber(Mutex<HashMap<String, Arc<Slot>>>);

/// Held by whoever opens the connection to a server, or asks it.
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
    /// Listens to a channel of a server. What happens after the answer is heard.
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
        // There is none, or it was dead.
        *open = None;
        let orders = Ear::open(client, login).await.map_err(failed)?;
        let answer = ask(&orders, &channel).await;
        *open = Some(orders);
        answer.unwrap_or_else(|| Err(LineError::Unavailable("the connection broke".to_owned())))
    }

    fn slot(&self, server: &str) -> Arc<Slot> {
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        slots.entry(server.to_owned()).or_default().clone()
    }
}

/// `None` where the connection is of no use.
async fn ask(orders: &UnboundedSender<Order>, channel: &str) -> Option<Result<Changes, LineError>> {
    let (answer, answered) = oneshot::channel();
    let listen = Order::Listen {
        channel: channel.to_owned(),
        answer,
    };
    orders.send(listen).ok()?;
    answered.await.ok()
}

/// A connection whose own calls are about what it is subscribed to.
struct Ear {
    link: MultiplexedConnection,
    pushes: UnboundedReceiver<PushInfo>,
    listeners: Listeners<String>,
    /// Channels whose subscription this connection ended itself, until it hears so.
    left: Vec<String>,
    heard_at: Instant,
    /// Its own orders: for those who listen to say that they leave.
    orders: WeakUnboundedSender<Order>,
}

/// The connection is of no use any more: all that listen to it begin anew.
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

    /// Until the connection is of no use, or nobody can ask anything of it.
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
                // One of another form is of a version that is being replaced.
                if let Some(Value::BulkString(message)) = data.get(1)
                    && let Some(tick) = tick(message)
                {
                    self.listeners.tell(&channel, tick);
                }
                Ok(())
            }
            (PushKind::SUnsubscribe, Some(channel)) => {
                // Where nobody asked for it, the queue has moved, and the next answers may be taken for those to other questions.
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
        // A Lambda thaws with the sockets that it froze with.
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
            // A connection that is gone has no subscription to end.
            let _ = orders.send(Order::Leave { channel });
        });
        // Where nobody waits for it any more, it is dropped, and leaves.
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

    /// Says what the server says of a channel; what it refuses leaves the connection as it was.
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
