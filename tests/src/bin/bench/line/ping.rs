//! Measures how long another client of Redis waits for its answer.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use redis::aio::MultiplexedConnection;
use tokio::task::JoinHandle;

use crate::{BenchResult, scene::open_redis};

/// A client that sends one `PING` after the other.
pub(crate) struct PingClient {
    is_done: Arc<AtomicBool>,
    worst_ms: JoinHandle<f64>,
}

impl PingClient {
    pub(crate) async fn start(url: &str) -> BenchResult<Self> {
        let connection = open_redis(url).await?;
        let is_done = Arc::new(AtomicBool::new(false));
        let worst_ms = tokio::spawn(find_worst_ping(connection, is_done.clone()));
        Ok(Self { is_done, worst_ms })
    }

    /// Stops the client, and returns the longest time of a `PING` in milliseconds.
    pub(crate) async fn stop(self) -> BenchResult<f64> {
        self.is_done.store(true, Ordering::Relaxed);
        Ok(self.worst_ms.await?)
    }
}

async fn find_worst_ping(mut connection: MultiplexedConnection, is_done: Arc<AtomicBool>) -> f64 {
    let mut worst_ms = 0.0f64;
    while !is_done.load(Ordering::Relaxed) {
        let started = Instant::now();
        redis::cmd("PING")
            .query_async::<()>(&mut connection)
            .await
            .expect("PING");
        worst_ms = worst_ms.max(started.elapsed().as_secs_f64() * 1_000.0);
    }
    worst_ms
}
