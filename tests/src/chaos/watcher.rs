//! Somebody who looks at the line in Redis itself, again and again: how many are in it, and how many were let out of it.

use std::{net::SocketAddr, time::Duration};

use redis::aio::MultiplexedConnection;
use tokio::{
    sync::watch,
    time::{sleep, timeout},
};
use vestibule_domain::{
    id::QueueId,
    score::{DeadlineScore, Visit},
};

use crate::entries::now_ms;

/// Between two looks.
const LOOK: Duration = Duration::from_millis(20);
/// A look that takes longer is given up.
const LIMIT: Duration = Duration::from_millis(500);

/// One look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// Before it, in Unix milliseconds.
    pub at_ms: u64,
    /// After it.
    pub seen_ms: u64,
    /// Which server was asked: another one after each loss.
    pub server: u16,
    /// Promoted, and not claimed yet.
    pub ready: u64,
    /// Let in.
    pub active: u64,
    /// Promoted or let in at once, since the line was made or put back.
    pub let_out: u64,
}

impl Sample {
    /// Ready and active.
    pub fn taken(&self) -> u64 {
        self.ready + self.active
    }
}

/// Looks until told to stop.
pub(super) async fn watch_line(
    queue: QueueId,
    address: watch::Receiver<SocketAddr>,
    stop: watch::Receiver<bool>,
) -> Vec<Sample> {
    let mut samples = Vec::new();
    let mut link: Option<(SocketAddr, MultiplexedConnection)> = None;
    while !*stop.borrow() {
        let server = *address.borrow();
        if link.as_ref().is_none_or(|(to, _)| *to != server) {
            link = connect(server).await.map(|connection| (server, connection));
        }
        let sample = match &mut link {
            Some((_, connection)) => timeout(LIMIT, look(connection, &queue, server))
                .await
                .ok()
                .flatten(),
            None => None,
        };
        match sample {
            Some(sample) => samples.push(sample),
            None => link = None,
        }
        sleep(LOOK).await;
    }
    samples
}

async fn connect(server: SocketAddr) -> Option<MultiplexedConnection> {
    let client = redis::Client::open(format!("redis://{server}")).ok()?;
    let connection = timeout(LIMIT, client.get_multiplexed_async_connection()).await;
    connection.ok()?.ok()
}

/// `None` where the server does not answer, or has no such queue.
async fn look(connection: &mut MultiplexedConnection, queue: &QueueId, server: SocketAddr) -> Option<Sample> {
    let key = |name: &str| format!("vestibule:{{{queue}}}:{name}");
    let at_ms = now_ms();
    // Who timed out is out, though nobody dropped them yet. No run pauses its queue: the claim clock is the wall clock.
    let not_due = DeadlineScore::new(at_ms, Visit::new(0).expect("the first"))
        .raw()
        .to_string();
    let answer: redis::RedisResult<(u64, u64, Option<u64>, Option<u64>)> = redis::pipe()
        .atomic()
        .zcount(key("ready"), &not_due, "+inf")
        .zcount(key("active"), &not_due, "+inf")
        .hget(key("state"), "promoted")
        .hget(key("state"), "fast_tracked")
        .query_async(connection)
        .await;
    let (ready, active, promoted, fast_tracked) = answer.ok()?;
    Some(Sample {
        at_ms,
        seen_ms: now_ms(),
        server: server.port(),
        ready,
        active,
        let_out: promoted? + fast_tracked?,
    })
}
