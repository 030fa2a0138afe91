//! Visitors of the first life who come back with what they still have: token, visitor id, visit and pass.

use std::sync::{Arc, Mutex, PoisonError};

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use tokio::{
    sync::watch,
    task::JoinHandle,
    time::{Duration, Instant, sleep, timeout},
};

use super::sale::VisitorView;
use crate::{
    chaos::{
        api_client::{ANSWER_MAX, ApiClient, RETRY_PAUSE},
        world::World,
    },
    functions::API_KEY,
    in_process::ApiRequest,
};

/// The pause between two rounds of requests.
const ROUND_PAUSE: Duration = Duration::from_millis(250);
/// The time limit within which every process says that the queue is deleted.
const TOLD_MAX: Duration = Duration::from_secs(30);
/// A process answers from a snapshot of the deleted queue for a second at most, and while Redis is away, from what it has
/// read in the table for two. Longer on a busy machine.
const SNAPSHOT_MAX: Duration = Duration::from_secs(5);

/// What a visitor of the first life tries.
const REQUESTS: [&str; 6] = [
    "status with the visitor id",
    "status with the token",
    "claim",
    "validate by visitor id",
    "validate by pass",
    "extend",
];

/// The entries of the first life.
#[derive(Clone)]
pub(super) struct OldEntries {
    client: Arc<ApiClient>,
    entries: Arc<Vec<VisitorView>>,
    /// When the queue had been deleted.
    deleted: Arc<Mutex<Option<Instant>>>,
    /// When the queue was created again.
    created_again: Arc<Mutex<Option<Instant>>>,
    violations: Arc<Mutex<Vec<String>>>,
}

impl OldEntries {
    pub(super) fn new(world: &World, views: &[VisitorView]) -> Self {
        Self {
            client: Arc::new(ApiClient::for_world(world)),
            entries: Arc::new(
                views
                    .iter()
                    .filter(|view| view.token().is_some())
                    .cloned()
                    .collect(),
            ),
            deleted: Arc::default(),
            created_again: Arc::default(),
            violations: Arc::default(),
        }
    }

    /// Sends requests for the old entries until the run stops.
    pub(super) fn keep_trying(&self, stop: &watch::Receiver<bool>) -> JoinHandle<()> {
        let (old, stop) = (self.clone(), stop.clone());
        tokio::spawn(async move {
            let mut round = 0;
            while !*stop.borrow() {
                for (number, entry) in old.entries.iter().enumerate() {
                    old.try_once(entry, REQUESTS[(round + number) % REQUESTS.len()])
                        .await;
                }
                round += 1;
                sleep(ROUND_PAUSE).await;
            }
        })
    }

    /// From now on, no request may succeed, except those that a process answers from what it has just read in the table.
    pub(super) fn note_deleted(&self) {
        *lock(&self.deleted) = Some(Instant::now());
    }

    /// From now on, no answer may tell anything of an old entry.
    pub(super) fn note_created_again(&self) {
        *lock(&self.created_again) = Some(Instant::now());
    }

    /// Waits until each of the requests is answered by `queue-deleted`.
    pub(super) async fn expect_told_of_deletion(&self) {
        let end = Instant::now() + TOLD_MAX;
        for entry in self.entries.iter() {
            for what in REQUESTS {
                loop {
                    let answer = self.try_once(entry, what).await;
                    if answer.as_ref().is_some_and(is_queue_deleted) {
                        break;
                    }
                    assert!(Instant::now() < end, "{what} of a deleted queue: {answer:?}");
                    sleep(RETRY_PAUSE).await;
                }
            }
        }
    }

    /// The highest epoch in a pass of the first life.
    pub(super) fn highest_pass_epoch(&self) -> Option<u64> {
        let passes = self.entries.iter().filter_map(|entry| entry.pass.as_deref());
        passes.map(read_epoch).max()
    }

    /// What was wrong in the answers.
    pub(super) fn violations(&self) -> Vec<String> {
        lock(&self.violations).clone()
    }

    async fn try_once(&self, entry: &VisitorView, what: &str) -> Option<(u16, Value)> {
        let request = self.build_request(entry, what);
        let begun = Instant::now();
        let answer = timeout(ANSWER_MAX, self.client.send(request))
            .await
            .ok()
            .flatten()?;
        let (status, body) = &answer;
        let is_past =
            |since: &Mutex<Option<Instant>>| lock(since).is_some_and(|at| begun > at + SNAPSHOT_MAX);
        let may_be_from_snapshot = body["degraded"] == true && !is_past(&self.deleted);
        let has_succeeded = (200..300).contains(status) && !may_be_from_snapshot;
        let tells_of_entry = body.get("state").is_some() || *status == 410;
        if has_succeeded || (is_past(&self.created_again) && tells_of_entry) {
            lock(&self.violations).push(format!(
                "{what} of an entry of the first life was answered {status} {body}"
            ));
        }
        Some(answer)
    }

    fn build_request(&self, entry: &VisitorView, what: &str) -> ApiRequest {
        let (token, visit) = entry.last_visit().expect("an entry with a visit");
        let path = format!("{}/entries/{token}", self.client.queue);
        let validate = |body: &Value| {
            ApiRequest::post(format!("{path}/validate"))
                .header("x-api-key", API_KEY)
                .json(body)
        };
        match (what, &entry.pass) {
            ("status with the visitor id", _) => ApiRequest::get(path).visitor(&entry.id),
            ("claim", _) => ApiRequest::post(format!("{path}/claim")).visitor(&entry.id),
            ("extend", _) => ApiRequest::post(format!("{path}/extend"))
                .visitor(&entry.id)
                .json(&json!({ "visit": visit })),
            ("validate by visitor id", _) => validate(&json!({ "visitor": entry.id, "visit": visit })),
            ("validate by pass", Some(pass)) => validate(&json!({ "pass": pass })),
            _ => ApiRequest::get(path),
        }
    }
}

fn is_queue_deleted((status, body): &(u16, Value)) -> bool {
    *status == 410 && body["code"] == "queue-deleted"
}

/// The epoch in a pass.
fn read_epoch(pass: &str) -> u64 {
    let payload = pass.split('.').nth(1).expect("a JWT");
    let payload = BASE64_URL_SAFE_NO_PAD.decode(payload).expect("base64url");
    let claims: Value = serde_json::from_slice(&payload).expect("claims in JSON");
    claims["epoch"].as_u64().expect("an epoch")
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
