//! The way to the API, and the record of all that goes over it.

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
    compare::shelf,
    history::{Call, History, What},
    world::World,
};
use crate::{entries::now_ms, functions::Deployment, in_process::ApiRequest};

/// Longer than any function may run.
pub(super) const ANSWER: Duration = Duration::from_secs(12);
/// Between two attempts.
pub(super) const AGAIN: Duration = Duration::from_millis(150);
/// The table is read within this.
const READ: Duration = Duration::from_mins(1);
/// How often a look is tried for a visitor.
const LOOKS: usize = 40;

/// What all of them share.
pub(super) struct Way {
    /// The API, with its stage.
    pub(super) url: String,
    /// The path of the queue.
    pub(super) queue: String,
    http: reqwest::Client,
    deployment: Arc<Deployment>,
    shelf: EntryPartition,
    pub(super) history: History,
    /// How many requests are.
    pub(super) asking: AtomicUsize,
}

impl Way {
    /// The way to a world's queue.
    pub(super) fn to(world: &World) -> Self {
        Self {
            url: world.deployment.url().to_owned(),
            queue: format!("/queues/{}", world.queue),
            http: reqwest::Client::new(),
            deployment: world.deployment.clone(),
            shelf: shelf(world),
            history: History::default(),
            asking: AtomicUsize::new(0),
        }
    }

    /// Notes what the table has of a visitor after a stay.
    pub(super) async fn note_record(&self, visitor: usize, stay: usize) {
        let calls = self.history.calls();
        let mut own = calls.iter().rev().filter(|call| call.visitor == visitor);
        let Some(token) = own.find_map(|call| call.text("token")) else {
            return;
        };
        let id = token.parse().expect("a token");
        let end = Instant::now() + READ;
        // The table itself is never away, but a machine may be slow.
        let record = loop {
            match self.deployment.backup.read_entry(&self.shelf, id).await {
                Ok(record) => break record,
                Err(error) => assert!(Instant::now() < end, "the table cannot be read: {error}"),
            }
        };
        if let Some(record) = record {
            self.history.note_record(visitor, stay, record);
        }
    }

    /// Notes what the table has of a visitor at the end.
    pub(super) async fn note_last_record(&self, visitor: usize) {
        let calls = self.history.calls();
        let own = calls.iter().filter(|call| call.visitor == visitor);
        if let Some(stay) = own.map(|call| call.stay).max() {
            self.note_record(visitor, stay).await;
        }
    }

    /// Looks once for every visitor who has a place, until there is an answer.
    pub(super) async fn look_at_all(&self, ids: &[String]) {
        let calls = self.history.calls();
        for (visitor, id) in ids.iter().enumerate() {
            let own = || calls.iter().filter(|call| call.visitor == visitor);
            let (Some(token), Some(stay)) = (
                own().rev().find_map(|call| call.text("token")),
                own().map(|call| call.stay).max(),
            ) else {
                continue;
            };
            for _ in 0..LOOKS {
                let begun_ms = now_ms();
                let ask = ApiRequest::get(format!("{}/entries/{token}", self.queue)).visitor(id);
                let answer = timeout(ANSWER, self.send(ask)).await.ok().flatten();
                let call = Call {
                    visitor,
                    stay,
                    what: What::Status,
                    begun_ms,
                    ended_ms: now_ms(),
                    answer,
                };
                let status = call.status();
                self.history.note(call);
                if (200..500).contains(&status) {
                    break;
                }
                sleep(AGAIN).await;
            }
        }
    }

    /// Sends a request; `None` where no whole answer comes.
    pub(super) async fn send(&self, ask: ApiRequest) -> Option<(u16, Value)> {
        let _asking = Asking::new(&self.asking);
        let (method, path, headers, body) = ask.into_parts();
        let request = self.http.request(method, format!("{}{path}", self.url));
        let answer = request.headers(headers).body(body).send().await.ok()?;
        let status = answer.status().as_u16();
        let body = answer.bytes().await.ok()?;
        Some((status, serde_json::from_slice(&body).unwrap_or(Value::Null)))
    }
}

/// A request that is counted.
struct Asking<'a>(&'a AtomicUsize);

impl<'a> Asking<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count)
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
