//! Parks single queues, and parks the promoter: ends a run early when there is nothing to do.

use std::{sync::Arc, time::Duration};

use futures_util::{StreamExt, TryStreamExt, stream};
use tokio::time::timeout;
use tracing::{debug, info};
use vestibule_domain::id::QueueId;
use vestibule_line::LineError;

use super::{
    queue_steps::TICK_TIMEOUT,
    run::Promoter,
    steps::{PromoterStep, STEPS_PER_KIND_MAX},
};

/// A promoter that may park does so after every queue has been empty for this long.
const PARK_AFTER_EMPTY: Duration = Duration::from_secs(10);

/// How many marks of parked queues are read at the same time.
const WATCHES_MAX: usize = 64;

impl Promoter {
    /// Clears the heartbeats of all queues and returns `true`, if there is nothing to do. Otherwise
    /// it returns `false`, and the run goes on. The line checks atomically, in the same step that
    /// clears the heartbeat, that the queue is still empty. A visitor who enters afterwards
    /// therefore finds no heartbeat, and the request runs a fallback tick.
    pub(super) async fn park_idle_promoter(&self) -> bool {
        // A consistency check must finish, and a running tick would write the heartbeat again.
        if !self.registry.has_been_empty_for(PARK_AFTER_EMPTY) || !self.steps.is_idle() {
            return false;
        }
        let mut parkings = stream::iter(self.registry.queues())
            .map(|queue| async move { self.clear_heartbeat(&queue).await })
            .buffer_unordered(STEPS_PER_KIND_MAX);
        while let Some(is_cleared) = parkings.next().await {
            if !is_cleared {
                return false;
            }
        }
        info!(
            event = "promoter.parked",
            "parked the promoter because every queue is empty; requests run fallback ticks until the next run"
        );
        true
    }

    /// Clears the heartbeat of a queue that is empty. Returns `false` if the queue is not empty, or the line
    /// did not answer.
    async fn clear_heartbeat(&self, queue: &QueueId) -> bool {
        let cleared = timeout(TICK_TIMEOUT, self.line.park_idle_promoter(queue)).await;
        matches!(cleared, Ok(Ok(true)))
    }

    /// Parks a queue that has been empty for a while: from now on it is ticked rarely. Called after a tick of
    /// the queue, so that no tick of this promoter writes the heartbeat again.
    pub(super) async fn park_queue_if_idle(&self, queue: &QueueId) {
        if !self.registry.is_ready_to_park(queue) {
            return;
        }
        // The mark comes first: if a visitor enters before the parking and leaves again, the next watch sees it.
        let Ok(Ok(mark)) = timeout(TICK_TIMEOUT, self.line.change_mark(queue)).await else {
            return;
        };
        if self.clear_heartbeat(queue).await {
            self.registry.record_parking(queue, mark);
            self.checks.ask_later(queue);
            debug!(event = "queue.parked", %queue, "parked the queue, which has been empty for a while");
        }
    }

    /// Unparks every parked queue that has changed in the line, or that the line has lost. A line that does not
    /// answer ends the watch, and the next one goes on.
    pub(super) async fn watch_parked_queues(self: &Arc<Self>) {
        let marks = stream::iter(self.registry.parked_marks().into_iter().map(Ok::<_, LineError>));
        let watch = marks.try_for_each_concurrent(WATCHES_MAX, |(queue, before)| async move {
            match self.line.change_mark(&queue).await {
                Ok(mark) if mark == before => Ok(()),
                Ok(_) | Err(LineError::QueueNotFound) => {
                    self.unpark_queue(&queue);
                    Ok(())
                }
                Err(error) => Err(error),
            }
        });
        if let Ok(Err(error)) = timeout(TICK_TIMEOUT, watch).await {
            debug!(event = "promoter.watch_failed", %error, "could not read the marks of the parked queues");
        }
    }

    /// Ticks a queue at once, and every second from then on, if it was parked.
    pub(super) fn unpark_queue(self: &Arc<Self>, queue: &QueueId) {
        if self.registry.unpark(queue) {
            debug!(event = "queue.unparked", %queue, "unparked the queue, because it is not idle any more");
            self.reporter.ask_soon(queue);
            self.checks.ask_soon(queue);
            self.start_step(PromoterStep::Tick(queue.clone()));
        }
    }
}
