//! What each step of the promoter does for a queue, and how it lists the queues.

use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, timeout};
use tracing::{debug, info, warn};
use vestibule_backup::BackupError;
use vestibule_domain::id::QueueId;
use vestibule_engine::{
    dead_letter,
    flush::flush_journal_until,
    restore::release_abandoned_lease,
    sync::{SyncError, SyncOutcome, sync_settings},
    tally::{STORE_INTERVAL, store_tally},
    tick::{TickSummary, tick, tick_parked_queue},
};
use vestibule_line::ConfigureOutcome;

use super::{
    checks::run_due_check, parked_queues::TickKind, run::Promoter, step_outcomes::StepError,
    steps::PromoterStep,
};

/// The promoter aborts a tick that takes longer.
pub(super) const TICK_TIMEOUT: Duration = Duration::from_secs(5);
/// A flush starts no further batch of records after this time, so that every queue gets its turn to
/// flush.
pub(super) const FLUSH_TIME: Duration = Duration::from_secs(10);
/// The time between two retries of a queue's dead letters.
const DEAD_LETTER_RETRY_INTERVAL: Duration = Duration::from_mins(10);
/// The promoter aborts a listing of the queues that takes longer.
const LIST_TIMEOUT: Duration = Duration::from_secs(5);
/// The promoter aborts a sync that takes longer. The limit is high because a sync may restore a million
/// entries.
const SYNC_TIMEOUT: Duration = Duration::from_mins(5);
impl Promoter {
    pub(super) async fn list_queues(self: &Arc<Self>) {
        if self.eviction_report.is_new() {
            self.eviction_report.report(&self.line).await;
        }
        match timeout(LIST_TIMEOUT, self.backup.list_all_queues()).await {
            Ok(Ok(listing)) => {
                self.start_deletions(&listing);
                let queues = listing.queues.iter().map(|(queue, _)| queue.clone()).collect();
                self.reporter.retain_queues(&queues);
                self.checks.retain_queues(&queues);
                self.clock_watch.retain_queues(&queues);
                self.tallies.retain_queues(&queues);
                if let Some(announcer) = &self.announcer {
                    announcer.retain_queues(&queues);
                }
                self.registry.replace_queues(listing.queues);
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
        // The promoter syncs the known queues also after a failed listing, because the settings of
        // one queue may still be readable.
        for queue in self.registry.queues_to_sync() {
            self.start_step(PromoterStep::Sync(queue));
        }
    }

    pub(super) async fn sync_queue(self: &Arc<Self>, queue: &QueueId) {
        let _permit = self.steps.syncs.acquire().await;
        // From before the sync: a change during it is synced after the next listing.
        let listed = self.registry.listed_fingerprint(queue);
        let work = sync_settings(&self.line, &*self.backup, queue, self.policy);
        if let Ok(outcome) = timeout(SYNC_TIMEOUT, work).await {
            self.record_sync_outcome(queue, &outcome);
            let is_in_force = matches!(outcome, Ok(SyncOutcome::InForce { .. }));
            self.registry.record_sync_time(queue, listed, is_in_force);
            if !is_in_force {
                // A queue that was never synced has no tick after which it would happen.
                self.start_announcement_if_due(queue);
            }
            return;
        }
        self.registry.record_sync_time(queue, listed, false);
        release_abandoned_lease(&*self.backup, queue).await;
        self.registry
            .log_step_outcome(queue, "sync", Err(took_too_long()));
    }

    pub(super) fn record_sync_outcome(&self, queue: &QueueId, outcome: &Result<SyncOutcome, SyncError>) {
        let log_outcome = |problem: Result<(), String>| {
            let problem = problem.map_err(StepError::Failed);
            self.registry.log_step_outcome(queue, "sync", problem);
        };
        match outcome {
            Ok(SyncOutcome::InForce {
                put,
                revision,
                partition,
            }) => {
                self.registry.record_sync(queue, partition.clone(), *put);
                self.reporter.report_settings_refused(queue, false);
                log_outcome(Ok(()));
                if put.outcome == ConfigureOutcome::Changed {
                    info!(
                        event = "queue.settings_applied",
                        %queue,
                        revision,
                        "applied changed settings of the queue to the line"
                    );
                }
            }
            Ok(SyncOutcome::Refused {
                put,
                error,
                stored,
                partition,
            }) => {
                self.registry.record_sync(queue, partition.clone(), *put);
                self.reporter.report_settings_refused(queue, true);
                // The text contains the fingerprint of the stored settings, so that the log shows
                // the next invalid edit although the reason is the same.
                log_outcome(Err(format!(
                    "the stored settings (fingerprint {stored}) are invalid; only their switches act, and the other \
                     settings in force stay: {error}"
                )));
            }
            Ok(SyncOutcome::QueueRemoved) => {
                self.registry.remove(queue);
                self.deleted_queues.add_missing(queue.clone());
            }
            Err(error) => {
                // A damaged item counts as refused settings, whichever part of it is damaged, so
                // that the metric shows it.
                if matches!(
                    error,
                    SyncError::NotRestorable(_) | SyncError::Backup(BackupError::Unreadable(_))
                ) {
                    self.reporter.report_settings_refused(queue, true);
                }
                log_outcome(Err(error.to_string()));
            }
        }
    }

    pub(super) async fn tick_queue(self: &Arc<Self>, queue: &QueueId) {
        if self.registry.partition(queue).is_none() {
            return;
        }
        let _permit = self.steps.ticks.acquire().await;
        let fence = self.registry.fence(queue);
        let kind = self.registry.tick_kind(queue);
        let ticking = async {
            match kind {
                TickKind::Regular => tick(&self.line, queue, fence, &self.tick_history).await,
                TickKind::Parked => tick_parked_queue(&self.line, queue, fence, &self.tick_history).await,
            }
        };
        let outcome = match timeout(TICK_TIMEOUT, ticking).await {
            Ok(Ok(summary)) => {
                debug!(event = "queue.ticked", %queue, ticked = ?summary, "ticked the queue");
                self.follow_up_tick(queue, kind, &summary).await;
                Ok(())
            }
            Ok(Err(error)) => Err(StepError::from(error)),
            Err(_) => Err(took_too_long()),
        };
        if let Err(error) = &outcome {
            if matches!(error, StepError::QueueMissing) {
                // The sync restores a lost queue at once instead of with the next reading of the
                // settings. Where one queue is lost, others may be.
                self.start_step(PromoterStep::Sync(queue.clone()));
                self.start_step(PromoterStep::Watch);
            }
            self.registry.record_emptiness(queue, false);
            self.unpark_queue(queue);
        }
        self.registry.log_step_outcome(queue, "tick", outcome);
        self.start_announcement_if_due(queue);
    }

    /// Does what is due after a tick, and parks or unparks the queue.
    async fn follow_up_tick(self: &Arc<Self>, queue: &QueueId, kind: TickKind, summary: &TickSummary) {
        let is_empty = summary.waiting + summary.ready + summary.active == 0;
        // A queue whose clocks disagree counts as occupied, because only a running promoter
        // can correct the offset.
        let is_idle = is_empty && !summary.clocks.apart;
        self.registry.record_emptiness(queue, is_idle);
        let is_parked = kind == TickKind::Parked;
        // A parked queue has no journal record as long as it is idle, but it may have dead letters.
        if !is_parked || !is_idle || self.registry.is_retry_due(queue, DEAD_LETTER_RETRY_INTERVAL) {
            self.start_step(PromoterStep::Flush(queue.clone()));
        }
        self.reporter.report_tick(queue, summary);
        let adjustment = self
            .clock_watch
            .adjust_if_needed(&self.line, queue, summary.clocks)
            .await;
        let adjustment = adjustment.map_err(StepError::Failed);
        self.registry.log_step_outcome(queue, "clock", adjustment);
        if self.reporter.is_due(queue) {
            self.start_step(PromoterStep::Report(queue.clone()));
        }
        // A parked queue does not change.
        if !is_parked && self.tallies.take_ask_turn(queue) {
            self.start_step(PromoterStep::StoreTally(queue.clone()));
        }
        if self.checks.take_ask_turn(queue, summary.is_check_due, is_parked) {
            self.start_step(PromoterStep::Check(queue.clone()));
        }
        if summary.has_noticed_loss {
            self.start_step(PromoterStep::Watch);
        }
        match kind {
            TickKind::Regular => self.park_queue_if_idle(queue).await,
            TickKind::Parked if !is_idle || summary.is_check_due => self.unpark_queue(queue),
            TickKind::Parked if self.registry.needs_periodic_sync(queue) => {
                self.start_step(PromoterStep::Sync(queue.clone()));
            }
            TickKind::Parked => {}
        }
    }

    pub(super) async fn report_queue(&self, queue: &QueueId) {
        let _permit = self.steps.ticks.acquire().await;
        let is_parked = self.registry.tick_kind(queue) == TickKind::Parked;
        let reporting = self.reporter.report(&self.line, queue, is_parked);
        let outcome = match timeout(TICK_TIMEOUT, reporting).await {
            Ok(outcome) => outcome.map_err(StepError::from),
            Err(_) => Err(took_too_long()),
        };
        self.registry.log_step_outcome(queue, "report", outcome);
    }

    /// Stores the tally of a queue. The step takes a permit of the flushes, because it waits for the backup as they do.
    pub(super) async fn store_tally_of(&self, queue: &QueueId) {
        let _permit = self.steps.flushes.acquire().await;
        let stored = store_tally(&self.line, &*self.backup, queue, STORE_INTERVAL).await;
        let outcome = stored.map(drop).map_err(StepError::from);
        self.registry.log_step_outcome(queue, "tally", outcome);
    }

    /// Runs the consistency check of a queue, if it is due. The duration grows with the queue. If
    /// the end of this run cuts the check off, the next promoter continues where it stopped.
    pub(super) async fn check_queue(&self, queue: &QueueId) {
        let _permit = self.steps.checks.acquire().await;
        let Some(partition) = self.registry.partition(queue) else {
            return;
        };
        let mut has_checked = false;
        let report = |checked: &_| {
            has_checked = true;
            self.reporter.report_check(queue, checked);
        };
        let outcome = run_due_check(&self.line, &*self.backup, &partition, report).await;
        if has_checked {
            self.eviction_report.report(&self.line).await;
        }
        self.registry
            .log_step_outcome(queue, "check", outcome.map_err(StepError::from));
    }

    pub(super) async fn flush_queue(&self, queue: &QueueId) {
        let _permit = self.steps.flushes.acquire().await;
        let Some(partition) = self.registry.partition(queue) else {
            return;
        };
        let (line, backup, until) = (&self.line, &*self.backup, Instant::now() + FLUSH_TIME);
        let mut outcome = flush_journal_until(line, backup, &partition, until).await;
        if outcome.is_ok() && self.registry.take_retry_turn(queue, DEAD_LETTER_RETRY_INTERVAL) {
            outcome = dead_letter::retry_dead_letters(line, backup, &partition)
                .await
                .map(drop);
        }
        self.registry
            .log_step_outcome(queue, "flush", outcome.map_err(StepError::from));
    }
}

fn took_too_long() -> StepError {
    StepError::Failed("the step took too long, so the promoter aborted it".to_owned())
}
