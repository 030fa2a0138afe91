//! Measures requests to enter and for the status over HTTP, through the local runner with Redis and the file
//! backup.

use std::{error::Error, sync::Arc};

use reqwest::Client;
use serde_json::{Value, json};
use uuid::Uuid;
use vestibule_tests::runner::Runner;

use crate::load::{CONNECTIONS, median, throughput};

const CALLS_EACH: usize = 600;
const ROUNDS: usize = 3;
const QUEUE: &str = "bench";

/// One of the clients: it keeps one connection open and has the entry of a visitor of its own.
struct Caller {
    client: Client,
    entries_url: Arc<str>,
    entry_url: String,
}

/// Prints `http_enter_rps` and `http_status_rps`. Each request to enter is of a new visitor and is written to
/// the backup before its answer.
pub(crate) async fn measure_rates(url: &str) -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let runner = Runner::start(dir.path(), &["--demo-visitors", "0", "--quiet", "--redis", url])
        .map_err(|ended| ended.stderr)?;
    let settings = json!({ "capacity": 1, "batch": 1, "interval_seconds": 3600 });
    runner
        .run_command(json!({ "op": "create", "queue": QUEUE, "settings": settings }))
        .await;
    let (mut enter_rates, mut status_rates) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        enter_rates.push(throughput(open_callers(&runner).await?, CALLS_EACH, request_enter).await);
        status_rates.push(throughput(open_callers(&runner).await?, CALLS_EACH, request_status).await);
    }
    println!("http_enter_rps={:.0}", median(enter_rates));
    println!("http_status_rps={:.0}", median(status_rates));
    Ok(())
}

async fn open_callers(runner: &Runner) -> Result<Vec<Caller>, Box<dyn Error>> {
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
