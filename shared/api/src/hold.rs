//! Holding a poll until something changes.
//!
//! A held poll does not ask the line for itself: one [watcher](super::watcher) does for all that wait in one queue, and tells
//! each when its turn has come, when somebody else ended its wait, when the queue was paused or says something new. It ends by
//! itself when this process changed that very entry; when it shuts down, or at the end of its time.

use std::{future::pending, sync::Arc, time::Duration};

use futures_util::future::OptionFuture;
use tokio::time::{Instant, sleep_until};
use vestibule_domain::pacing::hold;
use vestibule_line::LineError;

use super::{
    Edge,
    budget::{self, Candidate},
    crowd::{News, Waiter, Word},
    gateway::Gateway,
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
        let Some(candidate) = self.may_hold(waiter, wait, gateway) else {
            return Ok(None);
        };
        // Counting takes time, and the function's deadline does not wait for it.
        let end = Instant::now() + candidate.up_to;
        // One in too many is answered at once, and told when to come back.
        let Some(held) = self.budget.take(candidate).await else {
            return Ok(None);
        };
        let mut sleeper = self.wakes.sleeper(waiter.id);
        let mut watch = self.watchers.watch(self, waiter, held);
        let (word, look) = loop {
            tokio::select! {
                word = watch.word() => break (word, None),
                () = sleeper.woken() => {
                    let look = self.line.status(&waiter.seen.queue, waiter.id).await?;
                    if !waiter.waits_still(look) {
                        break (watch.end().await, Some(look));
                    }
                }
                () = sleep_until(end) => break (watch.end().await, None),
                () = self.shut_down() => break (watch.end().await, None),
            }
        };
        let counted = match (word, look) {
            (Word::News(news), None) => return Ok(Some(news)),
            (Word::LineAway(cause), None) => return Err(LineError::Unavailable(cause)),
            (Word::Look(counted), _) => counted,
            // It was counted out, and what was seen after that is newer.
            (Word::News(_) | Word::LineAway(_), Some(_)) => None,
        };
        let release = OptionFuture::from(counted.map(budget::Held::release));
        let look = if let Some(look) = look {
            release.await;
            look
        } else {
            let last_look = self.line.status(&waiter.seen.queue, waiter.id);
            tokio::join!(last_look, release).0?
        };
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

    /// Whether the poll may be held, by the pacing, and for how long, by the function's own deadline.
    fn may_hold<'a>(&self, waiter: &'a Waiter, wait: Duration, gateway: &Gateway) -> Option<Candidate<'a>> {
        let (seen, wait_ms) = (&waiter.seen, u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
        let moving = seen.settings().promotes() && !seen.view.clocks.apart;
        let hold = hold(
            seen.eta_ms(waiter.position),
            wait_ms,
            u64::from(self.config.held_budget),
            seen.forecast.per_second(),
            moving,
        )?;
        let left = gateway
            .deadline
            .map(|deadline| deadline.saturating_duration_since(std::time::Instant::now()));
        let up_to = Duration::from_millis(hold.up_to_ms)
            .min(left.map_or(Duration::MAX, |left| left.saturating_sub(MARGIN)));
        (!up_to.is_zero()).then(|| Candidate {
            queue: &seen.queue,
            id: waiter.id,
            below: hold.below,
            up_to,
        })
    }
}
