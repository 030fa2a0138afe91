//! The watcher reads the line from Redis again and again: the number of entries, and of admissions.

use std::{net::SocketAddr, time::Duration};

use redis::aio::MultiplexedConnection;
use tokio::{
    sync::watch,
    time::{sleep, timeout},
};
use vestibule_domain::id::QueueId;

use crate::entries::now_ms;

/// The pause between two samples.
const SAMPLE_PAUSE: Duration = Duration::from_millis(20);
/// The time limit for a sample.
const SAMPLE_MAX: Duration = Duration::from_millis(500);

/// A sample of the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// Before the read, in Unix milliseconds.
    pub at_ms: u64,
    /// After the read, in Unix milliseconds.
    pub read_ms: u64,
    /// The port of the server. It changes with each loss.
    pub server: u16,
    /// Ready entries.
    pub ready: u64,
    /// Active entries.
    pub active: u64,
    /// Held slots.
    pub held: u64,
    /// Entries that were promoted or fast-tracked since the line was created or restored.
    pub admitted: u64,
}

impl Sample {
    /// The slots of ready and active entries, and the held ones.
    pub fn slots_taken(&self) -> u64 {
        self.ready + self.active + self.held
    }
}

/// Takes samples until the run stops.
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
            Some((_, connection)) => timeout(SAMPLE_MAX, take_sample(connection, &queue, server))
                .await
                .ok()
                .flatten(),
            None => None,
        };
        match sample {
            Some(sample) => samples.push(sample),
            None => link = None,
        }
        sleep(SAMPLE_PAUSE).await;
    }
    samples
}

async fn connect(server: SocketAddr) -> Option<MultiplexedConnection> {
    let client = redis::Client::open(format!("redis://{server}")).ok()?;
    let connection = timeout(SAMPLE_MAX, client.get_multiplexed_async_connection()).await;
    connection.ok()?.ok()
}

/// Ready and active entries, held slots, and the two totals of admissions.
type Counts = (u64, u64, u64, Option<u64>, Option<u64>);

/// Takes a sample. `None` if the server does not answer or has no such queue.
async fn take_sample(
    connection: &mut MultiplexedConnection,
    queue: &QueueId,
    server: SocketAddr,
) -> Option<Sample> {
    let key = |name: &str| format!("vestibule:{{{queue}}}:{name}");
    let at_ms = now_ms();
    // Entries past their deadline do not count, even if the line has not ended them yet. No run pauses its
    // queue, so the clock of the deadlines is the wall clock.
    let not_due = at_ms.to_string();
    let answer: redis::RedisResult<Counts> = redis::pipe()
        .atomic()
        .zcount(key("ready"), &not_due, "+inf")
        .zcount(key("active"), &not_due, "+inf")
        .zcount(key("held"), &not_due, "+inf")
        .hget(key("state"), "promoted")
        .hget(key("state"), "fast_tracked")
        .query_async(connection)
        .await;
    let (ready, active, held, promoted, fast_tracked) = answer.ok()?;
    Some(Sample {
        at_ms,
        read_ms: now_ms(),
        server: server.port(),
        ready,
        active,
        held,
        admitted: promoted? + fast_tracked?,
    })
}
