//! Holding a poll until something changes.
//!
//! A held poll does not ask the line for itself: all that wait in one queue watch the same view of it, renewed once a
//! second, and each looks at its own entry only when the view says that its turn has come, that somebody left, that the
//! queue was paused or says something new; when this process changed that very entry; when it shuts down, or at the end.

use std::{future::pending, sync::Arc, time::Duration};

use tokio::time::{Instant, sleep_until};

use super::{
    Edge,
    budget::Candidate,
    gateway::Gateway,
    views::{Absence, Seen},
};
use crate::{
    domain::{
        estimate::eta_ms,
        id::EntryId,
        pacing::{Poll, hold_horizon_ms, hold_room, poll},
        score::WaitScore,
        settings::Entrance,
        standing::Standing,
    },
    line::{LineError, Look},
};

/// What is left of the function's time when a hold ends: enough to look once more and to answer.
const MARGIN: Duration = Duration::from_millis(1_500);

/// A waiting entry whose poll may be held.
#[derive(Clone)]
pub(super) struct Waiter {
    pub(super) seen: Arc<Seen>,
    pub(super) id: EntryId,
    pub(super) score: WaitScore,
    pub(super) position: u64,
}

impl Waiter {
    /// Whether what happened between two views may have changed the entry. Of those who wait, one is either promoted or
    /// leaves (or is removed); whatever else ends is somebody's who was promoted.
    fn is_concerned(&self, before: &Seen, after: &Seen) -> bool {
        after.view.promoted_through >= self.score.raw()
            || after.view.totals.left != before.view.totals.left
            // Counts of another epoch cannot be compared: the line was put back in between.
            || after.view.configuration.epoch != before.view.configuration.epoch
    }

    /// Whether the entry is where it was: whoever came back to an old place stands behind what was promoted and waits all
    /// the same, and another score is another visit.
    fn waits_still(&self, look: Look) -> bool {
        matches!(look, Look::Here(Standing::Waiting { score, .. }) if score == self.score)
    }
}

impl Edge {
    /// Holds the poll of a waiting entry, where it may be held, and looks at it once more; `None` where it was not held.
    pub(super) async fn hold(
        &self,
        waiter: &Waiter,
        wait: Duration,
        gateway: &Gateway,
    ) -> Result<Option<Look>, LineError> {
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
        let mut seen = waiter.seen.clone();
        loop {
            let may_have_changed = tokio::select! {
                newer = self.views.after(&seen) => match newer {
                    Ok(newer) if notice(&newer) == notice(&waiter.seen) => {
                        let concerns = waiter.is_concerned(&seen, &newer);
                        seen = newer;
                        concerns
                    }
                    // A look would wait for the line once more.
                    Err(Absence::LineAway(cause)) => return Err(LineError::Unavailable(cause)),
                    // Where nothing is to be seen, the look says why.
                    _ => break,
                },
                () = sleeper.woken() => true,
                () = sleep_until(end) => break,
                () = self.shut_down() => break,
            };
            if may_have_changed {
                let look = self.line.status(&seen.queue, waiter.id).await?;
                if !waiter.waits_still(look) {
                    held.release().await;
                    return Ok(Some(look));
                }
            }
        }
        let last_look = self.line.status(&waiter.seen.queue, waiter.id);
        let (look, ()) = tokio::join!(last_look, held.release());
        look.map(Some)
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
        let settings = waiter.seen.settings();
        let pace = settings.pace();
        #[allow(clippy::cast_precision_loss)]
        let asked_for = pace.batch as f64 * 1_000.0 / pace.interval_ms as f64;
        let rate = waiter.seen.rate();
        let held_budget = u64::from(self.config.held_budget);
        let horizon_ms = hold_horizon_ms(
            held_budget,
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
        (!up_to.is_zero()).then(|| Candidate {
            queue: &waiter.seen.queue,
            id: waiter.id,
            below: hold_room(held_budget, eta_ms, horizon_ms),
            up_to,
        })
    }
}

/// What everybody who waits is told at once when it changes.
fn notice(seen: &Seen) -> (u32, bool, Entrance, Option<&str>) {
    let settings = seen.settings();
    (
        seen.view.configuration.generation,
        settings.paused,
        settings.entrance,
        settings.message.as_deref(),
    )
}
