//! Measures requests to enter and for the status over HTTP, through the local runner with Redis and the file
//! backup.

use std::sync::Arc;

use reqwest::Client;
use serde_json::{Value, json};
use uuid::Uuid;
use vestibule_tests::runner::Runner;

use super::{
    Bench,
    load::{CONNECTIONS, throughput},
};
use crate::{
    BenchResult,
    figures::{median, print_figure},
    scene::start_runner,
};

const CALLS_EACH: usize = 600;
const ROUNDS: u32 = 3;
const QUEUE: &str = "bench";

/// One of the clients: it keeps one connection open and has the entry of a visitor of its own.
struct Caller {
    client: Client,
    entries_url: Arc<str>,
    entry_url: String,
}

/// Prints `http_enter_rps` and `http_status_rps`. Each request to enter is of a new visitor and is written to
/// the backup before its answer.
pub(crate) async fn measure_rates(bench: &Bench) -> BenchResult {
    let (runner, _folder) = start_runner(&bench.url)?;
    let calls_each = bench.size.count(CALLS_EACH);
    let settings = json!({ "capacity": 1, "batch": 1, "interval_seconds": 3600 });
    runner
        .run_command(json!({ "op": "create", "queue": QUEUE, "settings": settings }))
        .await;
    let (mut enter_rates, mut status_rates) = (Vec::new(), Vec::new());
    for _ in 0..bench.size.count(ROUNDS) {
        enter_rates.push(throughput(open_callers(&runner).await?, calls_each, request_enter).await);
        status_rates.push(throughput(open_callers(&runner).await?, calls_each, request_status).await);
    }
    print_figure("http_enter_rps", median(enter_rates), 0);
    print_figure("http_status_rps", median(status_rates), 0);
    Ok(())
}

async fn open_callers(runner: &Runner) -> BenchResult<Vec<Caller>> {
    let entries_url: Arc<str> = runner.url(&format!("/queues/{QUEUE}/entries")).into();
    let mut callers = Vec::new();
    for _ in 0..CONNECTIONS {
        let client = Client::builder().pool_max_idle_per_host(1).build()?;
        let entry = client
            .post(&*entries_url)
            .json(&json!({}))
            .send()
            .await?
            .json::<Value>()
            .await?;
        let token = entry["token"].as_str().ok_or("an entry has a token")?;
        callers.push(Caller {
            client,
            entry_url: format!("{entries_url}/{token}"),
            entries_url: entries_url.clone(),
        });
    }
    Ok(callers)
}

async fn request_enter(caller: Caller, _: usize) -> Caller {
    let visitor = Uuid::new_v4().to_string();
    let call = caller
        .client
        .post(&*caller.entries_url)
        .header("X-Visitor-Id", visitor)
        .json(&json!({}));
    let answer = call.send().await.expect("the runner answers");
    assert_eq!(answer.status(), 201, "a new entry");
    answer.bytes().await.expect("the answer is complete");
    caller
}

async fn request_status(caller: Caller, _: usize) -> Caller {
    let answer = caller
        .client
        .get(&caller.entry_url)
        .send()
        .await
        .expect("the runner answers");
    assert_eq!(answer.status(), 200, "the entry exists");
    answer.bytes().await.expect("the answer is complete");
    caller
}
