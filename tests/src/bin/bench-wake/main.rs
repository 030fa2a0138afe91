//! Measures how soon held polls are told of their turn, and what that asks of Redis: the edge over HTTP on loopback, a Redis
//! of its own, visitors in another process, and ticks by the line's own `promote`, of as many each time, however many are
//! held. Beside it the same crowd without holding, each asking every 500 ms.
//!
//! Prints one `name=value` a line. Run it with `make bench-wake`. A delay is from just before the tick was asked for to when
//! the visitor had read the whole answer. Calls are those that the server counts itself (`INFO commandstats`), of whoever
//! asks, also those within scripts; a tick comes each second, so the look a second is among them. Where one tick calls all,
//! most of the time goes to the connections, which no server is spared: so the same visitors are held, in turn, by a handler
//! that does nothing else ([`floor`]).
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
    visitors::{Manner, Visitors},
};

pub(crate) type Failure = Box<dyn Error + Send + Sync>;

/// So many go each tick.
const BATCH: u64 = 20;
/// Before the first poll ends by itself, after 20 s.
const TICKS: u32 = 12;
/// For the looks of those who have just come to be held.
const SETTLING: Duration = Duration::from_secs(1);
const ROUNDS: usize = 3;
/// As many as one promotion moves.
const CROWD_AT_ONCE: usize = 1_000;

fn main() -> Result<(), Failure> {
    match env::args().nth(1).as_deref() {
        None => Runtime::new()?.block_on(all()),
        Some("at-once") => Runtime::new()?.block_on(at_once(&url()?, CROWD_AT_ONCE)),
        Some(manner) => {
            // One thread is enough for what they do: a second one would only be in the edge's way.
            let runtime = Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(visitors::act(manner.parse()?))
        }
    }
}

async fn all() -> Result<(), Failure> {
    let url = url()?;
    for crowd in [1_000, 10_000] {
        held(&url, crowd).await?;
    }
    at_once(&url, CROWD_AT_ONCE).await?;
    for crowd in [1_000, 10_000] {
        polling(&url, crowd).await?;
    }
    Ok(())
}

fn url() -> Result<String, Failure> {
    let url = env::var("TEST_REDIS_URL");
    url.map_err(|_| "TEST_REDIS_URL is not set: run this with `make bench-wake`".into())
}

/// Prints `wake_p99_ms_…_held` and `redis_calls_per_tick_…_held`.
async fn held(url: &str, crowd: usize) -> Result<(), Failure> {
    let (mut delays, mut calls, mut ticks) = (Vec::new(), 0, 0);
    for _ in 0..ROUNDS {
        let mut scene = Scene::open(url).await?;
        let visitors = settled(&mut scene, crowd).await?;
        let before = scene.calls().await?;
        let called = scene.tick(TICKS, BATCH).await?;
        calls += scene.calls().await? - before;
        ticks += u64::from(TICKS);
        delays.extend(visitors::delays(&called, &visitors.answers().await?));
    }
    report(&format!("wake_p99_ms_{crowd}_held"), delays);
    println!("redis_calls_per_tick_{crowd}_held={}", per(calls, ticks));
    Ok(())
}

/// Prints `wake_p99_ms_…_at_once`: one tick calls all who are held. And `floor_p99_ms_…_at_once`, and how many times as long
/// the edge takes.
async fn at_once(url: &str, crowd: usize) -> Result<(), Failure> {
    let (mut delays, mut floor_delays) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let mut scene = Scene::open(url).await?;
        let visitors = settled(&mut scene, crowd).await?;
        let called = scene.tick(1, crowd as u64).await?;
        delays.extend(visitors::delays(&called, &visitors.answers().await?));

        let floor = Floor::open().await?;
        let entries = (0..crowd).map(|n| format!("/entries/{n}")).collect();
        let visitors = Visitors::start(floor.address, Manner::Held, entries).await?;
        floor.until_held(crowd).await?;
        let released = floor.release();
        floor_delays.extend(visitors::delays(&[released], &visitors.answers().await?));
    }
    let ms = report(&format!("wake_p99_ms_{crowd}_at_once"), delays);
    let floor_ms = report(&format!("floor_p99_ms_{crowd}_at_once"), floor_delays);
    if let (Some(ms), Some(floor_ms)) = (ms, floor_ms) {
        println!("wake_vs_floor_{crowd}_at_once={:.2}", ms / floor_ms);
    }
    Ok(())
}

/// A crowd that is held.
async fn settled(scene: &mut Scene, crowd: usize) -> Result<Visitors, Failure> {
    let entries = scene.line_up(crowd).await?;
    let visitors = Visitors::start(scene.address, Manner::Held, entries).await?;
    scene.until_asked_for(crowd).await?;
    sleep(SETTLING).await;
    Ok(visitors)
}

/// Prints `polling_500ms_p99_ms_…` and `redis_calls_per_second_polling_500ms_…`.
async fn polling(url: &str, crowd: usize) -> Result<(), Failure> {
    let mut scene = Scene::open(url).await?;
    let entries = scene.line_up(crowd).await?;
    let visitors = Visitors::start(scene.address, Manner::Polling, entries).await?;
    // They come one after the other.
    sleep(2 * SETTLING).await;
    let (before, since) = (scene.calls().await?, Instant::now());
    let called = scene.tick(TICKS, BATCH).await?;
    let (calls, seconds) = (scene.calls().await? - before, since.elapsed().as_secs());
    let delays = visitors::delays(&called, &visitors.answers().await?);
    report(&format!("polling_500ms_p99_ms_{crowd}"), delays);
    println!(
        "redis_calls_per_second_polling_500ms_{crowd}={}",
        per(calls, seconds)
    );
    Ok(())
}

/// Prints the delay that one in a hundred is above, in milliseconds.
#[allow(clippy::cast_precision_loss)] // Delays are small.
fn report(name: &str, mut delays_us: Vec<u64>) -> Option<f64> {
    delays_us.sort_unstable();
    let Some(p99) = (delays_us.len() * 99).div_ceil(100).checked_sub(1) else {
        println!("{name}=nobody");
        return None;
    };
    let ms = delays_us[p99] as f64 / 1_000.0;
    println!("{name}={ms:.1}");
    Some(ms)
}

#[allow(clippy::cast_precision_loss)] // Counts of calls are small.
fn per(calls: u64, each: u64) -> String {
    format!("{:.1}", calls as f64 / each as f64)
}
