//! One client. It enters, polls as told, claims and completes the visit, or gives up before.

use std::{
    error::Error,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use reqwest::{RequestBuilder, StatusCode};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use uuid::Uuid;
use vestibule_tests::runner::Runner;

use crate::{CLAIM_SECONDS, estimate_accuracy::ShownEstimate};

/// The longest pause after a request that failed.
const BACKOFF: Duration = Duration::from_secs(1);
/// How long a poll of the client may be held, in seconds.
const HOLD_SECONDS: u32 = 20;

/// What a client does.
pub(crate) struct Plan {
    pub(crate) arrives_after: Duration,
    /// After how long in line the client gives up, and how.
    pub(crate) gives_up: Option<(Duration, End)>,
    pub(crate) stays: Duration,
}

/// How a visit ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Served,
    /// The visitor left.
    Left,
    /// The visitor stopped polling without leaving.
    NoShow,
    /// The visitor polled as told and lost the turn.
    Lost,
}

/// The observations of a client.
pub(crate) struct Visit {
    pub(crate) end: End,
    pub(crate) polls: u64,
    pub(crate) failures: u64,
    /// How often the position rose.
    pub(crate) rises: u64,
    /// Answers to a waiting visitor without an estimate.
    pub(crate) unknown: u64,
    /// When the visitor was promoted. `None` if the visitor gave up.
    pub(crate) promoted_at_ms: Option<u64>,
    /// The time of each estimate, and its range in seconds.
    estimates: Vec<(u64, u64, u64)>,
    position: u64,
}

impl Visit {
    /// The estimates whose wait is known.
    pub(crate) fn shown_estimates(&self) -> impl Iterator<Item = ShownEstimate> {
        let promoted_at_ms = self.promoted_at_ms;
        self.estimates.iter().filter_map(move |&(at_ms, low_s, high_s)| {
            Some(ShownEstimate {
                low_s,
                high_s,
                wait_ms: promoted_at_ms?.saturating_sub(at_ms),
            })
        })
    }

    fn record_answer(&mut self, entry: &Value) {
        let position = entry["position"].as_u64().unwrap_or(self.position);
        self.rises += u64::from(position > self.position);
        self.position = position;
        let range = &entry["estimated_wait_seconds"];
        if let (Some(low_s), Some(high_s)) = (range["low"].as_u64(), range["high"].as_u64()) {
            self.estimates.push((now_ms(), low_s, high_s));
        } else {
            self.unknown += 1;
        }
    }
}

/// What all clients share.
pub(crate) struct Client {
    http: reqwest::Client,
    entries: String,
}

impl Client {
    pub(crate) fn new(runner: &Runner, queue: &str) -> Result<Self, Box<dyn Error>> {
        Ok(Self {
            http: reqwest::Client::builder().build()?,
            entries: runner.url(&format!("/queues/{queue}/entries")),
        })
    }

    pub(crate) async fn run_visit(&self, plan: Plan) -> Visit {
        let mut visit = Visit {
            end: End::Served,
            polls: 0,
            failures: 0,
            rises: 0,
            unknown: 0,
            promoted_at_ms: None,
            estimates: Vec::new(),
            position: u64::MAX,
        };
        sleep(plan.arrives_after).await;
        visit.end = self.wait_and_claim(&plan, &mut visit).await;
        visit
    }

    async fn wait_and_claim(&self, plan: &Plan, visit: &mut Visit) -> End {
        let visitor = Uuid::new_v4().to_string();
        let enter = || self.http.post(&self.entries).json(&json!({}));
        let (_, mut entry) = send_until_answered(&visitor, enter, visit).await;
        let entry_url = format!(
            "{}/{}",
            self.entries,
            entry["token"].as_str().expect("the answer has a token")
        );
        let gives_up = plan.gives_up.map(|(wait, how)| (Instant::now() + wait, how));
        while entry["state"] == "waiting" {
            visit.record_answer(&entry);
            sleep(Duration::from_millis(number(&entry["retry_after_ms"]))).await;
            match gives_up {
                Some((at, End::Left)) if Instant::now() >= at => {
                    send_until_answered(&visitor, || self.http.delete(&entry_url), visit).await;
                    return End::Left;
                }
                Some((at, how)) if Instant::now() >= at => return how,
                _ => {}
            }
            visit.polls += 1;
            let poll = || self.http.get(format!("{entry_url}?wait={HOLD_SECONDS}"));
            let (status, answer) = send_until_answered(&visitor, poll, visit).await;
            if status == StatusCode::GONE {
                return End::Lost;
            }
            entry = answer;
        }
        if entry["state"] == "ready" {
            let promoted_at_ms = number(&entry["claim_by_ms"]) - u64::from(CLAIM_SECONDS) * 1_000;
            visit.promoted_at_ms = Some(promoted_at_ms);
            let claim = || self.http.post(format!("{entry_url}/claim")).json(&json!({}));
            let (status, _) = send_until_answered(&visitor, claim, visit).await;
            if !status.is_success() {
                return End::Lost;
            }
        }
        sleep(plan.stays).await;
        let complete = || self.http.post(format!("{entry_url}/complete")).json(&json!({}));
        send_until_answered(&visitor, complete, visit).await;
        End::Served
    }
}

/// Repeats a request until there is an answer other than 429 or 5xx, as the client library does.
async fn send_until_answered(
    visitor: &str,
    call: impl Fn() -> RequestBuilder,
    visit: &mut Visit,
) -> (StatusCode, Value) {
    loop {
        if let Ok(response) = call().header("X-Visitor-Id", visitor).send().await {
            let status = response.status();
            if !status.is_server_error() && status != StatusCode::TOO_MANY_REQUESTS {
                let body = response.bytes().await.unwrap_or_default();
                return (status, serde_json::from_slice(&body).unwrap_or_default());
            }
        }
        visit.failures += 1;
        sleep(BACKOFF.mul_f64(rand::random())).await;
    }
}

fn number(value: &Value) -> u64 {
    value
        .as_u64()
        .unwrap_or_else(|| panic!("{value} is a whole number"))
}

/// The time by the clock of this machine, which is also that of the line.
fn now_ms() -> u64 {
    let since_1970 = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("the clock is after 1970");
    u64::try_from(since_1970.as_millis()).expect("the time fits")
}
