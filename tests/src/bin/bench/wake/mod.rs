//! Measures how soon held polls are answered when the turn comes, and how many commands Redis runs for that.
//! The API is served over HTTP on loopback with a Redis of its own, and the visitors are in another process.
//! Each tick promotes the same number of entries by the line's `promote`, however many polls are held. For
//! comparison, the same visitors poll every 500 ms.
//!
//! A delay is the time from just before the
//! tick to when the visitor has read the whole answer. Calls are the commands that the server counts (`INFO
//! commandstats`), also those within scripts. They include the view that is read once a second. If one tick
//! promotes all visitors, most of the time goes to their connections, which every server needs. The same
//! visitors are therefore also held by a handler that does nothing else ([`floor`]).

mod floor;
mod scene;
mod visitors;

use std::time::Duration;

use clap::Args;
use tokio::time::{Instant, sleep};

use self::{
    floor::Floor,
    scene::Scene,
    visitors::{PollMode, Visitors},
};
use crate::{
    BenchResult, Context,
    figures::{as_f64, percentile, print_figure, ratio},
    size::Size,
};

/// The number of entries that a tick promotes.
const BATCH: u64 = 20;
/// The number of ticks. They end before the first poll ends by itself, after 20 s.
const TICKS: u32 = 12;
/// The time for the status requests of the newest visitors.
const SETTLING: Duration = Duration::from_secs(1);
const ROUNDS: u32 = 3;
const VISITORS: [usize; 2] = [1_000, 10_000];
/// The most entries that one call of `promote` moves.
const VISITORS_AT_ONCE: usize = 1_000;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Measure only one tick that promotes all
    #[arg(long)]
    at_once: bool,
    /// Run the process of the visitors
    #[arg(long, hide = true, num_args = 2, value_names = ["held|polling", "ADDRESS"])]
    pub(crate) visitors: Option<Vec<String>>,
}

pub(crate) async fn measure(options: &Options, context: &Context) -> BenchResult {
    let bench = Bench {
        url: &context.redis_url,
        size: context.size,
    };
    if !options.at_once {
        for visitor_count in VISITORS {
            bench.measure_held(bench.size.count(visitor_count)).await?;
        }
    }
    bench.measure_at_once(bench.size.count(VISITORS_AT_ONCE)).await?;
    if !options.at_once {
        for visitor_count in VISITORS {
            bench.measure_polling(bench.size.count(visitor_count)).await?;
        }
    }
    Ok(())
}

/// Runs the process of the visitors: how they wait, and the address of the API.
pub(crate) async fn run_visitors(process: &[String]) -> BenchResult {
    let [mode, server] = process else {
        return Err("a mode and an address".into());
    };
    visitors::run_process(mode.parse()?, server.parse()?).await
}

struct Bench<'a> {
    url: &'a str,
    size: Size,
}

impl Bench<'_> {
    /// The number of ticks, and the entries that each of them promotes.
    fn ticks(&self, visitor_count: usize) -> (u32, u64) {
        (self.size.count(TICKS), BATCH.min(visitor_count as u64))
    }

    /// Prints `wake_p99_ms_…_held` and `redis_calls_per_tick_…_held`.
    async fn measure_held(&self, visitor_count: usize) -> BenchResult {
        let (mut delays, mut calls, mut all_ticks) = (Vec::new(), 0, 0);
        let (ticks, batch) = self.ticks(visitor_count);
        for _ in 0..self.size.count(ROUNDS) {
            let mut scene = Scene::open(self.url).await?;
            let visitors = start_held_visitors(&mut scene, visitor_count).await?;
            let before = scene.count_commands().await?;
            let called = scene.tick(ticks, batch).await?;
            calls += scene.count_commands().await? - before;
            all_ticks += u64::from(ticks);
            delays.extend(visitors::delays(&called, &visitors.answers().await?));
        }
        print_p99(&format!("wake_p99_ms_{visitor_count}_held"), delays);
        print_figure(
            format!("redis_calls_per_tick_{visitor_count}_held"),
            ratio(calls, all_ticks),
            1,
        );
        Ok(())
    }

    /// Prints `wake_p99_ms_…_at_once`: one tick promotes all held visitors. Also prints `floor_p99_ms_…_at_once`,
    /// and the ratio of the two.
    async fn measure_at_once(&self, visitor_count: usize) -> BenchResult {
        let (mut delays, mut floor_delays) = (Vec::new(), Vec::new());
        for _ in 0..self.size.count(ROUNDS) {
            let mut scene = Scene::open(self.url).await?;
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
        print_figure(format!("wake_vs_floor_{visitor_count}_at_once"), ms / floor_ms, 2);
        Ok(())
    }

    /// Prints `polling_500ms_p99_ms_…` and `redis_calls_per_second_polling_500ms_…`.
    async fn measure_polling(&self, visitor_count: usize) -> BenchResult {
        let (ticks, batch) = self.ticks(visitor_count);
        let mut scene = Scene::open(self.url).await?;
        let pollers = scene.enter_visitors(visitor_count).await?;
        let visitors = Visitors::start(scene.address, PollMode::Polling, &pollers).await?;
        // The visitors arrive one after the other.
        sleep(2 * SETTLING).await;
        let (before, since) = (scene.count_commands().await?, Instant::now());
        let called = scene.tick(ticks, batch).await?;
        let (calls, seconds) = (scene.count_commands().await? - before, since.elapsed().as_secs());
        let delays = visitors::delays(&called, &visitors.answers().await?);
        print_p99(&format!("polling_500ms_p99_ms_{visitor_count}"), delays);
        print_figure(
            format!("redis_calls_per_second_polling_500ms_{visitor_count}"),
            ratio(calls, seconds),
            1,
        );
        Ok(())
    }
}

/// Visitors whose polls are held.
async fn start_held_visitors(scene: &mut Scene, visitor_count: usize) -> BenchResult<Visitors> {
    let pollers = scene.enter_visitors(visitor_count).await?;
    let visitors = Visitors::start(scene.address, PollMode::Held, &pollers).await?;
    scene.wait_until_held(visitor_count).await?;
    sleep(SETTLING).await;
    Ok(visitors)
}

/// Prints the 99th percentile of the delays, in milliseconds.
fn print_p99(name: &str, delays_us: Vec<u64>) -> f64 {
    let p99_ms = percentile(delays_us.into_iter().map(as_f64), 99) / 1_000.0;
    print_figure(name, p99_ms, 1);
    p99_ms
}
