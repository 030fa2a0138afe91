//! Driving the line by the calls of visitors, where its promoter is away.
//!
//! Whether it is shows in the view that every call has anyway: while the promoter lives, no call asks the line for more. Of the
//! calls that a process serves at the same time one drives a queue, once a second, as long as it lasts: a held poll does so
//! until its answer is due, and then the next one takes over. It is done before the answer: a function is frozen after that.

use std::{
    collections::HashMap,
    future::Future,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    join,
    sync::{Mutex as Turn, OwnedMutexGuard, oneshot},
    time::{Instant, sleep, timeout},
};
use tracing::{debug, warn};

use super::{Edge, views::Seen};
use crate::{
    domain::{driver::due_in_ms, id::QueueId},
    promoter::{Driven, drive},
};

/// No answer is later than this for driving.
const WITHIN: Duration = Duration::from_millis(800);
/// After so long no further records are taken from the journal.
const DRAIN_TIME: Duration = Duration::from_millis(400);
/// How many queues are remembered: a process serves few.
const QUEUES_MAX: usize = 1_000;

/// Who drives which queue in this process: whoever holds the lock, which says when they last did.
#[derive(Default)]
pub(super) struct Drivers(Mutex<HashMap<QueueId, Arc<Turn<Option<Instant>>>>>);

/// The right to drive a queue in this process.
type Wheel = OwnedMutexGuard<Option<Instant>>;

impl Drivers {
    fn turn(&self, queue: &QueueId) -> Arc<Turn<Option<Instant>>> {
        // A map alone: whole before anything could panic.
        let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if turns.len() >= QUEUES_MAX {
            // Whoever drives one keeps it; the others only forget when they last did, and the line does not.
            turns.retain(|_, turn| Arc::strong_count(turn) > 1);
        }
        turns.entry(queue.clone()).or_default().clone()
    }
}

impl Edge {
    /// Does the work of a call, and beside it what the promoter would do, where that is away.
    pub(super) async fn driving<T>(&self, queue: &QueueId, work: impl Future<Output = T>) -> T {
        let (is_answered, answered) = oneshot::channel::<()>();
        let work = async move {
            let answer = work.await;
            drop(is_answered);
            answer
        };
        // In this order: whoever drives sees the answer at once, and need not be woken for it.
        let (answer, ()) = join!(biased; work, self.drive_until(queue, answered));
        answer
    }

    /// Drives whenever it is time to; when the call is answered, no further time.
    async fn drive_until(&self, queue: &QueueId, mut answered: oneshot::Receiver<()>) {
        let mut wheel = None;
        loop {
            let due = tokio::select! {
                biased;
                // First, since a call may have its answer at once and is to drive all the same.
                due = self.due(queue, &mut wheel) => due,
                _ = &mut answered => None,
            };
            let Some(seen) = due else { return };
            self.drive_once(&seen).await;
        }
    }

    /// Until it is this call's turn to drive, and time to; `None` where the queue cannot be seen.
    async fn due(&self, queue: &QueueId, wheel: &mut Option<Wheel>) -> Option<Arc<Seen>> {
        loop {
            let seen = self.views.get(queue).await.ok()?;
            if wheel.is_none() {
                *wheel = self.drivers.turn(queue).try_lock_owned().ok();
            }
            let Some(last) = wheel else {
                *wheel = Some(self.drivers.turn(queue).lock_owned().await);
                // That may have taken long.
                continue;
            };
            let now = Instant::now();
            let driven_ms = last.map(|last| {
                let passed = now.duration_since(last);
                u64::try_from(passed.as_millis()).unwrap_or(u64::MAX)
            });
            match due_in_ms(seen.view.promoter_is_away(), driven_ms) {
                0 => {
                    **last = Some(now);
                    return Some(seen);
                }
                later_ms => sleep(Duration::from_millis(later_ms)).await,
            }
        }
    }

    async fn drive_once(&self, seen: &Seen) {
        let (queue, shelf, pace) = (&seen.queue, seen.shelf(), seen.settings().pace());
        let until = Instant::now() + DRAIN_TIME;
        let driving = drive(&*self.line, &*self.backup, &shelf, pace, until);
        match timeout(WITHIN, driving).await {
            Ok(Ok(Driven::Lost)) => warn!(
                event = "line.fallback_tick_skipped",
                %queue,
                "skipped a fallback tick because the line lost the queue or holds stale data, or the \
                 backup has no such queue; run restore if the promoter stays down"
            ),
            Ok(Ok(driven)) => debug!(
                event = "line.fallback_tick_finished",
                %queue,
                ?driven,
                "finished a fallback tick"
            ),
            Ok(Err(error)) => warn!(
                event = "line.fallback_tick_failed",
                %queue,
                %error,
                "could not run or finish a fallback tick; the next one is due in about a second"
            ),
            Err(_) => warn!(
                event = "line.fallback_tick_cancelled",
                %queue,
                "cancelled a fallback tick at its time limit; the next one flushes what is left in the \
                 journal"
            ),
        }
    }
}
