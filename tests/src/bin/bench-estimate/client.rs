//! One client: enters, comes back when told, claims, and is done; or gives up.

use std::{
    error::Error,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use reqwest::{RequestBuilder, StatusCode};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use uuid::Uuid;
use vestibule_tests::runner::Runner;

use crate::{CLAIM_SECONDS, told::Told};

/// After a call that failed.
const BACKOFF: Duration = Duration::from_secs(1);
/// How long a client offers to be held, in seconds.
const HOLD_SECONDS: u32 = 20;

/// What somebody means to do.
pub(crate) struct Plan {
    pub(crate) comes_after: Duration,
    /// After so long in line, and how.
    pub(crate) gives_up: Option<(Duration, End)>,
    pub(crate) stays: Duration,
}

/// How a visit ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Served,
    /// Said so.
    Left,
    /// Went without a word.
    NoShow,
    /// Came back whenever told, and the turn was gone.
    Lost,
}

/// What a client saw.
pub(crate) struct Visit {
    pub(crate) end: End,
    pub(crate) polls: u64,
    pub(crate) failures: u64,
    /// How often the position was higher than before.
    pub(crate) rises: u64,
    /// Answers in line without an estimate.
    pub(crate) unknown: u64,
    /// Of whoever came when called.
    pub(crate) promoted_at_ms: Option<u64>,
    /// When, and the range in seconds.
    estimates: Vec<(u64, u64, u64)>,
    position: u64,
}

impl Visit {
    /// The estimates that can be compared with the truth.
    pub(crate) fn told(&self) -> impl Iterator<Item = Told> {
        let promoted_at_ms = self.promoted_at_ms;
        self.estimates.iter().filter_map(move |&(at_ms, low_s, high_s)| {
            Some(Told {
                low_s,
                high_s,
                truth_ms: promoted_at_ms?.saturating_sub(at_ms),
            })
        })
    }

    fn note(&mut self, entry: &Value) {
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

/// What all clients have in common.
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

    pub(crate) async fn visits(&self, plan: Plan) -> Visit {
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
        sleep(plan.comes_after).await;
        visit.end = self.goes_through(&plan, &mut visit).await;
        visit
    }

    async fn goes_through(&self, plan: &Plan, visit: &mut Visit) -> End {
        let visitor = Uuid::new_v4().to_string();
        let enter = || self.http.post(&self.entries).json(&json!({}));
        let (_, mut entry) = answered(&visitor, enter, visit).await;
        let place = format!("{}/{}", self.entries, entry["token"].as_str().expect("a token"));
        let gives_up = plan.gives_up.map(|(wait, how)| (Instant::now() + wait, how));
        while entry["state"] == "waiting" {
            visit.note(&entry);
            sleep(Duration::from_millis(number(&entry["retry_after_ms"]))).await;
            match gives_up {
                Some((at, End::Left)) if Instant::now() >= at => {
                    answered(&visitor, || self.http.delete(&place), visit).await;
                    return End::Left;
                }
                Some((at, how)) if Instant::now() >= at => return how,
                _ => {}
            }
            visit.polls += 1;
            let poll = || self.http.get(format!("{place}?wait={HOLD_SECONDS}"));
            let (status, answer) = answered(&visitor, poll, visit).await;
            if status == StatusCode::GONE {
                return End::Lost;
            }
            entry = answer;
        }
        if entry["state"] == "ready" {
            let promoted_at_ms = number(&entry["claim_by_ms"]) - u64::from(CLAIM_SECONDS) * 1_000;
            visit.promoted_at_ms = Some(promoted_at_ms);
            let claim = || self.http.post(format!("{place}/claim")).json(&json!({}));
            let (status, _) = answered(&visitor, claim, visit).await;
            if !status.is_success() {
                return End::Lost;
            }
        }
        sleep(plan.stays).await;
        let complete = || self.http.post(format!("{place}/complete")).json(&json!({}));
        answered(&visitor, complete, visit).await;
        End::Served
    }
}

/// Calls until there is an answer that says something: again after a failure, as the client library does.
async fn answered(
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

/// By the clock of this machine, as the line's is.
fn now_ms() -> u64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    u64::try_from(since_1970.as_millis()).expect("not that late")
}
