//! How many polls the line counts as held, looked at all the time.

use std::{
    error::Error,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use redis::Client;
use tokio::{task::JoinHandle, time::sleep};

const EVERY: Duration = Duration::from_millis(20);
/// As the runner, which is told no other name, calls its deployment.
const KEY: &str = "vestibule:holds:local";

pub(crate) struct Counter {
    done: Arc<AtomicBool>,
    looking: JoinHandle<redis::RedisResult<u64>>,
}

impl Counter {
    pub(crate) async fn start(url: &str) -> Result<Self, Box<dyn Error>> {
        let mut link = Client::open(url)?.get_connection_manager().await?;
        let done = Arc::new(AtomicBool::new(false));
        let looking = tokio::spawn({
            let done = done.clone();
            async move {
                let mut most = 0;
                while !done.load(Ordering::Relaxed) {
                    most = most.max(redis::cmd("ZCARD").arg(KEY).query_async(&mut link).await?);
                    sleep(EVERY).await;
                }
                Ok(most)
            }
        });
        Ok(Self { done, looking })
    }

    /// The most that it saw.
    pub(crate) async fn most(self) -> Result<u64, Box<dyn Error>> {
        self.done.store(true, Ordering::Relaxed);
        Ok(self.looking.await??)
    }
}
