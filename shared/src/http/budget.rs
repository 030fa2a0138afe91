//! How many polls a deployment holds at once: counted in the line, since each process knows its own alone, and on Lambda
//! that is one.
//!
//! Whoever is held is counted in before, and out before they are answered: nothing runs after the answer of a function.
//! Those whom one look finds called are counted out together, and so are those who end by themselves while others are being
//! counted out: a tick that ends a thousand holds costs two calls.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{runtime::Handle, spawn, task::JoinHandle};
use tracing::Instrument;

use crate::{
    config::EdgeConfig,
    domain::{
        id::{EntryId, QueueId},
        pacing::HOLD_LEASE_MS_MAX,
    },
    line::{HoldOrder, Holding, Line},
    telemetry::{
        emf::Metrics,
        metrics::{HELD_AT_ONCE, HELD_POLLS},
        samples::Tally,
    },
};

/// How long after a hold its process may take to count it out: a look goes beside it.
const LEASE_MARGIN: Duration = Duration::from_secs(2);

/// Who asks to be held.
pub(super) struct Candidate<'a> {
    pub(super) queue: &'a QueueId,
    pub(super) id: EntryId,
    /// They are held where fewer are.
    pub(super) below: u64,
    pub(super) up_to: Duration,
}

/// What one deployment may hold.
pub(super) struct Budget {
    count: Arc<Count>,
    begun: Tally,
}

impl Budget {
    pub(super) fn new(line: Arc<dyn Line>, config: &EdgeConfig, metrics: Metrics) -> Self {
        Self {
            count: Arc::new(Count {
                line,
                deployment: config.deployment.clone(),
                over: Mutex::default(),
                turn: tokio::sync::Mutex::default(),
            }),
            begun: Tally::new(HELD_POLLS, HELD_AT_ONCE, metrics),
        }
    }

    /// Counts a poll in; `None` where it may not be held, or the line did not say.
    pub(super) async fn take(&self, candidate: Candidate<'_>) -> Option<Held> {
        let (count, queue) = (self.count.clone(), candidate.queue);
        let (id, below) = (candidate.id, candidate.below);
        let lease = candidate.up_to + LEASE_MARGIN;
        let lease_ms = u64::try_from(lease.as_millis())
            .unwrap_or(u64::MAX)
            .min(HOLD_LEASE_MS_MAX);
        // A task of its own: where the client hangs up now, it is counted out as soon as it is in.
        let counting = async move {
            let order = HoldOrder {
                deployment: &count.deployment,
                id,
                below,
                lease_ms,
            };
            match count.line.hold(&order).await {
                Ok(Holding::Counted { held }) => Some((Held::new(count, id), held)),
                Ok(Holding::Full | Holding::AlreadyHeld) => None,
                Err(error) => {
                    // If it was counted all the same, the lease ends that.
                    tracing::warn!(
                        event = "poll.count_failed",
                        %error,
                        "answered a poll without holding it because the line could not count it"
                    );
                    None
                }
            }
        };
        let counted = spawn(counting.in_current_span()).await;
        let (held, at_once) = counted.ok().flatten()?;
        // At the beginning: a function that is stopped while it holds has held.
        self.begun.count(queue, at_once);
        Some(held)
    }

    /// Counts all of these out by one call of the line. In a task that nobody aborts: they would be counted until their leases end.
    pub(super) async fn release(&self, all: impl IntoIterator<Item = Held>) {
        let ids: Vec<_> = all.into_iter().filter_map(|mut held| held.id.take()).collect();
        self.count.out(&ids).await;
    }
}

/// A poll that is counted, until released or dropped.
pub(super) struct Held {
    count: Arc<Count>,
    id: Option<EntryId>,
}

impl Held {
    fn new(count: Arc<Count>, id: EntryId) -> Self {
        Self { count, id: Some(id) }
    }

    /// Counts it out, in the time of one call of the line, or of two where many are.
    pub(super) async fn release(mut self) {
        if let Some(counting_out) = self.let_go() {
            // It does not panic, and nobody aborts it.
            let _ = counting_out.await;
        }
    }

    /// A task of its own: it is finished also where the client hangs up meanwhile, and others may have left theirs to it.
    fn let_go(&mut self) -> Option<JoinHandle<()>> {
        let id = self.id.take()?;
        self.count.add_over(id);
        let count = self.count.clone();
        // Outside of a runtime there is nobody to do it, and the lease ends it.
        let runtime = Handle::try_current().ok()?;
        Some(runtime.spawn(async move { count.all_over_out().await }))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        drop(self.let_go());
    }
}

struct Count {
    line: Arc<dyn Line>,
    deployment: String,
    /// The entries whose holds are over, and are to be counted out.
    over: Mutex<Vec<EntryId>>,
    /// Whoever has it counts out all that are over.
    turn: tokio::sync::Mutex<()>,
}

impl Count {
    fn add_over(&self, id: EntryId) {
        // A vector is whole whatever panicked beside it.
        self.over.lock().unwrap_or_else(PoisonError::into_inner).push(id);
    }

    async fn all_over_out(&self) {
        let _turn = self.turn.lock().await;
        let ids = std::mem::take(&mut *self.over.lock().unwrap_or_else(PoisonError::into_inner));
        // Else those before took ours along.
        self.out(&ids).await;
    }

    async fn out(&self, ids: &[EntryId]) {
        if !ids.is_empty()
            && let Err(error) = self.line.release(&self.deployment, ids).await
        {
            tracing::warn!(
                event = "poll.release_failed",
                holds = ids.len(),
                %error,
                "could not release held polls in the line; each stays counted until its lease ends"
            );
        }
    }
}
