//! A visitor over HTTP: sends the requests of a [`Follower`] and hands it the answers.

use std::{sync::Arc, time::Duration};

use reqwest::{RequestBuilder, Response, StatusCode, header};
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::time::{Instant, sleep_until};
use uuid::Uuid;
use vestibule_crowd::rules::{Chance, Follower, FollowerOptions, Refusal, RequestKind};
use vestibule_domain::state::EntryState;

/// The timeout of a request, without the hold.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// A visitor of one queue.
#[derive(Debug)]
pub struct FollowingVisitor {
    /// The rules that the visitor follows.
    pub follower: Follower,
    /// The requests so far.
    pub counts: RequestCounts,
    /// The visitor id.
    pub id: String,
    http: reqwest::Client,
    queue_url: Arc<str>,
    clock: Instant,
}

/// How many requests a visitor has sent.
#[derive(Debug, Clone, Copy, Default)]
pub struct RequestCounts {
    /// To enter, for the status and to claim.
    pub calls: u64,
    /// Those for the status.
    pub polls: u64,
    /// For the public document.
    pub documents: u64,
    /// Those of all that failed, or were refused for now.
    pub failures: u64,
}

/// What a request came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The follower has a new answer about the entry.
    Entry,
    /// A document came.
    Document {
        /// Whether it is newer than the ones before.
        is_newer: bool,
    },
    /// The request failed or was refused, with this status or 0, and the visitor asks again later.
    Failure(u16),
    /// The visit has ended, by the answer with this status.
    End(u16),
}

impl FollowingVisitor {
    /// A visitor who is about to enter the queue at this URL. If `reads_documents` is false, the visitor keeps to
    /// `retry_after_ms` alone.
    pub fn new(http: reqwest::Client, queue_url: Arc<str>, reads_documents: bool) -> Self {
        Self {
            follower: Follower::new(
                FollowerOptions {
                    reads_documents,
                    ..FollowerOptions::default()
                },
                Chance::of_seed(rand::random()),
                0.0,
            ),
            counts: RequestCounts::default(),
            id: Uuid::new_v4().to_string(),
            http,
            queue_url,
            clock: Instant::now(),
        }
    }

    /// Milliseconds of the follower's clock.
    pub fn now_ms(&self) -> f64 {
        self.clock.elapsed().as_secs_f64() * 1_000.0
    }

    /// When the next request is due.
    pub fn next_request_at(&self) -> Instant {
        let at_ms = self.follower.next_request().at_ms;
        // Some requests are due never, or at once. A day is longer than any test.
        let after_s = (at_ms / 1_000.0).clamp(0.0, 86_400.0);
        self.clock + Duration::from_secs_f64(after_s)
    }

    /// Waits until the next request is due, sends it, and takes the answer.
    pub async fn step(&mut self) -> Step {
        sleep_until(self.next_request_at()).await;
        let kind = self.follower.next_request().kind;
        match kind {
            RequestKind::Document => self.counts.documents += 1,
            RequestKind::Status { .. } => self.counts.polls += 1,
            RequestKind::Enter | RequestKind::Claim => {}
        }
        self.counts.calls += u64::from(kind != RequestKind::Document);
        let answer = self.request(kind).send().await;
        match answer {
            Ok(answer) if answer.status().is_success() => self.take_answer(kind, answer).await,
            Ok(answer) => self.take_refusal(kind, answer).await,
            Err(_) => self.take_failure(kind, &Refusal::NO_ANSWER),
        }
    }

    /// Repeats steps until the entry is no longer waiting, or the visit has ended. Returns the last step.
    pub async fn wait_for_turn(&mut self) -> Step {
        loop {
            let step = self.step().await;
            let waits = self
                .follower
                .entry()
                .is_none_or(|entry| entry.state == EntryState::Waiting);
            if matches!(step, Step::End(_)) || (step == Step::Entry && !waits) {
                return step;
            }
        }
    }

    /// Leaves the queue. Repeats the request until it is answered.
    pub async fn leave(&mut self) {
        loop {
            self.counts.calls += 1;
            let request = self.as_visitor(self.http.delete(self.entry_url("")));
            if let Ok(answer) = request.send().await
                && !is_retryable(answer.status())
            {
                return;
            }
            self.counts.failures += 1;
            tokio::time::sleep(ANSWER_TIMEOUT.mul_f64(0.1 * rand::random::<f64>())).await;
        }
    }

    fn request(&self, kind: RequestKind) -> RequestBuilder {
        match kind {
            // No header of its own, so that any cache may answer it.
            RequestKind::Document => self.http.get(&*self.queue_url).timeout(ANSWER_TIMEOUT),
            RequestKind::Enter => {
                let url = format!("{}/entries", self.queue_url);
                self.as_visitor(self.http.post(url).json(&json!({})))
            }
            RequestKind::Claim => self.as_visitor(self.http.post(self.entry_url("/claim")).json(&json!({}))),
            RequestKind::Status { hold_seconds } => {
                let query = if hold_seconds > 0 {
                    format!("?wait={hold_seconds}")
                } else {
                    String::new()
                };
                let hold = Duration::from_secs(hold_seconds.into());
                self.as_visitor(self.http.get(self.entry_url(&query)))
                    .timeout(hold + ANSWER_TIMEOUT)
            }
        }
    }

    fn as_visitor(&self, request: RequestBuilder) -> RequestBuilder {
        request.header("X-Visitor-Id", &self.id).timeout(ANSWER_TIMEOUT)
    }

    fn entry_url(&self, rest: &str) -> String {
        let entry = self.follower.entry().expect("the visitor has entered");
        format!("{}/entries/{}{rest}", self.queue_url, entry.token)
    }

    async fn take_answer(&mut self, kind: RequestKind, answer: Response) -> Step {
        if kind == RequestKind::Document {
            let Some(document) = read_json(answer).await else {
                return self.take_failure(kind, &Refusal::NO_ANSWER);
            };
            let now_ms = self.now_ms();
            let is_newer = self.follower.receive_document(&Arc::new(document), now_ms);
            return Step::Document { is_newer };
        }
        let Some(entry) = read_json(answer).await else {
            return self.take_failure(kind, &Refusal::NO_ANSWER);
        };
        let now_ms = self.now_ms();
        self.follower.receive_entry(kind, entry, now_ms);
        Step::Entry
    }

    async fn take_refusal(&mut self, kind: RequestKind, answer: Response) -> Step {
        let status = answer.status();
        let seconds = answer.headers().get(header::RETRY_AFTER);
        let seconds: Option<f64> = seconds.and_then(|value| value.to_str().ok()?.parse().ok());
        let body = answer.bytes().await.unwrap_or_default();
        let retry_after_ms = seconds.unwrap_or(0.0) * 1_000.0;
        self.take_failure(
            kind,
            &Refusal::from_answer(status.as_u16(), retry_after_ms, &body),
        )
    }

    fn take_failure(&mut self, kind: RequestKind, refusal: &Refusal) -> Step {
        self.counts.failures += 1;
        let now_ms = self.now_ms();
        self.follower.receive_refusal(kind, refusal, now_ms);
        if self.follower.is_over() {
            Step::End(refusal.status)
        } else {
            Step::Failure(refusal.status)
        }
    }
}

fn is_retryable(status: StatusCode) -> bool {
    status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error()
}

async fn read_json<T: DeserializeOwned>(answer: Response) -> Option<T> {
    let body = answer.bytes().await.ok()?;
    serde_json::from_slice(&body).ok()
}
