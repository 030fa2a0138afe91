//! Load: several callers at the same time, each with one call at a time.

use std::{future::Future, sync::Arc, time::Instant};

use redis::{Client, aio::MultiplexedConnection};
use vestibule_domain::{
    id::{EntryId, QueueId},
    settings::Settings,
};
use vestibule_line::Line;
use vestibule_tests::servers::connect_redis;

use super::Bench;
use crate::{BenchResult, figures::as_f64};

/// The number of callers at the same time. Each has a connection of its own.
pub(crate) const CONNECTIONS: usize = 50;

/// One of the callers: a connection and the input of its calls.
pub(crate) struct Caller<C> {
    pub(crate) connection: C,
    pub(crate) ids: Arc<Vec<EntryId>>,
    pub(crate) queue: QueueId,
}

/// Callers that send raw commands.
pub(crate) async fn open_raw_callers(
    bench: &Bench,
    queue: &QueueId,
    ids: &Arc<Vec<EntryId>>,
) -> BenchResult<Vec<Caller<MultiplexedConnection>>> {
    let client = Client::open(bench.url.as_str())?;
    open_callers(queue, ids, async || Ok(connect_redis(client.clone()).await)).await
}

/// Callers that call the line.
pub(crate) async fn open_line_callers(
    bench: &Bench,
    queue: &QueueId,
    ids: &Arc<Vec<EntryId>>,
) -> BenchResult<Vec<Caller<Line>>> {
    open_callers(queue, ids, async || Ok(Line::connect(&bench.url).await?)).await
}

async fn open_callers<C>(
    queue: &QueueId,
    ids: &Arc<Vec<EntryId>>,
    connect: impl AsyncFn() -> BenchResult<C>,
) -> BenchResult<Vec<Caller<C>>> {
    let mut callers = Vec::new();
    for _ in 0..CONNECTIONS {
        callers.push(Caller {
            connection: connect().await?,
            ids: ids.clone(),
            queue: queue.clone(),
        });
    }
    Ok(callers)
}

/// Measures the calls per second. Each caller of `callers` makes `each` calls, one after the other.
pub(crate) async fn throughput<C, F, T>(callers: Vec<C>, each: usize, call: F) -> f64
where
    C: Send + 'static,
    F: Fn(C, usize) -> T + Copy + Send + 'static,
    T: Future<Output = C> + Send,
{
    let started = Instant::now();
    let calls = callers.len() * each;
    let tasks: Vec<_> = callers
        .into_iter()
        .enumerate()
        .map(|(number, mut caller)| {
            tokio::spawn(async move {
                for step in 0..each {
                    caller = call(caller, number * each + step).await;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("no caller panics");
    }
    as_f64(calls as u64) / started.elapsed().as_secs_f64()
}

/// The settings of a queue with this capacity and this many promotions per second.
pub(crate) fn settings(capacity: u32, batch: u32) -> Settings {
    Settings {
        capacity,
        batch,
        interval_seconds: 1,
        ..Settings::default()
    }
}
