//! The loop around the steps.

use std::{
    future::Future,
    pin::{Pin, pin},
    sync::Arc,
    time::{Duration, SystemTime},
};

use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout};
use tracing::{debug, info, warn};

use super::{
    checks::{Checks, check_in_turn},
    known::Known,
    report::Reporter,
    steps::{Step, Steps},
    sync::{Policy, SyncError, Synced, sync},
    tick::tick,
    watch::Watch,
};
use crate::{
    backup::{Backup, BackupError, aside, drain::drain_all},
    domain::id::QueueId,
    line::{Configured, Line, LineError},
    telemetry::emf::Metrics,
};

/// Between two ticks of a queue.
const ROUND: Duration = Duration::from_secs(1);
/// Settings are read again in every so many rounds.
const SYNC_ROUNDS: u64 = 3;
/// A tick that takes longer is given up.
pub(super) const TICK_TIMEOUT: Duration = Duration::from_secs(5);
/// A drain begins no further records after so long: other queues have journals too.
pub(super) const DRAIN_TIME: Duration = Duration::from_secs(10);
/// What was set aside is tried again this often.
const RETRY_EVERY: Duration = Duration::from_mins(10);
/// A listing that takes longer is given up.
const LIST_TIMEOUT: Duration = Duration::from_secs(5);
/// A sync that takes longer is given up: it may have a million entries to put back.
const SYNC_TIMEOUT: Duration = Duration::from_mins(5);
/// At the end, steps under way get so long to be over.
const LAST_STEPS: Duration = Duration::from_millis(1_500);

/// So long before its deadline a function stops starting steps.
const RESERVE: Duration = Duration::from_secs(2);

/// Comes about 2 s before a deadline that is given by the system's clock, as Lambda does.
pub fn almost(deadline: SystemTime) -> impl Future<Output = ()> + Send {
    // A deadline that has passed leaves no time at all.
    let left = deadline.duration_since(SystemTime::now()).unwrap_or_default();
    sleep(left.saturating_sub(RESERVE))
}

/// Ticks and syncs every queue of a deployment.
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
    /// A promoter that knows no queue yet.
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

    /// The same promoter, which writes its metrics there instead of where the process does.
    #[must_use]
    pub fn with_metrics(self, metrics: Metrics) -> Self {
        Self {
            reporter: Reporter::new(metrics),
            ..self
        }
    }

    /// The same promoter with another clock of its own.
    #[cfg(test)]
    #[must_use]
    pub(super) fn with_clock(self, clock: crate::line::memory::Clock) -> Self {
        Self {
            watch: Watch::by(clock),
            ..self
        }
    }

    /// Goes on until `until` is over, and then as long as the steps under way take, at most 1.5 s.
    pub async fn run(self: &Arc<Self>, until: impl Future<Output = ()>) {
        self.go_on(pin!(until), false).await;
    }

    /// The same, but no longer than somebody is in any queue: when all have been empty for 10 s it takes its heartbeats back,
    /// and the first who call drive the line until the next run.
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
        // Also where the listing failed: one queue's settings may be readable all the same.
        for queue in self.known.queues() {
            self.start(Step::Sync(queue));
        }
    }

    async fn sync_one(&self, queue: &QueueId) {
        let _permit = self.steps.syncs.acquire().await;
        let work = sync(&*self.line, &*self.backup, queue, self.policy);
        match timeout(SYNC_TIMEOUT, work).await {
            Ok(outcome) => self.take_over(queue, &outcome),
            Err(_) => self
                .known
                .note(queue, "sync", Err("took too long and was given up".to_owned())),
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
                // With the name of what is stored: another wrong value is another trouble.
                note(Err(format!(
                    "the stored settings ({stored}) are wrong, all but the switches stay as they were: {error}"
                )));
            }
            Ok(Synced::Gone) => self.known.gone(queue),
            Err(error) => {
                // What a hand left there can be seen, whichever part of it is wrong.
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
                // Where it is not certain what time it is, the promoter is wanted.
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
                    // It is put back now, not at the next reading of the settings.
                    self.start(Step::Sync(queue.clone()));
                }
                Err(error.to_string())
            }
            Err(_) => Err("took too long and was given up".to_owned()),
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
            Err(_) => Err("took too long and was given up".to_owned()),
        };
        self.known.note(queue, "report", outcome);
    }

    /// It takes as long as the queue is; where the end of this promoter cuts it off, the next one goes on.
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
