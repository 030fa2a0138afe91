//! One client that sends requests as fast as it can.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::{sync::Mutex, task::JoinHandle, time::sleep};
use uuid::Uuid;

use super::{Gateway, admission::Tickets};

/// How many requests the client has under way at the same time.
const CONNECTIONS: usize = 32;
/// How many fakes enter before they fall asleep, or poll.
const FAKES: usize = 1_000;

/// What the attacker does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attack {
    /// Enters again and again, as a new visitor where that is possible. None of them sends another request.
    Entering,
    /// Enters a thousand times, or as often as it can, and then sends nothing.
    SleepingFakes,
    /// Enters a thousand times, or as often as it can, polls for all of them, and never claims.
    PollingFakes,
    /// Asks for the status of tokens that do not exist.
    UnknownTokens,
    /// Reads the public document, beside the CDN.
    Document,
    /// Validates without credentials.
    Validate,
}

impl Attack {
    /// All attacks.
    pub const ALL: [Self; 6] = [
        Self::Entering,
        Self::SleepingFakes,
        Self::PollingFakes,
        Self::UnknownTokens,
        Self::Document,
        Self::Validate,
    ];

    /// Its name, as figures show it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Entering => "entering",
            Self::SleepingFakes => "sleeping_fakes",
            Self::PollingFakes => "polling_fakes",
            Self::UnknownTokens => "unknown_tokens",
            Self::Document => "document",
            Self::Validate => "validate",
        }
    }

    pub(super) fn start(self, gateway: &Gateway, queue: &str, tickets: Tickets) -> RunningAttack {
        let attacker = Arc::new(Attacker {
            attack: self,
            http: reqwest::Client::new(),
            queue_url: gateway.url(&format!("/queues/{queue}")),
            is_over: AtomicBool::new(false),
            sent: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            fakes: Mutex::default(),
            fakes_max: tickets.entries_of_one_client().unwrap_or(FAKES),
            tickets,
        });
        let running = tokio::spawn({
            let attacker = attacker.clone();
            async move { join_all((0..CONNECTIONS).map(|_| attacker.send_requests())).await }
        });
        RunningAttack {
            attacker,
            running,
            begun: Instant::now(),
        }
    }
}

/// What the attacker sent.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Traffic {
    pub(super) requests_per_second: f64,
    /// Answered with 403, 429 or 5xx.
    pub(super) refused: u64,
}

/// An attack that goes on until it is stopped.
pub(super) struct RunningAttack {
    attacker: Arc<Attacker>,
    running: JoinHandle<Vec<()>>,
    begun: Instant,
}

impl RunningAttack {
    pub(super) async fn stop(self) -> Traffic {
        self.attacker.is_over.store(true, Ordering::Relaxed);
        let seconds = self.begun.elapsed().as_secs_f64();
        let sent = u32::try_from(self.attacker.sent.load(Ordering::Relaxed)).expect("few enough");
        self.running.await.expect("the attacker does not panic");
        Traffic {
            requests_per_second: f64::from(sent) / seconds,
            refused: self.attacker.refused.load(Ordering::Relaxed),
        }
    }
}

/// A token of the form that the API gives, which belongs to no entry.
fn invented_token() -> Uuid {
    uuid::Builder::from_custom_bytes(rand::random()).into_uuid()
}

struct Attacker {
    attack: Attack,
    http: reqwest::Client,
    queue_url: String,
    is_over: AtomicBool,
    sent: AtomicU64,
    refused: AtomicU64,
    /// The visitor ids and tokens of the fakes.
    fakes: Mutex<Vec<(String, String)>>,
    fakes_max: usize,
    tickets: Tickets,
}

impl Attacker {
    async fn send_requests(&self) {
        let mut turn = 0;
        while !self.is_over.load(Ordering::Relaxed) {
            turn += 1;
            self.attack_once(turn).await;
        }
    }

    async fn attack_once(&self, turn: usize) {
        let url = &self.queue_url;
        match self.attack {
            Attack::Entering => {
                self.enter_fake(turn).await;
            }
            Attack::SleepingFakes | Attack::PollingFakes => {
                let fake = {
                    let fakes = self.fakes.lock().await;
                    let poll = turn.wrapping_mul(CONNECTIONS + 1) % self.fakes_max;
                    (fakes.len() >= self.fakes_max)
                        .then(|| fakes.get(poll).cloned())
                        .flatten()
                };
                match fake {
                    None => self.enter_fake(turn).await,
                    Some((visitor, token)) if self.attack == Attack::PollingFakes => {
                        let poll = self.http.get(format!("{url}/entries/{token}"));
                        self.send(poll.header("X-Visitor-Id", visitor)).await;
                    }
                    Some(_) => sleep(Duration::from_millis(100)).await,
                }
            }
            Attack::UnknownTokens => {
                let token = invented_token();
                self.send(self.http.get(format!("{url}/entries/{token}"))).await;
            }
            Attack::Document => {
                self.send(self.http.get(url)).await;
            }
            Attack::Validate => {
                let token = invented_token();
                let validate = self.http.post(format!("{url}/entries/{token}/validate"));
                self.send(validate.json(&json!({ "visitor": Uuid::new_v4().to_string() })))
                    .await;
            }
        }
    }

    async fn enter_fake(&self, turn: usize) {
        let visitor = Uuid::new_v4().to_string();
        let enter = self.http.post(format!("{}/entries", self.queue_url));
        let entered = self
            .send(
                enter
                    .header("X-Visitor-Id", &visitor)
                    .json(&self.tickets.attacking_body(turn)),
            )
            .await;
        let Some(entry) = entered else { return };
        if let Some(token) = entry["token"].as_str() {
            let mut fakes = self.fakes.lock().await;
            if fakes.len() < self.fakes_max {
                let visitor = entry["visitor"].as_str().unwrap_or(&visitor);
                fakes.push((visitor.to_owned(), token.to_owned()));
            }
        }
    }

    /// Sends a request, and returns the body of an answer that refuses nothing.
    async fn send(&self, request: reqwest::RequestBuilder) -> Option<Value> {
        self.sent.fetch_add(1, Ordering::Relaxed);
        let answer = request.send().await.ok()?;
        let status = answer.status().as_u16();
        if matches!(status, 403 | 429 | 500..) {
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
        answer.json().await.ok().filter(|_| status < 300)
    }
}
