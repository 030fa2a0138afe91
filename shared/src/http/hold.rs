//! Holding a poll until something changes.
//!
//! A held poll does not ask the line for itself: all that wait in one queue watch the same view of it, renewed once a
//! second, and each looks at its own entry only when the view says that its turn has come, that the queue was paused or
//! says something new, when the process shuts down, or at the end.

use std::{future::pending, sync::Arc, time::Duration};

use tokio::time::{Instant, sleep_until};

use super::{Edge, gateway::Gateway, views::Seen};
use crate::{
    domain::{
        estimate::eta_ms,
        id::EntryId,
        pacing::{Poll, hold_horizon_ms, poll},
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

impl Edge {
    /// Holds the poll of a waiting entry, where it may be held, and looks at it once more; `None` where it was not held.
    pub(super) async fn hold(
        &self,
        waiter: &Waiter,
        wait: Duration,
        gateway: &Gateway,
    ) -> Result<Option<Look>, LineError> {
        let Some(up_to) = self.may_hold(waiter, wait, gateway) else {
            return Ok(None);
        };
        // One in too many is answered at once, and told when to come back.
        let Ok(_permit) = self.holds.try_acquire() else {
            return Ok(None);
        };
        let end = Instant::now() + up_to;
        let mut seen = waiter.seen.clone();
        loop {
            let newer = tokio::select! {
                newer = self.views.after(&seen) => newer,
                () = sleep_until(end) => break,
                () = self.shut_down() => break,
            };
            // Where nothing is to be seen, the look says why.
            let Ok(newer) = newer else { break };
            if notice(&newer) != notice(&waiter.seen) {
                break;
            }
            // Whoever came back to an old place stands behind it and waits all the same.
            if newer.view.promoted_through >= waiter.score.raw() {
                let look = self.line.status(&newer.queue, waiter.id).await?;
                if !matches!(look, Look::Here(Standing::Waiting { .. })) {
                    return Ok(Some(look));
                }
            }
            seen = newer;
        }
        self.line.status(&waiter.seen.queue, waiter.id).await.map(Some)
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
            settings.promotes(),
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
