//! Measures how long another client of Redis waits for its answer.

use std::{
    error::Error,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use redis::{Client, aio::ConnectionManager};
use tokio::task::JoinHandle;

/// A client that sends one `PING` after the other.
pub(crate) struct PingClient {
    is_done: Arc<AtomicBool>,
    worst_ms: JoinHandle<f64>,
}

impl PingClient {
    pub(crate) async fn start(client: &Client) -> Result<Self, Box<dyn Error>> {
        let connection = client.get_connection_manager().await?;
        let is_done = Arc::new(AtomicBool::new(false));
        let worst_ms = tokio::spawn(find_worst_ping(connection, is_done.clone()));
        Ok(Self { is_done, worst_ms })
    }

    /// Stops the client, and returns the longest time of a `PING` in milliseconds.
    pub(crate) async fn stop(self) -> Result<f64, Box<dyn Error>> {
        self.is_done.store(true, Ordering::Relaxed);
        Ok(self.worst_ms.await?)
    }
}

async fn find_worst_ping(mut connection: ConnectionManager, is_done: Arc<AtomicBool>) -> f64 {
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
