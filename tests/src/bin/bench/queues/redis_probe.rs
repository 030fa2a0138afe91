//! Reads from Redis, beside the line, how much processor time it used and when each queue was ticked.

use std::time::Duration;

use redis::aio::MultiplexedConnection;
use tokio::time::{Instant, sleep};
use vestibule_domain::id::QueueId;
use vestibule_tests::processor_time::redis_seconds;

use crate::{
    BenchResult,
    figures::{as_f64, ratio},
    scene::open_redis,
};

/// How often the times of the last ticks are read to measure a round.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(50);

/// The last tick of a queue.
#[derive(Debug, Clone, Copy)]
pub(super) struct LastTick {
    count: u64,
    at_ms: u64,
}

impl LastTick {
    /// How many ticks per second there were since an earlier reading.
    pub(super) fn rate_since(self, before: Self) -> f64 {
        1_000.0 * ratio(self.count - before.count, (self.at_ms - before.at_ms).max(1))
    }
}

pub(super) struct RedisProbe(MultiplexedConnection);

impl RedisProbe {
    pub(super) async fn connect(url: &str) -> BenchResult<Self> {
        Ok(Self(open_redis(url).await?))
    }

    /// The processor time that Redis used per second of real time, so 1 is one core.
    pub(super) async fn measure_core_share(&mut self, time: Duration) -> BenchResult<f64> {
        let (began, before) = (Instant::now(), redis_seconds(&mut self.0).await?);
        sleep(time).await;
        let used = redis_seconds(&mut self.0).await? - before;
        Ok(used / began.elapsed().as_secs_f64())
    }

    /// The last tick of each queue, read in one step.
    pub(super) async fn read_ticks(&mut self, queues: &[QueueId]) -> BenchResult<Vec<LastTick>> {
        let mut pipeline = redis::pipe();
        for queue in queues {
            let key = format!("vestibule:{{{queue}}}:state");
            pipeline.cmd("HMGET").arg(key).arg("ticks").arg("ticked_at_ms");
        }
        let ticks: Vec<(u64, u64)> = pipeline.query_async(&mut self.0).await?;
        let ticks = ticks.into_iter().map(|(count, at_ms)| LastTick { count, at_ms });
        Ok(ticks.collect())
    }

    /// The lengths of some rounds in seconds: the time from the first tick of a queue to the
    /// last one. Between two rounds all queues show their ticks of the same one, so of the readings in a
    /// second the one with the ticks closest together counts.
    pub(super) async fn measure_rounds(&mut self, queues: &[QueueId], rounds: u32) -> BenchResult<Vec<f64>> {
        let mut lengths = Vec::new();
        for _ in 0..rounds {
            let end = Instant::now() + Duration::from_secs(1);
            let mut shortest_ms = u64::MAX;
            while Instant::now() < end {
                let ticks = self.read_ticks(queues).await?;
                let times = || ticks.iter().map(|tick| tick.at_ms);
                let length_ms = times().max().unwrap_or(0) - times().min().unwrap_or(0);
                shortest_ms = shortest_ms.min(length_ms);
                sleep(SAMPLE_INTERVAL).await;
            }
            lengths.push(as_f64(shortest_ms) / 1_000.0);
        }
        Ok(lengths)
    }
}
