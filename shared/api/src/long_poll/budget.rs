//! Limits how many polls a deployment holds at once. The line keeps the count, because a process
//! knows only the polls that it holds itself, and on Lambda that is a single one.
//!
//! A poll is counted before it is held and released before it is answered, because a Lambda
//! function runs nothing after its answer. The polls that one status lookup finds promoted are
//! released together. Polls that end on their own while another release is running are released
//! together too. So a tick that ends a thousand held polls costs two requests to the line.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{runtime::Handle, spawn, task::JoinHandle};
use tracing::Instrument;
use vestibule_domain::{
    id::{EntryId, QueueId},
    poll_pacing::HOLD_LEASE_MAX_MS,
};
use vestibule_line::{HoldOrder, HoldOutcome, Line};
use vestibule_telemetry::{
    emf::Metrics,
    metrics::{HELD_POLLS, HELD_POLLS_MAX},
    samples::StartCounter,
};

use crate::config::ApiConfig;

/// How much longer than the hold the lease lasts. A process needs this time to release the poll,
/// because a status lookup runs beside the release.
const LEASE_MARGIN: Duration = Duration::from_secs(2);

/// A poll that asks to be held.
pub(super) struct HoldCandidate<'a> {
    pub(super) queue: &'a QueueId,
    pub(super) id: EntryId,
    /// The poll is held if the deployment holds fewer polls than this.
    pub(super) held_below: u64,
    /// If the speed of the queue is not known, the deployment also has to hold fewer polls of such queues than this.
    pub(super) unknown_speed_below: Option<u64>,
    pub(super) max_duration: Duration,
}

/// The limit of held polls for one deployment.
pub(super) struct PollPermits {
    count: Arc<HoldCounter>,
    started_holds: StartCounter,
}

impl PollPermits {
    pub(super) fn new(line: Line, config: &ApiConfig, metrics: Metrics) -> Self {
        Self {
            count: Arc::new(HoldCounter {
                line,
                deployment: config.deployment.clone(),
                ended: Mutex::default(),
                release_lock: tokio::sync::Mutex::default(),
            }),
            started_holds: StartCounter::new(HELD_POLLS, HELD_POLLS_MAX, metrics),
        }
    }

    /// Counts a poll. Returns `None` if the deployment may not hold it, or if the line did not answer.
    pub(super) async fn acquire(&self, candidate: HoldCandidate<'_>) -> Option<HoldPermit> {
        let (count, queue) = (self.count.clone(), candidate.queue);
        let (id, below) = (candidate.id, candidate.held_below);
        let unknown_speed_below = candidate.unknown_speed_below;
        let lease = candidate.max_duration + LEASE_MARGIN;
        let lease_ms = u64::try_from(lease.as_millis())
            .unwrap_or(u64::MAX)
            .min(HOLD_LEASE_MAX_MS);
        // A separate task counts the poll. If the client disconnects now, the poll is released as
        // soon as it is counted.
        let task = async move {
            let order = HoldOrder {
                deployment: &count.deployment,
                id,
                below,
                unknown_speed_below,
                lease_ms,
            };
            match count.line.take_hold(&order).await {
                Ok(HoldOutcome::Counted { held }) => Some((HoldPermit::new(count, id), held)),
                Ok(HoldOutcome::Full | HoldOutcome::AlreadyHeld) => None,
                Err(error) => {
                    // If the line counted the poll anyway, its lease ends the count.
                    tracing::warn!(
                        event = "poll.count_failed",
                        %error,
                        "answered a poll without holding it because the line could not count it"
                    );
                    None
                }
            }
        };
        let result = spawn(task.in_current_span()).await;
        let (permit, at_once) = result.ok().flatten()?;
        // The metric counts a poll at the start of the hold, so it includes a function that is stopped
        // during the hold.
        self.started_holds.count_start(queue, at_once);
        Some(permit)
    }

    /// Releases all these polls by one request to the line. The caller runs this in a task that is never
    /// aborted; otherwise the polls would stay counted until their leases end.
    pub(super) async fn release(&self, permits: impl IntoIterator<Item = HoldPermit>) {
        let ids: Vec<_> = permits
            .into_iter()
            .filter_map(|mut permit| permit.id.take())
            .collect();
        self.count.release_in_line(&ids).await;
    }
}

/// A poll that stays counted until it is released or dropped.
pub(super) struct HoldPermit {
    count: Arc<HoldCounter>,
    id: Option<EntryId>,
}

impl HoldPermit {
    fn new(count: Arc<HoldCounter>, id: EntryId) -> Self {
        Self { count, id: Some(id) }
    }

    /// Releases the poll. This takes one request to the line, or two if many polls end at the same time.
    pub(super) async fn release(mut self) {
        if let Some(counting_out) = self.start_release() {
            // The task does not panic, and no code aborts it.
            let _ = counting_out.await;
        }
    }

    /// Starts the release in a separate task. The task finishes even if the client disconnects
    /// meanwhile, because other polls may have left their release to it.
    fn start_release(&mut self) -> Option<JoinHandle<()>> {
        let id = self.id.take()?;
        self.count.add_ended(id);
        let count = self.count.clone();
        // Outside of a runtime there is no task to release the poll, so its lease ends the count.
        let runtime = Handle::try_current().ok()?;
        Some(runtime.spawn(async move { count.release_ended().await }))
    }
}

impl Drop for HoldPermit {
    fn drop(&mut self) {
        drop(self.start_release());
    }
}

struct HoldCounter {
    line: Line,
    deployment: String,
    /// The entries whose polls have ended and are not released yet.
    ended: Mutex<Vec<EntryId>>,
    /// The task that holds this lock releases all polls that have ended.
    release_lock: tokio::sync::Mutex<()>,
}

impl HoldCounter {
    fn add_ended(&self, id: EntryId) {
        // A panic elsewhere leaves the vector intact, so the content of a poisoned lock is still valid.
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).push(id);
    }

    async fn release_ended(&self) {
        let _turn = self.release_lock.lock().await;
        let ids = std::mem::take(&mut *self.ended.lock().unwrap_or_else(PoisonError::into_inner));
        // If the list is empty, an earlier task released this poll together with its own.
        self.release_in_line(&ids).await;
    }

    async fn release_in_line(&self, ids: &[EntryId]) {
        if !ids.is_empty()
            && let Err(error) = self.line.release_holds(&self.deployment, ids).await
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
