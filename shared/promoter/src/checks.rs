//! Schedules the consistency checks of the line with the backup. Every few minutes, and at once
//! when the line may have lost changes, the promoter that asks first runs the check of a queue.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;
use vestibule_backup::{Backup, EntryPartition};
use vestibule_domain::id::QueueId;
use vestibule_engine::check::{CheckConfig, CheckError, CheckSummary, check_queue};
use vestibule_line::{CheckAssignment, CheckOrder, Line};

/// How often a queue is checked. If nothing happened in a queue since the last check, only a manual
/// edit can have caused a difference, so an idle queue is checked less often.
const CHECK_INTERVALS: CheckOrder = CheckOrder {
    every_ms: 300_000,
    idle_ms: 3_600_000,
    loss_ms: 60_000,
    silent_ms: 60_000,
};
/// The longest time until the promoter asks the line for a turn again, because the check of another
/// promoter may have been cut off.
const ASK_INTERVAL: Duration = Duration::from_secs(20);

/// The same for a parked queue, in which nothing changes between two checks.
const PARKED_ASK_INTERVAL: Duration = Duration::from_mins(5);

/// When to ask the line for a turn again, for each queue.
#[derive(Default)]
pub(super) struct CheckSchedule(Mutex<HashMap<QueueId, Instant>>);

impl CheckSchedule {
    /// Whether it is time to ask the line for a turn. It is with every tick while a check is due
    /// because the line may have lost changes. If it returns `true`, the caller must ask.
    pub(super) fn take_ask_turn(&self, queue: &QueueId, is_loss_known: bool, is_parked: bool) -> bool {
        // The mutex holds only a map, which is consistent even if a holder of the lock panicked.
        let mut next = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if !is_loss_known && next.get(queue).is_some_and(|at| now < *at) {
            return false;
        }
        let interval = if is_parked {
            PARKED_ASK_INTERVAL
        } else {
            ASK_INTERVAL
        };
        next.insert(queue.clone(), now + interval);
        true
    }

    /// Puts the next request for a turn off, because the queue is parked from now on.
    pub(super) fn ask_later(&self, queue: &QueueId) {
        let mut next = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        next.insert(queue.clone(), Instant::now() + PARKED_ASK_INTERVAL);
    }

    /// Has the promoter ask for a turn with the next tick of a queue that was parked.
    pub(super) fn ask_soon(&self, queue: &QueueId) {
        let mut next = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        next.remove(queue);
    }

    /// Drops the state of queues that the listing lacks.
    pub(super) fn retain_queues(&self, queues: &HashSet<QueueId>) {
        let mut next = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        next.retain(|queue, _| queues.contains(queue));
    }
}

/// Runs the consistency check of a queue if the line gives this caller the turn. The check starts
/// where the last one stopped. It calls `tell` after each part.
///
/// # Errors
/// [`CheckError`] if a part of the check failed. The next turn continues after the last finished part.
pub(super) async fn run_due_check(
    line: &Line,
    backup: &dyn Backup,
    partition: &EntryPartition,
    mut tell: impl FnMut(&CheckSummary),
) -> Result<(), CheckError> {
    let mut next = match line.take_check(&partition.queue, CHECK_INTERVALS).await? {
        CheckAssignment::Due { from_shard } => Some(from_shard),
        CheckAssignment::NotDue { .. } => None,
    };
    while let Some(from_shard) = next {
        let checked = check_queue(line, backup, partition, from_shard, CheckConfig::default()).await?;
        tell(&checked);
        next = checked.next_shard;
    }
    Ok(())
}
