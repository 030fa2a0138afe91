//! Follows how many entries a queue has promoted.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::{sync::watch, task::JoinHandle, time::sleep};

use crate::runner::Runner;

/// The pause between two readings.
pub(super) const PAUSE: Duration = Duration::from_millis(100);

/// What a queue said about itself at one time of the line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reading {
    pub(super) at_ms: u64,
    /// The entries that were let in so far, at once or by promotion. Both cost the pace.
    pub(super) let_in: u64,
    pub(super) waiting: u64,
}

/// Reads the totals of a queue until it is stopped.
pub(super) struct PromotionMeter {
    stop: watch::Sender<bool>,
    reading: JoinHandle<Vec<Reading>>,
}

impl PromotionMeter {
    pub(super) fn start(runner: &Runner, queue: &str) -> Self {
        let (http, url) = (reqwest::Client::new(), runner.url("/_admin"));
        let command = json!({ "op": "stats", "queue": queue });
        let (stop, stopped) = watch::channel(false);
        let reading = tokio::spawn(async move {
            let mut readings = Vec::new();
            while !*stopped.borrow() {
                let answer = http.post(&url).json(&command).send().await;
                if let Ok(answer) = answer
                    && let Ok(answer) = answer.json::<Value>().await
                    && let Some(reading) = parse(&answer["result"])
                {
                    readings.push(reading);
                }
                sleep(PAUSE).await;
            }
            readings
        });
        Self { stop, reading }
    }

    pub(super) async fn stop(self) -> Vec<Reading> {
        self.stop.send_replace(true);
        self.reading.await.expect("the meter does not panic")
    }
}

/// `None` if the line did not answer.
fn parse(stats: &Value) -> Option<Reading> {
    let totals = &stats["totals"];
    Some(Reading {
        at_ms: stats["now_ms"].as_u64()?,
        let_in: totals["promoted"].as_u64()? + totals["fast_tracked"].as_u64()?,
        waiting: stats["waiting"].as_u64()?,
    })
}
