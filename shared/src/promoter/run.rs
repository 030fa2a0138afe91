//! The loop around the steps.

use std::{
    future::Future,
    pin::pin,
    sync::Arc,
    time::{Duration, SystemTime},
};

use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout};
use tracing::{debug, info, warn};

use super::{
    known::Known,
    report::Reporter,
    steps::{Step, Steps},
    sync::{Policy, SyncError, Synced, sync},
    tick::tick,
};
use crate::{
    backup::{Backup, BackupError, aside, drain::drain_all},
    domain::id::QueueId,
    line::{Configured, Line, LineError, Marked},
    telemetry::emf::Metrics,
};

/// Between two ticks of a queue.
const ROUND: Duration = Duration::from_secs(1);
/// Settings are read again in every so many rounds.
const SYNC_ROUNDS: u64 = 3;
/// A tick that takes longer is given up.
const TICK_TIMEOUT: Duration = Duration::from_secs(5);
/// A drain begins no further records after so long: other queues have journals too.
pub(super) const DRAIN_TIME: Duration = Duration::from_secs(10);
/// What was set aside is tried again this often.
const RETRY_EVERY: Duration = Duration::from_mins(10);
/// A listing that takes longer is given up.
const LIST_TIMEOUT: Duration = Duration::from_secs(5);
/// A sync that takes longer is given up: it may have a large queue to put back.
const SYNC_TIMEOUT: Duration = Duration::from_secs(45);
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
    steps: Steps,
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

    /// Goes on until `until` is over, and then as long as the steps under way take, at most 1.5 s.
    pub async fn run(self: &Arc<Self>, until: impl Future<Output = ()>) {
        let mut until = pin!(until);
        let mut rounds = interval(ROUND);
        rounds.set_missed_tick_behavior(MissedTickBehavior::Skip);
        for round in 0_u64.. {
            tokio::select! {
                biased;
                () = &mut until => break,
                _ = rounds.tick() => {}
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
        }
    }

    async fn list(self: &Arc<Self>) {
        match timeout(LIST_TIMEOUT, self.backup.queues()).await {
            Ok(Ok(queues)) => {
                self.reporter.listed(&queues);
                self.known.listed(queues);
            }
            Ok(Err(error)) => warn!(%error, "the queues cannot be listed"),
            Err(_) => warn!("the queues cannot be listed: the backup does not answer"),
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
                    info!(%queue, revision, "changed settings are in force");
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
        if !self.is_as_it_was(queue).await {
            // It is put back now, not at the next reading of the settings.
            self.start(Step::Sync(queue.clone()));
            return;
        }
        let outcome = match timeout(TICK_TIMEOUT, tick(&*self.line, queue)).await {
            Ok(Ok(ticked)) => {
                debug!(%queue, ?ticked, "ticked");
                self.start(Step::Drain(queue.clone()));
                self.reporter.ticked(queue, &ticked);
                if self.reporter.is_due(queue) {
                    self.start(Step::Report(queue.clone()));
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
            self.known.set_doubt(queue, true);
        }
        self.known.note(queue, "tick", outcome);
    }

    /// Whether the line of a queue that did not answer a moment ago has come back as it was: nobody is promoted before
    /// that is known. The backup need not be asked, which may be away as well.
    async fn is_as_it_was(&self, queue: &QueueId) -> bool {
        let Some(put) = self.known.doubt(queue) else {
            return true;
        };
        let marked = timeout(TICK_TIMEOUT, self.line.mark(queue, put.epoch, put.fence)).await;
        let sound = matches!(marked, Ok(Ok(Marked::Marked(_) | Marked::Same)));
        self.known.set_doubt(queue, !sound);
        sound
    }

    async fn report_one(&self, queue: &QueueId) {
        let _permit = self.steps.ticks.acquire().await;
        let outcome = match timeout(TICK_TIMEOUT, self.reporter.report(&*self.line, queue)).await {
            Ok(outcome) => outcome.map_err(|error| error.to_string()),
            Err(_) => Err("took too long and was given up".to_owned()),
        };
        self.known.note(queue, "report", outcome);
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
