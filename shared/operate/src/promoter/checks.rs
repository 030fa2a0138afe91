//! Schedules the consistency checks of the line with the backup. Every few minutes the promoter that asks first
//! runs the check of a queue.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;
use vestibule_backup::{Backup, Shelf};
use vestibule_domain::id::QueueId;
use vestibule_engine::check::{CheckError, Checked, Manner, check};
use vestibule_line::{CheckOrder, CheckTurn, Line};

/// How often a queue is checked. If nothing happened in a queue since the last check, only a manual edit can
/// have caused a difference, so an idle queue is checked less often.
const ORDER: CheckOrder = CheckOrder {
    every_ms: 300_000,
    idle_ms: 3_600_000,
    silent_ms: 60_000,
};
/// The longest time until the promoter asks the line for a turn again, because the check of another promoter
/// may have been cut off.
const ASK_AGAIN: Duration = Duration::from_secs(20);

/// When to ask the line for a turn again, for each queue.
#[derive(Default)]
pub(super) struct Checks(Mutex<HashMap<QueueId, Instant>>);

impl Checks {
    /// Whether it is time to ask the line for a turn. If it returns `true`, the caller must ask.
    pub(super) fn is_due(&self, queue: &QueueId) -> bool {
        // The mutex holds only a map, which is consistent even if a holder of the lock panicked.
        let mut next = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if next.get(queue).is_some_and(|at| now < *at) {
            return false;
        }
        next.insert(queue.clone(), now + ASK_AGAIN);
        true
    }

    /// Drops the state of queues that the listing lacks.
    pub(super) fn listed(&self, queues: &[QueueId]) {
        let mut next = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        next.retain(|queue, _| queues.contains(queue));
    }
}

/// Runs the consistency check of a queue if the line gives this caller the turn. The check starts where the
/// last one stopped. It calls `tell` after each part.
///
/// # Errors
/// [`CheckError`] if a part of the check failed. The next turn continues after the last finished part.
pub(super) async fn check_in_turn(
    line: &dyn Line,
    backup: &dyn Backup,
    shelf: &Shelf,
    mut tell: impl FnMut(&Checked),
) -> Result<(), CheckError> {
    let mut next = match line.take_check(&shelf.queue, ORDER).await? {
        CheckTurn::Due { from_shard } => Some(from_shard),
        CheckTurn::Early { .. } => None,
    };
    while let Some(from_shard) = next {
        let checked = check(line, backup, shelf, from_shard, Manner::default()).await?;
        tell(&checked);
        next = checked.next_shard;
    }
    Ok(())
}
