//! Holds a poll open until something changes.
//!
//! A held poll does not ask the line itself. One [watcher](self::watcher) per queue asks for all
//! polls that wait in it. The watcher wakes a poll when its turn has come, when another request
//! ended its wait, and when the queue was paused or has a new message. A poll also ends when this
//! process changed its entry, when the process shuts down, and when its time has run out.

pub(crate) mod budget;
pub(crate) mod entry_notifier;
pub(crate) mod held_polls;
mod watch_loop;
pub(crate) mod watcher;

use std::{future::pending, sync::Arc, time::Duration};

use futures_util::future::OptionFuture;
use tokio::time::{Instant, sleep_until};
use vestibule_line::LineError;

use self::{
    budget::HoldCandidate,
    held_polls::{EntryUpdate, HeldPoll, Wakeup},
};
use crate::{ApiState, who::gateway::Gateway};

/// The time that must be left for the function when a hold ends: enough for one more status lookup
/// and the answer.
const ANSWER_MARGIN: Duration = Duration::from_millis(1_500);

impl ApiState {
    /// Holds the poll of a waiting entry, and looks up its status once more at the end. Returns
    /// `None` if the poll may not be held.
    pub(crate) async fn hold_poll(
        self: &Arc<Self>,
        poll: &HeldPoll,
        wait: Duration,
        gateway: &Gateway,
    ) -> Result<Option<EntryUpdate>, LineError> {
        let Some(candidate) = self.hold_candidate(poll, wait, gateway) else {
            return Ok(None);
        };
        // The end is fixed before the poll is counted, because counting takes time and the deadline
        // of the function does not move.
        let end = Instant::now() + candidate.max_duration;
        // A poll beyond the limit is answered at once, and the answer says when to come back.
        let Some(permit) = self.budget.acquire(candidate).await else {
            return Ok(None);
        };
        let mut subscription = self.entry_notifier.subscribe(poll.id);
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
        let permit = match (wakeup, lookup) {
            (Wakeup::Update(update), None) => return Ok(Some(*update)),
            (Wakeup::LineUnavailable(cause), None) => return Err(LineError::Unavailable(cause)),
            (Wakeup::LookUp(permit), _) => permit,
            // The poll was already released, and the status that was read after that is newer.
            (Wakeup::Update(_) | Wakeup::LineUnavailable(_), Some(_)) => None,
        };
        let release = OptionFuture::from(permit.map(budget::HoldPermit::release));
        let lookup = if let Some(lookup) = lookup {
            release.await;
            lookup
        } else {
            let checked_in = self.line.check_in(&poll.snapshot.queue, poll.id);
            let checked_in = tokio::join!(checked_in, release).0?;
            return Ok(Some(EntryUpdate {
                lookup: checked_in.lookup,
                lane: checked_in.lane,
                record: None,
            }));
        };
        Ok(Some(EntryUpdate::from_lookup(lookup)))
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
        gateway: &Gateway,
    ) -> Option<HoldCandidate<'a>> {
        let snapshot = &poll.snapshot;
        // A held visitor checks in when the hold begins, and stays present until its end.
        let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        let wait_ms = wait_ms.min(snapshot.settings().check_in_interval_ms());
        let moving = snapshot.can_promote() && !snapshot.view.clocks.apart;
        let position = snapshot.position_in_line(poll.score.lane(), poll.position);
        let budget = u64::from(self.config.held_polls_max);
        let hold = snapshot.forecast.plan_hold(position, wait_ms, budget, moving)?;
        let left = gateway
            .deadline
            .map(|deadline| deadline.saturating_duration_since(std::time::Instant::now()));
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
