//! Measures how soon held polls are answered when the turn comes, and how many commands Redis runs for that.
//! The API is served over HTTP on loopback with a Redis of its own, and the visitors are in another process.
//! Each tick promotes the same number of entries by the line's `promote`, however many polls are held. For
//! comparison, the same visitors poll every 500 ms.
//!
//! It prints one `name=value` a line. Run it with `make bench-wake`. A delay is the time from just before the
//! tick to when the visitor has read the whole answer. Calls are the commands that the server counts (`INFO
//! commandstats`), also those within scripts. They include the view that is read once a second. If one tick
//! promotes all visitors, most of the time goes to their connections, which every server needs. The same
//! visitors are therefore also held by a handler that does nothing else ([`floor`]).
//!
//! `ARGS=at-once` measures that part alone.

mod floor;
mod scene;
mod visitors;

use std::{env, error::Error, time::Duration};

use tokio::{
    runtime::{Builder, Runtime},
    time::{Instant, sleep},
};

use crate::{
    floor::Floor,
    scene::Scene,
    visitors::{PollMode, Visitors},
};

pub(crate) type BenchError = Box<dyn Error + Send + Sync>;

/// The number of entries that a tick promotes.
const BATCH: u64 = 20;
/// The number of ticks. They end before the first poll ends by itself, after 20 s.
const TICKS: u32 = 12;
/// The time for the status requests of the newest visitors.
const SETTLING: Duration = Duration::from_secs(1);
const ROUNDS: usize = 3;
/// The most entries that one call of `promote` moves.
const VISITORS_AT_ONCE: usize = 1_000;

fn main() -> Result<(), BenchError> {
    match env::args().nth(1).as_deref() {
        None => Runtime::new()?.block_on(measure_all()),
        Some("at-once") => Runtime::new()?.block_on(measure_at_once(&url()?, VISITORS_AT_ONCE)),
        Some(mode) => {
            // One thread is enough for the visitors. A second one would take time from the API.
            let runtime = Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(visitors::run_process(mode.parse()?))
        }
    }
}

async fn measure_all() -> Result<(), BenchError> {
    let url = url()?;
    for visitor_count in [1_000, 10_000] {
        measure_held(&url, visitor_count).await?;
    }
    measure_at_once(&url, VISITORS_AT_ONCE).await?;
    for visitor_count in [1_000, 10_000] {
        measure_polling(&url, visitor_count).await?;
    }
    Ok(())
}

fn url() -> Result<String, BenchError> {
    let url = env::var("TEST_REDIS_URL");
    url.map_err(|_| "TEST_REDIS_URL is not set: run this with `make bench-wake`".into())
}

/// Prints `wake_p99_ms_…_held` and `redis_calls_per_tick_…_held`.
async fn measure_held(url: &str, visitor_count: usize) -> Result<(), BenchError> {
    let (mut delays, mut calls, mut ticks) = (Vec::new(), 0, 0);
    for _ in 0..ROUNDS {
        let mut scene = Scene::open(url).await?;
        let visitors = start_held_visitors(&mut scene, visitor_count).await?;
        let before = scene.count_commands().await?;
        let called = scene.tick(TICKS, BATCH).await?;
        calls += scene.count_commands().await? - before;
        ticks += u64::from(TICKS);
        delays.extend(visitors::delays(&called, &visitors.answers().await?));
    }
    print_p99(&format!("wake_p99_ms_{visitor_count}_held"), delays);
    println!(
        "redis_calls_per_tick_{visitor_count}_held={}",
        divide(calls, ticks)
    );
    Ok(())
}

/// Prints `wake_p99_ms_…_at_once`: one tick promotes all held visitors. Also prints `floor_p99_ms_…_at_once`,
/// and the ratio of the two.
async fn measure_at_once(url: &str, visitor_count: usize) -> Result<(), BenchError> {
    let (mut delays, mut floor_delays) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let mut scene = Scene::open(url).await?;
        let visitors = start_held_visitors(&mut scene, visitor_count).await?;
        let called = scene.tick(1, visitor_count as u64).await?;
        delays.extend(visitors::delays(&called, &visitors.answers().await?));

        let floor = Floor::open().await?;
        let pollers: Vec<_> = (0..visitor_count).map(Floor::poller).collect();
        let visitors = Visitors::start(floor.address, PollMode::Held, &pollers).await?;
        floor.wait_until_held(visitor_count).await?;
        let released = floor.release();
        floor_delays.extend(visitors::delays(&[released], &visitors.answers().await?));
    }
    let ms = print_p99(&format!("wake_p99_ms_{visitor_count}_at_once"), delays);
    let floor_ms = print_p99(&format!("floor_p99_ms_{visitor_count}_at_once"), floor_delays);
    if let (Some(ms), Some(floor_ms)) = (ms, floor_ms) {
        println!("wake_vs_floor_{visitor_count}_at_once={:.2}", ms / floor_ms);
    }
    Ok(())
}

/// Visitors whose polls are held.
async fn start_held_visitors(scene: &mut Scene, visitor_count: usize) -> Result<Visitors, BenchError> {
    let pollers = scene.enter_visitors(visitor_count).await?;
    let visitors = Visitors::start(scene.address, PollMode::Held, &pollers).await?;
    scene.wait_until_held(visitor_count).await?;
    sleep(SETTLING).await;
    Ok(visitors)
}

/// Prints `polling_500ms_p99_ms_…` and `redis_calls_per_second_polling_500ms_…`.
async fn measure_polling(url: &str, visitor_count: usize) -> Result<(), BenchError> {
    let mut scene = Scene::open(url).await?;
    let pollers = scene.enter_visitors(visitor_count).await?;
    let visitors = Visitors::start(scene.address, PollMode::Polling, &pollers).await?;
    // The visitors arrive one after the other.
    sleep(2 * SETTLING).await;
    let (before, since) = (scene.count_commands().await?, Instant::now());
    let called = scene.tick(TICKS, BATCH).await?;
    let (calls, seconds) = (scene.count_commands().await? - before, since.elapsed().as_secs());
    let delays = visitors::delays(&called, &visitors.answers().await?);
    print_p99(&format!("polling_500ms_p99_ms_{visitor_count}"), delays);
    println!(
        "redis_calls_per_second_polling_500ms_{visitor_count}={}",
        divide(calls, seconds)
    );
    Ok(())
}

/// Prints the 99th percentile of the delays, in milliseconds.
#[allow(clippy::cast_precision_loss)] // Delays are small.
fn print_p99(name: &str, mut delays_us: Vec<u64>) -> Option<f64> {
    delays_us.sort_unstable();
    let Some(p99) = (delays_us.len() * 99).div_ceil(100).checked_sub(1) else {
        println!("{name}=none");
        return None;
    };
    let ms = delays_us[p99] as f64 / 1_000.0;
    println!("{name}={ms:.1}");
    Some(ms)
}

#[allow(clippy::cast_precision_loss)] // Counts of calls are small.
fn divide(calls: u64, each: u64) -> String {
    format!("{:.1}", calls as f64 / each as f64)
}
