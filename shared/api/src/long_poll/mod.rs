//! The long polls: the service that holds a poll open until something changes.
//!
//! A held poll does not ask the line itself. One [watcher] per queue asks for all
//! polls that wait in it. The watcher wakes a poll when its turn has come, when another request
//! ended its wait, and when the queue was paused or has a new message. A poll also ends when this
//! process changed its entry, when the process shuts down, and when its time has run out.

mod budget;
pub(crate) mod entry_notifier;
pub(crate) mod held_polls;
mod watch_loop;
mod watcher;

use std::{future::pending, sync::Arc, time::Duration};

use futures_util::future::OptionFuture;
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};
use vestibule_line::{EntryLookup, Line, LineError};
use vestibule_telemetry::emf::Metrics;

use self::{
    budget::{HoldCandidate, HoldPermit, PollPermits},
    entry_notifier::EntryNotifier,
    held_polls::{EntryUpdate, HeldPoll, Wakeup},
    watch_loop::WatchContext,
    watcher::Watchers,
};
use crate::{config::ApiConfig, queue::QueueCache};

/// The time that must be left for the function when a hold ends: enough for one more status lookup
/// and the answer.
const ANSWER_MARGIN: Duration = Duration::from_millis(1_500);

/// The polls that this process holds.
pub(crate) struct LongPolls {
    line: Line,
    permits: Arc<PollPermits>,
    watchers: Watchers,
    notifier: Arc<EntryNotifier>,
    held_polls_max: u64,
    shutdown: watch::Receiver<bool>,
}

impl LongPolls {
    pub(crate) fn new(
        line: Line,
        queues: Arc<QueueCache>,
        notifier: Arc<EntryNotifier>,
        config: &ApiConfig,
        shutdown: watch::Receiver<bool>,
        metrics: Metrics,
    ) -> Self {
        let permits = Arc::new(PollPermits::new(line.clone(), config, metrics));
        let watchers = Watchers::new(WatchContext {
            line: line.clone(),
            queue_cache: queues,
            permits: permits.clone(),
        });
        Self {
            line,
            permits,
            watchers,
            notifier,
            held_polls_max: u64::from(config.held_polls_max),
            shutdown,
        }
    }

    /// Holds the poll of a waiting entry, and looks up its status once more at the end. Returns
    /// `None` if the poll may not be held. `deadline` is when the function stops.
    pub(crate) async fn hold(
        &self,
        poll: &HeldPoll,
        wait: Duration,
        deadline: Option<std::time::Instant>,
    ) -> Result<Option<EntryUpdate>, LineError> {
        let Some(candidate) = self.hold_candidate(poll, wait, deadline) else {
            return Ok(None);
        };
        // The end is fixed before the poll is counted, because counting takes time and the deadline
        // of the function does not move.
        let end = Instant::now() + candidate.max_duration;
        // A poll beyond the limit is answered at once, and the answer says when to come back.
        let Some(permit) = self.permits.acquire(candidate).await else {
            return Ok(None);
        };
        let mut subscription = self.notifier.subscribe(poll.id);
        let mut watch = self.watchers.watch(poll, permit);
        let (wakeup, lookup) = loop {
            tokio::select! {
                wakeup = watch.wait_for_wakeup() => break (wakeup, None),
                () = subscription.wait_for_change() => {
                    let lookup = self.line.status(&poll.snapshot.queue, poll.id).await?;
                    if !poll.is_still_waiting(lookup) {
                        break (watch.end_hold().await, Some(lookup));
                    }
                }
                () = sleep_until(end) => break (watch.end_hold().await, None),
                () = self.wait_for_shutdown() => break (watch.end_hold().await, None),
            }
        };
        self.end_hold(poll, wakeup, lookup).await.map(Some)
    }

    /// Returns the status at the end of a hold, after the poll was released. `lookup` is the status if it was read already.
    async fn end_hold(
        &self,
        poll: &HeldPoll,
        wakeup: Wakeup,
        lookup: Option<EntryLookup>,
    ) -> Result<EntryUpdate, LineError> {
        let permit = match (wakeup, lookup) {
            (Wakeup::Update(update), None) => return Ok(*update),
            (Wakeup::LineUnavailable(cause), None) => return Err(LineError::Unavailable(cause)),
            (Wakeup::LookUp(permit), _) => permit,
            // The poll was already released, and the status that was read after that is newer.
            (Wakeup::Update(_) | Wakeup::LineUnavailable(_), Some(_)) => None,
        };
        let release = OptionFuture::from(permit.map(HoldPermit::release));
        if let Some(lookup) = lookup {
            release.await;
            return Ok(EntryUpdate::new(lookup, None));
        }
        let checked_in = self.line.check_in(&poll.snapshot.queue, poll.id);
        let checked_in = tokio::join!(checked_in, release).0?;
        Ok(EntryUpdate::new(checked_in.lookup, checked_in.lane))
    }

    /// Waits until the process is told to stop.
    async fn wait_for_shutdown(&self) {
        let mut stopping = self.shutdown.clone();
        if stopping.wait_for(|stopping| *stopping).await.is_err() {
            // The sender was dropped, so no shutdown will be announced.
            pending::<()>().await;
        }
    }

    /// Decides by the pacing whether the poll may be held, and by the deadline of the function for how
    /// long.
    fn hold_candidate<'a>(
        &self,
        poll: &'a HeldPoll,
        wait: Duration,
        deadline: Option<std::time::Instant>,
    ) -> Option<HoldCandidate<'a>> {
        let snapshot = &poll.snapshot;
        let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        let hold = snapshot
            .moment()
            .plan_hold(poll.score, poll.position, wait_ms, self.held_polls_max)?;
        let left = deadline.map(|deadline| deadline.saturating_duration_since(std::time::Instant::now()));
        let up_to = Duration::from_millis(hold.max_ms)
            .min(left.map_or(Duration::MAX, |left| left.saturating_sub(ANSWER_MARGIN)));
        (!up_to.is_zero()).then(|| HoldCandidate {
            queue: &snapshot.queue,
            id: poll.id,
            held_below: hold.held_polls_limit,
            unknown_speed_below: hold.unknown_speed_limit,
            max_duration: up_to,
        })
    }
}

#[cfg(test)]
mod tests;
