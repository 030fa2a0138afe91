//! Measures the accuracy of the wait estimates. Thousands of clients send requests over HTTP to the local
//! runner, which uses a real Redis. Some clients leave, and some do not claim their turn.
//!
//! It prints a table by wait and then one `name=value` a line. Run it with `make bench-estimate`, which starts
//! a Redis of its own. The backup is the file of the runner, so the time of writes to `DynamoDB` is not
//! measured.

mod client;
mod estimate_accuracy;
mod held_polls;

use std::{
    env,
    error::Error,
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use rand::{RngExt, SeedableRng, rngs::StdRng};
use serde_json::json;
use vestibule_tests::runner::Runner;

use self::{
    client::{Client, End, Plan, Visit},
    estimate_accuracy::ShownEstimate,
    held_polls::HeldPollsWatcher,
};

const CLIENTS: u64 = 10_000;
/// The capacity: a little less than the pace alone would fill.
const CAPACITY: u32 = 500;
/// The number of promotions per second.
const BATCH: u32 = 80;
/// The time to claim, in seconds.
const CLAIM_SECONDS: u32 = 20;
/// All clients arrive within this time, most of them at the start.
const RUSH: Duration = Duration::from_secs(30);
/// The mean stay of an active visitor.
const STAY: Duration = Duration::from_secs(5);
/// Of a hundred clients, this many stop polling without leaving, and this many leave.
const NO_SHOWS: u64 = 10;
const LEAVERS: u64 = 5;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let url =
        env::var("TEST_REDIS_URL").map_err(|_| "TEST_REDIS_URL is not set: run `make bench-estimate`")?;
    let clients = match env::args().nth(1) {
        Some(count) => count.parse()?,
        None => CLIENTS,
    };
    let dir = tempfile::tempdir()?;
    let runner = Runner::start(dir.path(), &["--demo-visitors", "0", "--quiet", "--redis", &url])
        .map_err(|ended| ended.stderr)?;
    let queue = format!("bench:{}", uuid::Uuid::new_v4());
    let settings = json!({
        "capacity": CAPACITY, "batch": BATCH, "interval_seconds": 1, "claim_seconds": CLAIM_SECONDS,
        "session_seconds": 300,
    });
    runner
        .run_command(json!({ "op": "create", "queue": queue, "settings": settings }))
        .await;

    let watcher = HeldPollsWatcher::start(&url).await?;
    let began = Instant::now();
    let client = Arc::new(Client::new(&runner, &queue)?);
    let visits = (0..clients).map(|number| {
        let (client, plan) = (client.clone(), draw_plan(number));
        tokio::spawn(async move { client.run_visit(plan).await })
    });
    let visits: Result<Vec<Visit>, _> = join_all(visits).await.into_iter().collect();
    let (visits, wall) = (visits?, began.elapsed());
    let held_max = watcher.max_held().await?;
    print_figures(&visits, held_max, wall);
    Ok(())
}

/// The plan of a client. It is the same in each run.
fn draw_plan(number: u64) -> Plan {
    let mut rng = StdRng::seed_from_u64(number);
    let mut draw_within = |longest: Duration| longest.mul_f64(rng.random::<f64>());
    let (early, wait, stay) = (
        draw_within(RUSH),
        draw_within(Duration::from_mins(2)),
        draw_within(STAY * 2),
    );
    let gives_up = match number % 100 {
        n if n < NO_SHOWS => Some(End::NoShow),
        n if n < NO_SHOWS + LEAVERS => Some(End::Left),
        _ => None,
    };
    Plan {
        // Three quarters of the clients arrive in the first half of the time.
        arrives_after: early.mul_f64(early.as_secs_f64() / RUSH.as_secs_f64()),
        gives_up: gives_up.map(|how| (wait, how)),
        stays: stay,
    }
}

fn print_figures(visits: &[Visit], held_max: u64, wall: Duration) {
    let mut estimates: Vec<ShownEstimate> = visits.iter().flat_map(Visit::shown_estimates).collect();
    let count = |end: End| visits.iter().filter(|visit| visit.end == end).count();
    let waited = visits.iter().filter(|visit| visit.promoted_at_ms.is_some());
    #[allow(clippy::cast_precision_loss)] // Some thousands of each.
    let polls_each =
        waited.clone().map(|visit| visit.polls).sum::<u64>() as f64 / waited.count().max(1) as f64;
    estimate_accuracy::print_table(&mut estimates);
    println!("clients={}", visits.len());
    println!("served={}", count(End::Served));
    println!("left={}", count(End::Left));
    println!("no_shows={}", count(End::NoShow));
    println!("lost_turns={}", count(End::Lost));
    println!(
        "positions_risen={}",
        visits.iter().map(|visit| visit.rises).sum::<u64>()
    );
    println!(
        "failed_calls={}",
        visits.iter().map(|visit| visit.failures).sum::<u64>()
    );
    println!("polls_per_visitor={polls_each:.1}");
    println!("held_max={held_max}");
    println!("estimates={}", estimates.len());
    println!(
        "estimates_unknown={}",
        visits.iter().map(|visit| visit.unknown).sum::<u64>()
    );
    println!(
        "estimate_coverage_80={:.3}",
        estimate_accuracy::coverage(&estimates)
    );
    println!(
        "estimate_mean_relative_error={:.3}",
        estimate_accuracy::mean_relative_error(&estimates)
    );
    println!("wall_s={:.0}", wall.as_secs_f64());
}
