//! Entering and looking over HTTP, through the local runner with Redis behind it and the file as its backup.

use std::{error::Error, sync::Arc};

use reqwest::Client;
use serde_json::{Value, json};
use uuid::Uuid;
use vestibule_tests::runner::Runner;

use crate::load::{CONNECTIONS, median, throughput};

const CALLS_EACH: usize = 600;
const ROUNDS: usize = 3;
const QUEUE: &str = "bench";

/// One of the callers: a client that keeps one connection open, and the place of a visitor of its own.
struct Caller {
    client: Client,
    entries: Arc<str>,
    place: String,
}

/// Prints `http_enter_rps` (each call a new visitor, written through before it is answered) and `http_status_rps`.
pub(crate) async fn rates(url: &str) -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let runner = Runner::start(dir.path(), &["--crowd", "0", "--quiet", "--redis", url])
        .map_err(|ended| ended.stderr)?;
    let settings = json!({ "capacity": 1, "batch": 1, "interval_seconds": 3600 });
    runner
        .run_command(json!({ "op": "create", "queue": QUEUE, "settings": settings }))
        .await;
    let (mut entering, mut looking) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        entering.push(throughput(callers(&runner).await?, CALLS_EACH, enter).await);
        looking.push(throughput(callers(&runner).await?, CALLS_EACH, look).await);
    }
    println!("http_enter_rps={:.0}", median(entering));
    println!("http_status_rps={:.0}", median(looking));
    Ok(())
}

async fn callers(runner: &Runner) -> Result<Vec<Caller>, Box<dyn Error>> {
    let entries: Arc<str> = runner.url(&format!("/queues/{QUEUE}/entries")).into();
    let mut callers = Vec::new();
    for _ in 0..CONNECTIONS {
        let client = Client::builder().pool_max_idle_per_host(1).build()?;
        let entry = client
            .post(&*entries)
            .json(&json!({}))
            .send()
            .await?
            .json::<Value>()
            .await?;
        let token = entry["token"].as_str().ok_or("an entry has a token")?;
        callers.push(Caller {
            client,
            place: format!("{entries}/{token}"),
            entries: entries.clone(),
        });
    }
    Ok(callers)
}

async fn enter(caller: Caller, _: usize) -> Caller {
    let visitor = Uuid::new_v4().to_string();
    let call = caller
        .client
        .post(&*caller.entries)
        .header("X-Visitor-Id", visitor)
        .json(&json!({}));
    let answer = call.send().await.expect("answered");
    assert_eq!(answer.status(), 201, "a new place");
    answer.bytes().await.expect("read to the end");
    caller
}

async fn look(caller: Caller, _: usize) -> Caller {
    let answer = caller.client.get(&caller.place).send().await.expect("answered");
    assert_eq!(answer.status(), 200, "a place");
    answer.bytes().await.expect("read to the end");
    caller
}
