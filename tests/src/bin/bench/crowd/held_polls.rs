//! Reads the number of held polls in Redis again and again.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{task::JoinHandle, time::sleep};

use crate::{BenchResult, scene::open_redis};

const PAUSE: Duration = Duration::from_millis(20);
/// The key of the held polls of the runner, whose deployment has the default name.
const KEY: &str = "vestibule:holds:local";

pub(crate) struct HeldPollsWatcher {
    done: Arc<AtomicBool>,
    task: JoinHandle<redis::RedisResult<u64>>,
}

impl HeldPollsWatcher {
    pub(crate) async fn start(url: &str) -> BenchResult<Self> {
        let mut link = open_redis(url).await?;
        let done = Arc::new(AtomicBool::new(false));
        let task = tokio::spawn({
            let done = done.clone();
            async move {
                let mut held_max = 0;
                while !done.load(Ordering::Relaxed) {
                    held_max = held_max.max(redis::cmd("ZCARD").arg(KEY).query_async(&mut link).await?);
                    sleep(PAUSE).await;
                }
                Ok(held_max)
            }
        });
        Ok(Self { done, task })
    }

    /// The highest number that it read.
    pub(crate) async fn max_held(self) -> BenchResult<u64> {
        self.done.store(true, Ordering::Relaxed);
        Ok(self.task.await??)
    }
}
