//! The promoter's loop, which starts the steps of every queue once a second.

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    time::{Duration, SystemTime},
};

use crate::event_bus::EventBus;
use futures_util::future::join_all;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};
use vestibule_backup::Backup;
use vestibule_engine::{restore::release_abandoned_lease, sync::SettingsPolicy, tick_history::TickHistory};
use vestibule_line::Line;
use vestibule_telemetry::emf::Metrics;

use super::{
    announcer::Announcer,
    checks::CheckSchedule,
    clock_watch::ClockWatch,
    deleted_queues::DeletedQueues,
    eviction::EvictionReport,
    queue_registry::QueueRegistry,
    report::MetricsReporter,
    steps::{PromoterStep, StepRunner},
    tally_schedule::TallySchedule,
};

/// The time between two ticks of a queue.
const ROUND_INTERVAL: Duration = Duration::from_secs(1);
/// The promoter lists the queues and syncs their settings once in this many rounds.
const SYNC_ROUNDS: u64 = 3;
/// It watches the parked queues once in this many rounds. Until then, requests tick a parked queue.
const WATCH_ROUNDS: u64 = 6;
/// At the end of a run, the steps that are still running get this time to finish.
const FINISH_TIMEOUT: Duration = Duration::from_millis(1_200);
/// After that, the leases of restores that were cut off are released within this time.
const RELEASE_TIMEOUT: Duration = Duration::from_millis(500);

/// A function stops starting steps this long before its deadline.
const DEADLINE_RESERVE: Duration = Duration::from_secs(2);

/// Completes 2 s before `deadline`, which is a time of the system clock, as Lambda gives it.
pub fn before_deadline(deadline: SystemTime) -> impl Future<Output = ()> + Send {
    // If the deadline has already passed, the future completes at once.
    let time_left = deadline.duration_since(SystemTime::now()).unwrap_or_default();
    sleep(time_left.saturating_sub(DEADLINE_RESERVE))
}

/// Ticks, flushes, syncs, reports on and checks every queue of a deployment.
pub struct Promoter {
    pub(super) line: Line,
    pub(super) backup: Arc<dyn Backup>,
    pub(super) policy: SettingsPolicy,
    pub(super) registry: QueueRegistry,
    pub(super) reporter: MetricsReporter,
    pub(super) checks: CheckSchedule,
    pub(super) clock_watch: ClockWatch,
    pub(super) tick_history: TickHistory,
    pub(super) tallies: TallySchedule,
    pub(super) eviction_report: EvictionReport,
    pub(super) deleted_queues: DeletedQueues,
    pub(super) announcer: Option<Announcer>,
    pub(super) steps: StepRunner,
}

impl Promoter {
    /// Creates a promoter with an empty registry of queues. The first listing fills it.
    pub fn new(line: Line, backup: Arc<dyn Backup>, policy: SettingsPolicy) -> Self {
        Self {
            line,
            backup,
            policy,
            registry: QueueRegistry::default(),
            reporter: MetricsReporter::new(Metrics::for_process()),
            checks: CheckSchedule::default(),
            clock_watch: ClockWatch::new(),
            tick_history: TickHistory::default(),
            tallies: TallySchedule::default(),
            eviction_report: EvictionReport::default(),
            deleted_queues: DeletedQueues::default(),
            announcer: None,
            steps: StepRunner::default(),
        }
    }

    /// Replaces the destination of the metrics. The default is that of the process.
    #[must_use]
    pub fn with_metrics(self, metrics: Metrics) -> Self {
        Self {
            reporter: MetricsReporter::new(metrics),
            ..self
        }
    }

    /// Has the promoter tell this bus what changes in the queues. By default it tells none.
    #[must_use]
    pub fn with_event_bus(self, bus: Arc<dyn EventBus>) -> Self {
        let announcer = Some(Announcer::new(bus, self.backup.clone()));
        Self { announcer, ..self }
    }

    /// Replaces the promoter's own clock.
    #[cfg(test)]
    #[must_use]
    pub(super) fn with_clock(self, clock: vestibule_telemetry::clock::Clock) -> Self {
        Self {
            clock_watch: ClockWatch::with_clock(clock),
            ..self
        }
    }

    /// Runs until `until` completes. Then it waits at most 1.2 s for the steps that are still running.
    pub async fn run(self: &Arc<Self>, until: impl Future<Output = ()>) {
        // A future that is pinned on the stack would be there twice: as the argument, and pinned.
        self.run_rounds(Box::pin(until).as_mut(), false).await;
    }

    /// Runs like [`run`](Self::run), but also ends when every queue has been empty for 10 s. Before
    /// it ends early, it clears its heartbeats, so that the requests of the next visitors run
    /// fallback ticks until the next run.
    pub async fn run_while_needed(self: &Arc<Self>, until: impl Future<Output = ()>) {
        self.run_rounds(Box::pin(until).as_mut(), true).await;
    }

    async fn run_rounds(self: &Arc<Self>, mut until: Pin<&mut impl Future<Output = ()>>, may_park: bool) {
        self.clock_watch.begin_run();
        self.registry.begin_run();
        if let Some(announcer) = &self.announcer {
            announcer.begin_run();
        }
        let mut rounds = interval(ROUND_INTERVAL);
        rounds.set_missed_tick_behavior(MissedTickBehavior::Skip);
        for round in 0_u64.. {
            tokio::select! {
                biased;
                () = &mut until => break,
                _ = rounds.tick() => {}
            }
            if may_park && self.park_idle_promoter().await {
                break;
            }
            if round.is_multiple_of(SYNC_ROUNDS) {
                self.start_step(PromoterStep::List);
            }
            if round.is_multiple_of(WATCH_ROUNDS) {
                self.start_step(PromoterStep::Watch);
            }
            for queue in self.registry.take_due_ticks() {
                self.start_step(PromoterStep::Tick(queue));
            }
            // Every other queue is reported on after its tick.
            for queue in self.registry.parked_queues() {
                if self.reporter.is_due(&queue) {
                    self.start_step(PromoterStep::Report(queue));
                }
            }
        }
        self.steps.finish(FINISH_TIMEOUT).await;
        let queues = self.registry.queues();
        let releases = queues
            .iter()
            .map(|queue| release_abandoned_lease(&*self.backup, queue));
        if timeout(RELEASE_TIMEOUT, join_all(releases)).await.is_err() {
            tracing::warn!(
                event = "queue.restore_lease_release_timed_out",
                "the backup did not release the lease of a restore in time; the lease expires within 10 seconds"
            );
        }
    }

    pub(super) fn start_step(self: &Arc<Self>, step: PromoterStep) {
        let promoter = Arc::clone(self);
        let work = {
            let step = step.clone();
            async move { promoter.run_step(&step).await }
        };
        self.steps.start(step, work);
    }

    async fn run_step(self: &Arc<Self>, step: &PromoterStep) {
        match step {
            PromoterStep::List => self.list_queues().await,
            PromoterStep::Watch => self.watch_parked_queues().await,
            PromoterStep::Sync(queue) => self.sync_queue(queue).await,
            PromoterStep::Delete(queue) => self.delete_queue(queue).await,
            PromoterStep::Tick(queue) => self.tick_queue(queue).await,
            PromoterStep::Flush(queue) => self.flush_queue(queue).await,
            PromoterStep::Report(queue) => self.report_queue(queue).await,
            PromoterStep::StoreTally(queue) => self.store_tally_of(queue).await,
            PromoterStep::Check(queue) => self.check_queue(queue).await,
            PromoterStep::Announce(queue) => self.announce_changes(queue).await,
        }
    }
}
