//! Measures how soon held polls are told of their turn, and what that asks of Redis: the edge over HTTP on loopback, a Redis
//! of its own, visitors in another process, and ticks by the line's own `promote`, of as many each time, however many are
//! held. Beside it the same crowd without holding, each asking every 500 ms.
//!
//! Prints one `name=value` a line. Run it with `make bench-wake`. A delay is from just before the tick was asked for to when
//! the visitor had read the whole answer. Calls are those that the server counts itself (`INFO commandstats`), of whoever
//! asks, also those within scripts; a tick comes each second, so the look a second is among them.

mod scene;
mod visitors;

use std::{env, error::Error, time::Duration};

use tokio::time::{Instant, sleep};

use crate::{
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

#[tokio::main]
async fn main() -> Result<(), Failure> {
    if let Some(manner) = env::args().nth(1) {
        return visitors::act(manner.parse()?).await;
    }
    let url = env::var("TEST_REDIS_URL")
        .map_err(|_| "TEST_REDIS_URL is not set: run this with `make bench-wake`")?;
    for crowd in [1_000, 10_000] {
        held(&url, crowd).await?;
    }
    at_once(&url, 1_000).await?;
    for crowd in [1_000, 10_000] {
        polling(&url, crowd).await?;
    }
    Ok(())
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

/// Prints `wake_p99_ms_…_at_once`: one tick calls all who are held.
async fn at_once(url: &str, crowd: usize) -> Result<(), Failure> {
    let mut delays = Vec::new();
    for _ in 0..ROUNDS {
        let mut scene = Scene::open(url).await?;
        let visitors = settled(&mut scene, crowd).await?;
        let called = scene.tick(1, crowd as u64).await?;
        delays.extend(visitors::delays(&called, &visitors.answers().await?));
    }
    report(&format!("wake_p99_ms_{crowd}_at_once"), delays);
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

/// Prints the delay that one in a hundred is above.
#[allow(clippy::cast_precision_loss)] // Delays are small.
fn report(name: &str, mut delays_us: Vec<u64>) {
    delays_us.sort_unstable();
    let Some(p99) = (delays_us.len() * 99).div_ceil(100).checked_sub(1) else {
        println!("{name}=nobody");
        return;
    };
    let p99 = delays_us[p99];
    println!("{name}={:.1}", p99 as f64 / 1_000.0);
}

#[allow(clippy::cast_precision_loss)] // Counts of calls are small.
fn per(calls: u64, each: u64) -> String {
    format!("{:.1}", calls as f64 / each as f64)
}
