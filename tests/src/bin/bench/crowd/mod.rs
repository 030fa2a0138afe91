//! Measures what a crowd of thousands of clients costs the origin, and what its visitors are told. The clients send
//! requests over HTTP through nginx, which caches the public document, to the local runner, which uses a real Redis.
//! They follow the rules of the shipped client.
//!
//! Two crowds come one after the other. In both, some visitors vanish without a word. In the second one, some leave the
//! line as well, and some sleep through their call and come back.
//!
//! For each crowd it prints tables of the estimates and then its figures. What reaches the origin is compared with what the
//! clients sent. The backup is the file of the runner, so the time of writes to `DynamoDB` is not measured.

mod estimate_accuracy;
mod figures;
mod held_polls;
mod plan;
mod position_trail;
mod visit;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use clap::Args;
use futures_util::future::join_all;
use serde_json::json;
use vestibule_crowd::{
    crowd::Crowd,
    http::{HttpClient, HttpDoor, NoProof},
};
use vestibule_tests::{caching_proxy::CachingProxy, runner::Runner};

use self::{
    figures::CrowdResult,
    held_polls::HeldPollsWatcher,
    plan::{CrowdKind, draw_plan},
    visit::{CrowdContext, Visit},
};
use crate::{BenchResult, Context, scene::start_runner, size::Size};

/// The pace would let the whole crowd in within this time. So most visitors are far from the head for some minutes.
const SERVED: Duration = Duration::from_secs(250);
/// The capacity, in seconds of the pace: a little less than the pace alone would fill.
const CAPACITY_SECONDS: u64 = 6;
/// The time to claim, in seconds.
const CLAIM_SECONDS: u32 = 20;
/// More connections than the crowd ever has at the same time.
const PROXY_CONNECTIONS: usize = 8_192;

#[derive(Debug, Args)]
pub(crate) struct Options {
    #[arg(default_value_t = 10_000)]
    clients: u64,
}

pub(crate) async fn measure(options: &Options, context: &Context) -> BenchResult {
    let (runner, _folder) = start_runner(&context.redis_url)?;
    let proxy = CachingProxy::start_with_connections(runner.host_and_port().parse()?, PROXY_CONNECTIONS);
    for kind in [CrowdKind::WithoutReturns, CrowdKind::WithReturns] {
        let watcher = HeldPollsWatcher::start(&context.redis_url).await?;
        let mut result = send_crowd(kind, options.clients, &runner, &proxy, context.size).await?;
        result.held_max = watcher.max_held().await?;
        result.print();
    }
    Ok(())
}

/// Sends a crowd through a queue of its own.
async fn send_crowd(
    kind: CrowdKind,
    clients: u64,
    runner: &Runner,
    proxy: &CachingProxy,
    size: Size,
) -> BenchResult<CrowdResult> {
    let queue = format!("bench:{}", uuid::Uuid::new_v4());
    let clients = size.count(clients);
    let batch = clients.div_ceil(size.time(SERVED).as_secs());
    let settings = json!({
        "capacity": batch * CAPACITY_SECONDS, "batch": batch, "interval_seconds": 1, "claim_seconds": CLAIM_SECONDS,
        "session_seconds": 300,
    });
    runner
        .run_command(json!({ "op": "create", "queue": queue, "settings": settings }))
        .await;
    let path = format!("/queues/{queue}");
    let client = HttpClient::new(PROXY_CONNECTIONS)?;
    let door = HttpDoor::new(client.clone(), proxy.url(&path)).with_service(runner.url(&path), NoProof);
    let context = Arc::new(CrowdContext {
        crowd: Crowd {
            keeps_estimates: true,
            ..Crowd::new(door)
        },
        origin: HttpDoor::new(client, runner.url(&path)),
    });
    let began = Instant::now();
    let visits = (0..clients).map(|number| {
        let (context, plan) = (context.clone(), draw_plan(kind, number, size));
        tokio::spawn(async move { context.run_visit(plan).await })
    });
    let visits: Result<Vec<Visit>, _> = join_all(visits).await.into_iter().collect();
    let mut origin_requests = proxy.origin_requests();
    origin_requests.retain(|request| request.path.starts_with(&path));
    Ok(CrowdResult {
        kind,
        queue,
        visits: visits?,
        origin_requests,
        held_max: 0,
        wall: began.elapsed(),
    })
}
