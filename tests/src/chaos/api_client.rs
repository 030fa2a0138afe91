//! The client of the API, which records each request and its answer.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::Value;
use tokio::time::{Instant, sleep, timeout};
use vestibule_backup::{Backup, EntryPartition};

use super::{
    compare::partition,
    history::{Call, History, RequestKind},
    world::World,
};
use crate::{
    entries::now_ms,
    functions::Deployment,
    in_process::{ApiRequest, ApiResponse},
};

/// Longer than a function may run.
pub(super) const ANSWER_MAX: Duration = Duration::from_secs(12);
/// The pause between two attempts.
pub(super) const RETRY_PAUSE: Duration = Duration::from_millis(150);
/// The time limit for reading the table.
const READ_MAX: Duration = Duration::from_mins(1);
/// The number of attempts to read the status of a visitor.
const STATUS_ATTEMPTS: usize = 40;
/// The status of an answer about a visit that has ended.
const GONE: u16 = 410;

/// The client that all visitors share.
pub(super) struct ApiClient {
    /// The API with its stage.
    pub(super) url: String,
    /// The path of the queue.
    pub(super) queue: String,
    http: reqwest::Client,
    deployment: Arc<Deployment>,
    partition: EntryPartition,
    pub(super) history: History,
    /// The number of requests in flight.
    pub(super) in_flight: AtomicUsize,
}

impl ApiClient {
    /// A client of the queue of this world.
    pub(super) fn for_world(world: &World) -> Self {
        Self {
            url: world.deployment.url().to_owned(),
            queue: format!("/queues/{}", world.queue),
            http: reqwest::Client::new(),
            deployment: world.deployment.clone(),
            partition: partition(world),
            history: History::default(),
            in_flight: AtomicUsize::new(0),
        }
    }

    /// Records what the table has of a visitor after a stay.
    pub(super) async fn record_stay(&self, visitor: usize, stay: usize) {
        let calls = self.history.calls();
        let mut own = calls.iter().rev().filter(|call| call.visitor == visitor);
        let Some(token) = own.find_map(|call| call.text("token")) else {
            return;
        };
        let id = token.parse().expect("a token is a valid entry id");
        let end = Instant::now() + READ_MAX;
        // The table itself is always up, but a machine may be slow.
        let record = loop {
            match self.deployment.backup.read_entry(&self.partition, id).await {
                Ok(record) => break record,
                Err(error) => assert!(Instant::now() < end, "the table did not answer in time: {error}"),
            }
        };
        if let Some(record) = record {
            self.history.add_record(visitor, stay, record);
        }
    }

    /// Records what the table has of a visitor at the end of the run.
    pub(super) async fn record_last_stay(&self, visitor: usize) {
        let calls = self.history.calls();
        let own = calls.iter().filter(|call| call.visitor == visitor);
        if let Some(stay) = own.map(|call| call.stay).max() {
            self.record_stay(visitor, stay).await;
        }
    }

    /// Reads the status of each visitor who has an entry, until there is an answer. Returns the visitors whose visit has ended.
    pub(super) async fn poll_all(&self, ids: &[String]) -> Vec<usize> {
        let mut ended = Vec::new();
        let calls = self.history.calls();
        for (visitor, id) in ids.iter().enumerate() {
            let own = || calls.iter().filter(|call| call.visitor == visitor);
            let (Some(token), Some(stay)) = (
                own().rev().find_map(|call| call.text("token")),
                own().map(|call| call.stay).max(),
            ) else {
                continue;
            };
            for _ in 0..STATUS_ATTEMPTS {
                let begun_ms = now_ms();
                let request = ApiRequest::get(format!("{}/entries/{token}", self.queue)).visitor(id);
                let answer = timeout(ANSWER_MAX, self.send(request)).await.ok().flatten();
                let call = Call {
                    visitor,
                    stay,
                    kind: RequestKind::Status,
                    begun_ms,
                    ended_ms: now_ms(),
                    answer,
                };
                let status = call.status();
                self.history.add_call(call);
                if status == GONE {
                    ended.push(visitor);
                }
                if (200..500).contains(&status) {
                    break;
                }
                sleep(RETRY_PAUSE).await;
            }
        }
        ended
    }

    /// Sends a request. Returns the status and the body, or `None` if no complete answer arrives.
    pub(super) async fn send(&self, request: ApiRequest) -> Option<(u16, Value)> {
        let answer = self.exchange(request).await?;
        Some((answer.status.as_u16(), answer.body))
    }

    /// Sends a request. `None` if no complete answer arrives.
    pub(super) async fn exchange(&self, request: ApiRequest) -> Option<ApiResponse> {
        let _in_flight = InFlight::new(&self.in_flight);
        let (method, path, headers, body) = request.into_parts();
        let request = self.http.request(method, format!("{}{path}", self.url));
        let answer = request.headers(headers).body(body).send().await.ok()?;
        let (status, headers) = (answer.status(), answer.headers().clone());
        let bytes = answer.bytes().await.ok()?;
        Some(ApiResponse {
            status,
            headers,
            body: serde_json::from_slice(&bytes).unwrap_or(Value::Null),
            bytes: bytes.to_vec(),
        })
    }
}

/// Counts a request as in flight until dropped.
struct InFlight<'a>(&'a AtomicUsize);

impl<'a> InFlight<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count)
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
