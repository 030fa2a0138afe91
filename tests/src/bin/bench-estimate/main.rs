//! Measures what visitors are told of their wait against how long it was: thousands of clients over HTTP, through the local
//! runner on a real Redis, some of whom leave, and some never come when they are called.
//!
//! Prints a table by wait, and then one `name=value` a line. Run it with `make bench-estimate`, which starts a Redis of its
//! own. The backup is the runner's file: what the table takes to write is not measured here.

mod client;
mod count;
mod told;

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
    count::Counter,
    told::Told,
};

const CLIENTS: u64 = 10_000;
/// As many may be in at once: a little less than the pace alone would fill.
const CAPACITY: u32 = 500;
/// As many go each second.
const BATCH: u32 = 80;
/// How long whoever is called may take.
const CLAIM_SECONDS: u32 = 20;
/// Everybody comes within so long, most of them at the beginning.
const RUSH: Duration = Duration::from_secs(30);
/// How long somebody stays who was let in, on average.
const STAY: Duration = Duration::from_secs(5);
/// Of a hundred clients, so many go without a word, and so many say that they leave.
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
        .order(json!({ "op": "create", "queue": queue, "settings": settings }))
        .await;

    let counter = Counter::start(&url).await?;
    let began = Instant::now();
    let client = Arc::new(Client::new(&runner, &queue)?);
    let visits = (0..clients).map(|number| {
        let (client, plan) = (client.clone(), plan(number));
        tokio::spawn(async move { client.visits(plan).await })
    });
    let visits: Result<Vec<Visit>, _> = join_all(visits).await.into_iter().collect();
    let (visits, wall) = (visits?, began.elapsed());
    let held_max = counter.most().await?;
    print(&visits, held_max, wall);
    Ok(())
}

/// What a client does: the same in each run, but for the time that calls take.
fn plan(number: u64) -> Plan {
    let mut rng = StdRng::seed_from_u64(number);
    let mut within = |longest: Duration| longest.mul_f64(rng.random::<f64>());
    let (early, wait, stay) = (within(RUSH), within(Duration::from_mins(2)), within(STAY * 2));
    let gives_up = match number % 100 {
        n if n < NO_SHOWS => Some(End::NoShow),
        n if n < NO_SHOWS + LEAVERS => Some(End::Left),
        _ => None,
    };
    Plan {
        // Of the first half of the time three quarters, and so on.
        comes_after: early.mul_f64(early.as_secs_f64() / RUSH.as_secs_f64()),
        gives_up: gives_up.map(|how| (wait, how)),
        stays: stay,
    }
}

fn print(visits: &[Visit], held_max: u64, wall: Duration) {
    let mut told: Vec<Told> = visits.iter().flat_map(Visit::told).collect();
    let count = |end: End| visits.iter().filter(|visit| visit.end == end).count();
    let waited = visits.iter().filter(|visit| visit.promoted_at_ms.is_some());
    #[allow(clippy::cast_precision_loss)] // Some thousands of each.
    let polls_each =
        waited.clone().map(|visit| visit.polls).sum::<u64>() as f64 / waited.count().max(1) as f64;
    told::table(&mut told);
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
    println!("estimates={}", told.len());
    println!(
        "estimates_unknown={}",
        visits.iter().map(|visit| visit.unknown).sum::<u64>()
    );
    println!("estimate_coverage_80={:.3}", told::coverage(&told));
    println!(
        "estimate_mean_relative_error={:.3}",
        told::mean_relative_error(&told)
    );
    println!("wall_s={:.0}", wall.as_secs_f64());
}
