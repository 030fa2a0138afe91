//! The promoter's loop, which starts the steps of every queue once a second.

use std::{
    future::Future,
    pin::{Pin, pin},
    sync::Arc,
    time::{Duration, SystemTime},
};

use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout};
use tracing::{debug, info, warn};
use vestibule_backup::{Backup, BackupError};
use vestibule_domain::id::QueueId;
use vestibule_engine::{
    aside,
    drain::drain_all,
    sync::{Policy, SyncError, Synced, sync},
    tick::tick,
};
use vestibule_line::{Configured, Line, LineError};
use vestibule_telemetry::emf::Metrics;

use super::{
    checks::{Checks, check_in_turn},
    known::Known,
    report::Reporter,
    steps::{Step, Steps},
    watch::Watch,
};

/// The time between two ticks of a queue.
const ROUND: Duration = Duration::from_secs(1);
/// The promoter lists the queues and syncs their settings once in this many rounds.
const SYNC_ROUNDS: u64 = 3;
/// The promoter aborts a tick that takes longer.
pub(super) const TICK_TIMEOUT: Duration = Duration::from_secs(5);
/// A flush starts no further batch of records after this time, so that every queue gets its turn to flush.
pub(super) const DRAIN_TIME: Duration = Duration::from_secs(10);
/// The time between two retries of a queue's dead letters.
const RETRY_EVERY: Duration = Duration::from_mins(10);
/// The promoter aborts a listing of the queues that takes longer.
const LIST_TIMEOUT: Duration = Duration::from_secs(5);
/// The promoter aborts a sync that takes longer. The limit is high because a sync may restore a million
/// entries.
const SYNC_TIMEOUT: Duration = Duration::from_mins(5);
/// At the end of a run, the steps that are still running get this time to finish.
const LAST_STEPS: Duration = Duration::from_millis(1_500);

/// A function stops starting steps this long before its deadline.
const RESERVE: Duration = Duration::from_secs(2);

/// Completes 2 s before `deadline`, which is a time of the system clock, as Lambda gives it.
pub fn almost(deadline: SystemTime) -> impl Future<Output = ()> + Send {
    // If the deadline has already passed, the future completes at once.
    let left = deadline.duration_since(SystemTime::now()).unwrap_or_default();
    sleep(left.saturating_sub(RESERVE))
}

/// Ticks, flushes, syncs, reports on and checks every queue of a deployment.
pub struct Promoter {
    pub(super) line: Arc<dyn Line>,
    pub(super) backup: Arc<dyn Backup>,
    pub(super) policy: Policy,
    pub(super) known: Known,
    reporter: Reporter,
    checks: Checks,
    watch: Watch,
    pub(super) steps: Steps,
}

impl Promoter {
    /// Creates a promoter with an empty registry of queues. The first listing fills it.
    pub fn new(line: Arc<dyn Line>, backup: Arc<dyn Backup>, policy: Policy) -> Self {
        Self {
            line,
            backup,
            policy,
            known: Known::default(),
            reporter: Reporter::new(Metrics::of_process()),
            checks: Checks::default(),
            watch: Watch::new(),
            steps: Steps::default(),
        }
    }

    /// Replaces the destination of the metrics. The default is that of the process.
    #[must_use]
    pub fn with_metrics(self, metrics: Metrics) -> Self {
        Self {
            reporter: Reporter::new(metrics),
            ..self
        }
    }

    /// Replaces the promoter's own clock.
    #[cfg(test)]
    #[must_use]
    pub(super) fn with_clock(self, clock: vestibule_clock::Clock) -> Self {
        Self {
            watch: Watch::by(clock),
            ..self
        }
    }

    /// Runs until `until` completes. Then it waits at most 1.5 s for the steps that are still running.
    pub async fn run(self: &Arc<Self>, until: impl Future<Output = ()>) {
        self.go_on(pin!(until), false).await;
    }

