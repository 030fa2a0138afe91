//! Holds a poll open until something changes.
//!
//! A held poll does not ask the line itself. One [watcher](super::watcher) per queue asks for all polls
//! that wait in it. The watcher wakes a poll when its turn has come, when another request ended its wait,
//! and when the queue was paused or has a new message. A poll also ends when this process changed its
//! entry, when the process shuts down, and when its time has run out.

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

/// The time that must be left for the function when a hold ends: enough for one more status lookup and the
/// answer.
const MARGIN: Duration = Duration::from_millis(1_500);

impl Edge {
    /// Holds the poll of a waiting entry, and looks up its status once more at the end. Returns `None` if
    /// the poll may not be held.
    pub(super) async fn hold(
        self: &Arc<Self>,
        waiter: &Waiter,
        wait: Duration,
        gateway: &Gateway,
    ) -> Result<Option<News>, LineError> {
        let Some(candidate) = self.may_hold(waiter, wait, gateway) else {
            return Ok(None);
        };
        // The end is fixed before the poll is counted, because counting takes time and the deadline of the
        // function does not move.
        let end = Instant::now() + candidate.up_to;
        // A poll beyond the limit is answered at once, and the answer says when to come back.
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
            // The poll was already released, and the status that was read after that is newer.
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

    /// Waits until the process is told to stop.
    async fn shut_down(&self) {
        let mut stopping = self.shutdown.clone();
        if stopping.wait_for(|stopping| *stopping).await.is_err() {
            // The sender was dropped, so no shutdown will be announced.
            pending::<()>().await;
        }
    }

    /// Decides by the pacing whether the poll may be held, and by the deadline of the function for how
    /// long.
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
