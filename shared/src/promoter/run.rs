//! The loop around the steps.

use std::{
    collections::HashSet,
    future::Future,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

use tokio::{
    sync::Semaphore,
    task::JoinSet,
    time::{Instant, MissedTickBehavior, interval, sleep, timeout},
};
use tracing::{Instrument, debug, warn};

use super::{
    known::Known,
    sync::{Policy, SyncError, Synced, sync},
    tick::{DRAIN_TIME, tick},
};
use crate::{
    backup::{Backup, BackupError, Shelf, drain},
    domain::id::QueueId,
    line::{Line, LineError},
};

/// Between two ticks of a queue.
const ROUND: Duration = Duration::from_secs(1);
/// Settings are read again in every so many rounds.
const SYNC_ROUNDS: u64 = 3;
/// How many queues are ticked at once, and how many are synced at once.
const AT_ONCE: usize = 16;
/// A tick that takes longer is given up: long enough for a journal record that the backup is slow to take.
const TICK_TIMEOUT: Duration = Duration::from_secs(35);
/// A listing that takes longer is given up.
const LIST_TIMEOUT: Duration = Duration::from_secs(5);
/// A sync that takes longer is given up: it may have a large queue to put back.
const SYNC_TIMEOUT: Duration = Duration::from_secs(45);
/// At the end, steps under way get so long to be over.
const LAST_STEPS: Duration = Duration::from_millis(1_500);
/// How many journal records one call takes to the backup at the end.
const SETTLE_RECORDS: usize = 1_000;

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
    line: Arc<dyn Line>,
    backup: Arc<dyn Backup>,
    policy: Policy,
    known: Known,
    steps: Steps,
}

/// One thing to do; it is never done twice at once.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Step {
    List,
    Sync(QueueId),
    Tick(QueueId),
}

/// The steps under way.
struct Steps {
    busy: Mutex<HashSet<Step>>,
    tasks: Mutex<JoinSet<()>>,
    /// Ticks and syncs are counted apart: a backup that hangs must not keep anybody from being promoted.
    ticks: Semaphore,
    syncs: Semaphore,
}

impl Promoter {
    /// A promoter that knows no queue yet.
    pub fn new(line: Arc<dyn Line>, backup: Arc<dyn Backup>, policy: Policy) -> Self {
        Self {
            line,
            backup,
            policy,
            known: Known::default(),
            steps: Steps {
                busy: Mutex::default(),
                tasks: Mutex::default(),
                ticks: Semaphore::new(AT_ONCE),
                syncs: Semaphore::new(AT_ONCE),
            },
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
        self.finish().await;
    }

    /// Waits for the steps under way and gives up those that take too long.
    async fn finish(&self) {
        let mut under_way = std::mem::take(&mut *lock(&self.steps.tasks));
        if timeout(LAST_STEPS, async {
            while under_way.join_next().await.is_some() {}
        })
        .await
        .is_err()
        {
            warn!("steps that were still under way at the end are given up");
        }
        under_way.shutdown().await;
        // A listing among them may have started others.
        let mut late = std::mem::take(&mut *lock(&self.steps.tasks));
        late.shutdown().await;
    }

    /// Syncs every queue once, one after the other: at the start of a process that must not serve before.
    ///
    /// # Errors
    /// The backup's, where it cannot list its queues. What a single queue runs into is in its outcome.
    pub async fn sync_all(&self) -> Result<Vec<(QueueId, Result<Synced, SyncError>)>, BackupError> {
        let queues = self.backup.queues().await?;
        self.known.listed(queues.clone());
        let mut outcomes = Vec::with_capacity(queues.len());
        for queue in queues {
            let outcome = sync(&*self.line, &*self.backup, &queue, self.policy).await;
            self.take_over(&queue, &outcome);
            outcomes.push((queue, outcome));
        }
        Ok(outcomes)
    }

    /// Takes everything that is in the journals to the backup: at the end of a process whose line ends with it.
    ///
    /// # Errors
    /// The first that a queue ran into, as text with the queue's name; the others are settled all the same.
    pub async fn settle_all(&self) -> Result<(), String> {
        let mut outcome = Ok(());
        for shelf in self
            .known
            .queues()
            .iter()
            .filter_map(|queue| self.known.shelf(queue))
        {
            if let Err(error) = self.settle(&shelf).await {
                outcome = outcome.and(Err(format!("{}: {error}", shelf.queue)));
            }
        }
        outcome
    }

    async fn settle(&self, shelf: &Shelf) -> Result<(), drain::DrainError> {
        loop {
            let until = Instant::now() + DRAIN_TIME;
            let drained = drain::drain(&*self.line, &*self.backup, shelf, SETTLE_RECORDS, until).await?;
            if drained.records == 0 {
                return Ok(());
            }
        }
    }

    /// Starts a step, unless it is still under way.
    fn start(self: &Arc<Self>, step: Step) {
        let mut tasks = lock(&self.steps.tasks);
        while tasks.try_join_next().is_some() {}
        if !lock(&self.steps.busy).insert(step.clone()) {
            debug!(?step, "still under way");
            return;
        }
        let promoter = Arc::clone(self);
        tasks.spawn(
            async move {
                let done = Done {
                    promoter: &promoter,
                    step: &step,
                };
                promoter.perform(&step).await;
                drop(done);
            }
            .in_current_span(),
        );
    }

    async fn perform(self: &Arc<Self>, step: &Step) {
        match step {
            Step::List => self.list().await,
            Step::Sync(queue) => self.sync_one(queue).await,
            Step::Tick(queue) => self.tick_one(queue).await,
        }
    }

    async fn list(self: &Arc<Self>) {
        match timeout(LIST_TIMEOUT, self.backup.queues()).await {
            Ok(Ok(queues)) => self.known.listed(queues),
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

    fn take_over(&self, queue: &QueueId, outcome: &Result<Synced, SyncError>) {
        let note = |trouble: Result<(), String>| self.known.note(queue, "sync", trouble);
        match outcome {
            Ok(Synced::InForce { shelf, .. }) => {
                self.known.found(queue, shelf.clone());
                note(Ok(()));
            }
            Ok(Synced::Refused { error, shelf }) => {
                self.known.found(queue, shelf.clone());
                note(Err(format!(
                    "the stored settings are wrong, the old ones stay in force: {error}"
                )));
            }
            Ok(Synced::Gone) => self.known.gone(queue),
            Err(error) => note(Err(error.to_string())),
        }
    }

    async fn tick_one(self: &Arc<Self>, queue: &QueueId) {
        let Some(shelf) = self.known.shelf(queue) else {
            return;
        };
        let _permit = self.steps.ticks.acquire().await;
        let outcome = match timeout(TICK_TIMEOUT, tick(&*self.line, &*self.backup, &shelf)).await {
            Ok(Ok(ticked)) => {
                debug!(%queue, ?ticked, "ticked");
                ticked.drained.map(drop)
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
        self.known.note(queue, "tick", outcome);
    }
}

/// Marks a step as over, also when its task is dropped.
struct Done<'a> {
    promoter: &'a Promoter,
    step: &'a Step,
}

impl Drop for Done<'_> {
    fn drop(&mut self) {
        lock(&self.promoter.steps.busy).remove(self.step);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Sets alone: whole before anything could panic.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