    /// Runs like [`run`](Self::run), but also ends when every queue has been empty for 10 s. Before it ends
    /// early, it clears its heartbeats, so that the requests of the next visitors run fallback ticks until the
    /// next run.
    pub async fn run_while_needed(self: &Arc<Self>, until: impl Future<Output = ()>) {
        self.go_on(pin!(until), true).await;
    }

    async fn go_on(self: &Arc<Self>, mut until: Pin<&mut impl Future<Output = ()>>, may_rest: bool) {
        self.watch.begin();
        self.known.begin();
        let mut rounds = interval(ROUND);
        rounds.set_missed_tick_behavior(MissedTickBehavior::Skip);
        for round in 0_u64.. {
            tokio::select! {
                biased;
                () = &mut until => break,
                _ = rounds.tick() => {}
            }
            if may_rest && self.rest().await {
                break;
            }
            if round.is_multiple_of(SYNC_ROUNDS) {
                self.start(Step::List);
            }
            for queue in self.known.queues() {
                self.start(Step::Tick(queue));
            }
        }
        self.steps.finish(LAST_STEPS).await;
    }

    fn start(self: &Arc<Self>, step: Step) {
        let promoter = Arc::clone(self);
        let work = {
            let step = step.clone();
            async move { promoter.perform(&step).await }
        };
        self.steps.start(step, work);
    }

    async fn perform(self: &Arc<Self>, step: &Step) {
        match step {
            Step::List => self.list().await,
            Step::Sync(queue) => self.sync_one(queue).await,
            Step::Tick(queue) => self.tick_one(queue).await,
            Step::Drain(queue) => self.drain_one(queue).await,
            Step::Report(queue) => self.report_one(queue).await,
            Step::Check(queue) => self.check_one(queue).await,
        }
    }

    async fn list(self: &Arc<Self>) {
        match timeout(LIST_TIMEOUT, self.backup.queues()).await {
            Ok(Ok(queues)) => {
                self.reporter.listed(&queues);
                self.checks.listed(&queues);
                self.watch.listed(&queues);
                self.known.listed(queues);
            }
            Ok(Err(error)) => {
                warn!(
                    event = "queue.listing_failed",
                    %error,
                    "could not list the queues in the backup; the promoter goes on with the queues that it knows"
                );
            }
            Err(_) => warn!(
                event = "queue.listing_failed",
                "the backup did not list the queues in time; the promoter goes on with the queues that it knows"
            ),
        }
        // The promoter syncs the known queues also after a failed listing, because the settings of one queue
        // may still be readable.
        for queue in self.known.queues() {
            self.start(Step::Sync(queue));
        }
    }

    async fn sync_one(&self, queue: &QueueId) {
        let _permit = self.steps.syncs.acquire().await;
        let work = sync(&*self.line, &*self.backup, queue, self.policy);
        match timeout(SYNC_TIMEOUT, work).await {
            Ok(outcome) => self.take_over(queue, &outcome),
            Err(_) => self.known.note(
                queue,
                "sync",
                Err("the step took too long, so the promoter aborted it".to_owned()),
            ),
        }
    }

    pub(super) fn take_over(&self, queue: &QueueId, outcome: &Result<Synced, SyncError>) {
        let note = |trouble: Result<(), String>| self.known.note(queue, "sync", trouble);
        match outcome {
            Ok(Synced::InForce { put, revision, shelf }) => {
                self.known.found(queue, shelf.clone(), *put);
                self.reporter.settings(queue, false);
                note(Ok(()));
                if put.how == Configured::Changed {
                    info!(
                        event = "queue.settings_applied",
                        %queue,
                        revision,
                        "applied changed settings of the queue to the line"
                    );
                }
            }
            Ok(Synced::Refused {
                put,
                error,
                stored,
                shelf,
            }) => {
                self.known.found(queue, shelf.clone(), *put);
                self.reporter.settings(queue, true);
                // The text contains the fingerprint of the stored settings, so that the log shows the next
                // invalid edit although the reason is the same.
                note(Err(format!(
                    "the stored settings (fingerprint {stored}) are invalid; only their switches act, and the other \
                     settings in force stay: {error}"
                )));
            }
            Ok(Synced::Gone) => self.known.gone(queue),
            Err(error) => {
                // A damaged item counts as refused settings, whichever part of it is damaged, so that the
                // metric shows it.
                if matches!(
                    error,
                    SyncError::Stuck(_) | SyncError::Backup(BackupError::Nonsense(_))
                ) {
                    self.reporter.settings(queue, true);
                }
                note(Err(error.to_string()));
            }
        }
    }

