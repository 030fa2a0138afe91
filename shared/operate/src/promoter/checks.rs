//! Checks of the line against the backup: every few minutes, by whichever promoter is the first to ask.

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

/// How often a queue is checked. One where nothing happened since has nothing to compare but what a hand did.
const ORDER: CheckOrder = CheckOrder {
    every_ms: 300_000,
    idle_ms: 3_600_000,
    silent_ms: 60_000,
};
/// The line is asked for a turn again after so long at the latest: another's check may have been cut off.
const ASK_AGAIN: Duration = Duration::from_secs(20);

/// When to ask again for each queue.
#[derive(Default)]
pub(super) struct Checks(Mutex<HashMap<QueueId, Instant>>);

impl Checks {
    /// Whether to ask the line for a turn; the caller does, if so.
    pub(super) fn is_due(&self, queue: &QueueId) -> bool {
        // A map alone: whole before anything could panic.
        let mut next = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if next.get(queue).is_some_and(|at| now < *at) {
            return false;
        }
        next.insert(queue.clone(), now + ASK_AGAIN);
        true
    }

    /// Forgets the queues that are gone.
    pub(super) fn listed(&self, queues: &[QueueId]) {
        let mut next = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        next.retain(|queue, _| queues.contains(queue));
    }
}

/// Checks a queue where it is the caller's turn, from where the last check got to; tells of each part when it is done.
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
