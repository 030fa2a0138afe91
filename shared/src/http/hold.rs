//! Holding a poll until something changes.
//!
//! A held poll does not ask the line for itself: one [watcher](super::watcher) does for all that wait in one queue, and tells
//! each when its turn has come, when somebody else ended its wait, when the queue was paused or says something new. It ends by
//! itself when this process changed that very entry; when it shuts down, or at the end of its time.

use std::{future::pending, sync::Arc, time::Duration};

use tokio::time::{Instant, sleep_until};

use super::{
    Edge,
    crowd::{News, Waiter, Word},
    gateway::Gateway,
};
use crate::{
    domain::{
        estimate::eta_ms,
        pacing::{Poll, hold_horizon_ms, poll},
    },
    line::LineError,
};

/// What is left of the function's time when a hold ends: enough to look once more and to answer.
const MARGIN: Duration = Duration::from_millis(1_500);

impl Edge {
    /// Holds the poll of a waiting entry, where it may be held, and looks at it once more; `None` where it was not held.
    pub(super) async fn hold(
        self: &Arc<Self>,
        waiter: &Waiter,
        wait: Duration,
        gateway: &Gateway,
    ) -> Result<Option<News>, LineError> {
        let Some(up_to) = self.may_hold(waiter, wait, gateway) else {
            return Ok(None);
        };
        // One in too many is answered at once, and told when to come back.
        let Ok(_permit) = self.holds.try_acquire() else {
            return Ok(None);
        };
        // At the beginning: a function that is stopped while it holds has held.
        self.held_polls.count(&waiter.seen.queue);
        let end = Instant::now() + up_to;
        let mut sleeper = self.wakes.sleeper(waiter.id);
        let mut watch = self.watchers.watch(self, waiter);
        loop {
            tokio::select! {
                word = watch.word() => match word {
                    Word::News(news) => return Ok(Some(news)),
                    Word::LineAway(cause) => return Err(LineError::Unavailable(cause)),
                    Word::Look => break,
                },
                () = sleeper.woken() => {
                    let look = self.line.status(&waiter.seen.queue, waiter.id).await?;
                    if !waiter.waits_still(look) {
                        return Ok(Some(News::of(look)));
                    }
                }
                () = sleep_until(end) => break,
                () = self.shut_down() => break,
            }
        }
        let look = self.line.status(&waiter.seen.queue, waiter.id).await?;
        Ok(Some(News::of(look)))
    }

    /// Until the process is told to stop.
    async fn shut_down(&self) {
        let mut stopping = self.shutdown.clone();
        if stopping.wait_for(|stopping| *stopping).await.is_err() {
            // Nobody is left to tell it.
            pending::<()>().await;
        }
    }

    /// How long the poll may be held, by the pacing and by the function's own deadline.
    fn may_hold(&self, waiter: &Waiter, wait: Duration, gateway: &Gateway) -> Option<Duration> {
        let settings = waiter.seen.settings();
        let pace = settings.pace();
        #[allow(clippy::cast_precision_loss)]
        let asked_for = pace.batch as f64 * 1_000.0 / pace.interval_ms as f64;
        let rate = waiter.seen.rate();
        let horizon_ms = hold_horizon_ms(
            self.config.held_budget as u64,
            rate.unwrap_or(asked_for),
            settings.promotes() && !waiter.seen.view.clocks.apart,
        );
        let eta_ms = eta_ms(waiter.position, rate, pace);
        let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        // Who is not held is told elsewhere when to come back: the jitter does not matter here.
        let Poll::Hold { up_to_ms } = poll(eta_ms, wait_ms, horizon_ms, settings.claim_ms(), 0.5) else {
            return None;
        };
        let left = gateway
            .deadline
            .map(|deadline| deadline.saturating_duration_since(std::time::Instant::now()));
        let up_to = Duration::from_millis(up_to_ms)
            .min(left.map_or(Duration::MAX, |left| left.saturating_sub(MARGIN)));
        (!up_to.is_zero()).then_some(up_to)
    }
}