    async fn tick_one(self: &Arc<Self>, queue: &QueueId) {
        if self.known.shelf(queue).is_none() {
            return;
        }
        let _permit = self.steps.ticks.acquire().await;
        let fence = self.known.fence(queue);
        let outcome = match timeout(TICK_TIMEOUT, tick(&*self.line, queue, fence)).await {
            Ok(Ok(ticked)) => {
                debug!(event = "queue.ticked", %queue, ?ticked, "ticked the queue");
                let nobody = ticked.waiting + ticked.ready + ticked.active == 0;
                // A queue whose clocks disagree counts as occupied, because only a running promoter can correct
                // the offset.
                self.known.saw(queue, nobody && !ticked.clocks.apart);
                self.start(Step::Drain(queue.clone()));
                self.reporter.ticked(queue, &ticked);
                let kept = self.watch.keep(&*self.line, queue, ticked.clocks).await;
                self.known.note(queue, "clock", kept);
                if self.reporter.is_due(queue) {
                    self.start(Step::Report(queue.clone()));
                }
                if self.checks.is_due(queue) {
                    self.start(Step::Check(queue.clone()));
                }
                Ok(())
            }
            Ok(Err(error)) => {
                if matches!(error, LineError::Unknown) {
                    // The sync restores the queue at once instead of with the next reading of the settings.
                    self.start(Step::Sync(queue.clone()));
                }
                Err(error.to_string())
            }
            Err(_) => Err("the step took too long, so the promoter aborted it".to_owned()),
        };
        if outcome.is_err() {
            self.known.saw(queue, false);
        }
        self.known.note(queue, "tick", outcome);
    }

    async fn report_one(&self, queue: &QueueId) {
        let _permit = self.steps.ticks.acquire().await;
        let outcome = match timeout(TICK_TIMEOUT, self.reporter.report(&*self.line, queue)).await {
            Ok(outcome) => outcome.map_err(|error| error.to_string()),
            Err(_) => Err("the step took too long, so the promoter aborted it".to_owned()),
        };
        self.known.note(queue, "report", outcome);
    }

    /// Runs the consistency check of a queue, if it is due. The duration grows with the queue. If the end of
    /// this run cuts the check off, the next promoter continues where it stopped.
    async fn check_one(&self, queue: &QueueId) {
        let _permit = self.steps.checks.acquire().await;
        let Some(shelf) = self.known.shelf(queue) else {
            return;
        };
        let tell = |checked: &_| self.reporter.checked(queue, checked);
        let outcome = check_in_turn(&*self.line, &*self.backup, &shelf, tell).await;
        self.known
            .note(queue, "check", outcome.map_err(|error| error.to_string()));
    }

    async fn drain_one(&self, queue: &QueueId) {
        let _permit = self.steps.drains.acquire().await;
        let Some(shelf) = self.known.shelf(queue) else {
            return;
        };
        let (line, backup, until) = (&*self.line, &*self.backup, Instant::now() + DRAIN_TIME);
        let mut outcome = drain_all(line, backup, &shelf, until).await;
        if outcome.is_ok() && self.known.is_retry_due(queue, RETRY_EVERY) {
            outcome = aside::retry(line, backup, &shelf).await.map(drop);
        }
        self.known
            .note(queue, "drain", outcome.map_err(|error| error.to_string()));
    }
}
