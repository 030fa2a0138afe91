//! Writes many changes concurrently, never faster than the backup accepts them.

use std::{
    collections::{HashMap, VecDeque},
    time::Duration,
};

use futures_util::{StreamExt, stream::FuturesUnordered};
use tokio::time::{Instant, sleep, timeout_at};
use vestibule_domain::change::Change;

use super::{BackupError, PutOutcome};

/// The most concurrent writes of one call.
const CONCURRENT_WRITES_MAX: u32 = 32;
/// A single write that takes longer is abandoned.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);
/// A write that takes longer than this after the deadline is abandoned. So a caller with little
/// time can still acknowledge what was written.
const WRITE_TIMEOUT_AFTER_DEADLINE: Duration = Duration::from_millis(200);
/// The longest pause before a throttled write is tried again. It doubles, up to [`BACKOFF_MAX`],
/// until a write succeeds.
const BACKOFF_FIRST: Duration = Duration::from_millis(100);
const BACKOFF_MAX: Duration = Duration::from_secs(3);

/// Limits the number of concurrent writes by additive increase and multiplicative decrease (AIMD),
/// as [RFC 5681](https://www.rfc-editor.org/rfc/rfc5681) does for TCP.
struct AimdLimiter {
    limit: f64,
    backoff: Duration,
    decreased_at: Option<Instant>,
}

impl AimdLimiter {
    fn has_room(&self, under_way: usize) -> bool {
        // Integers this small are exact in `f64`.
        #[allow(clippy::cast_precision_loss)]
        let next = (under_way + 1) as f64;
        next <= self.limit
    }

    fn record_success(&mut self) {
        // Additive increase: the limit rises by one after as many successes as the limit allows at once.
        self.limit = (self.limit + 1.0 / self.limit).min(f64::from(CONCURRENT_WRITES_MAX));
        self.backoff = Duration::ZERO;
    }

    /// Multiplicative decrease. Of the writes that were in flight together, only the first
    /// throttled one lowers the limit.
    fn record_throttle(&mut self, begun_at: Instant) {
        if self.decreased_at.is_some_and(|at| begun_at < at) {
            return;
        }
        self.limit = (self.limit / 2.0).max(1.0);
        self.backoff = (self.backoff * 2).clamp(BACKOFF_FIRST, BACKOFF_MAX);
        self.decreased_at = Some(Instant::now());
    }
}

/// Writes the changes, those of one entry together and in their order, and returns one outcome for
/// each change. The number of concurrent writes adapts to what the backup accepts. A throttled
/// write is tried again after a pause with jitter. If no write succeeds and 32
/// (`CONCURRENT_WRITES_MAX`) fail, no further write begins.
pub async fn write_throttled<W: Future<Output = Result<Vec<PutOutcome>, BackupError>>>(
    changes: &[Change],
    until: Instant,
    write: impl Fn(Vec<Change>) -> W,
) -> Vec<Result<PutOutcome, BackupError>> {
    let entries = group_by_entry(changes);
    let results = write_entries(&entries, until, write).await;
    let mut outcomes: Vec<_> = changes.iter().map(|_| None).collect();
    for ((positions, _), result) in entries.iter().zip(results) {
        for (nth, position) in positions.iter().enumerate() {
            outcomes[*position] = Some(match &result {
                Ok(of_entry) => of_entry.get(nth).cloned().ok_or_else(missing_outcome),
                Err(error) => Err(error.clone()),
            });
        }
    }
    let outcomes = outcomes.into_iter();
    outcomes
        .map(|outcome| outcome.unwrap_or_else(|| Err(missing_outcome())))
        .collect()
}

fn missing_outcome() -> BackupError {
    BackupError::Unavailable("it did not tell what became of a change".to_owned())
}

/// The changes of one entry, with their positions among all changes.
type EntryChanges = (Vec<usize>, Vec<Change>);

/// Groups changes by entry, in the order in which the entries occur first.
fn group_by_entry(changes: &[Change]) -> Vec<EntryChanges> {
    let mut groups: Vec<EntryChanges> = Vec::new();
    let mut group_by_id = HashMap::new();
    for (position, change) in changes.iter().enumerate() {
        let group = *group_by_id.entry(change.id).or_insert_with(|| {
            groups.push((Vec::new(), Vec::new()));
            groups.len() - 1
        });
        let (positions, of_entry) = &mut groups[group];
        positions.push(position);
        of_entry.push(*change);
    }
    groups
}

async fn write_entries<W: Future<Output = Result<Vec<PutOutcome>, BackupError>>>(
    entries: &[EntryChanges],
    until: Instant,
    write: impl Fn(Vec<Change>) -> W,
) -> Vec<Result<Vec<PutOutcome>, BackupError>> {
    let not_begun = || BackupError::Throttled("the write did not begin before the deadline".to_owned());
    let mut outcomes: Vec<_> = entries.iter().map(|_| Err(not_begun())).collect();
    let mut waiting: VecDeque<usize> = (0..entries.len()).collect();
    let mut under_way = FuturesUnordered::new();
    let mut pressure = AimdLimiter {
        limit: f64::from(CONCURRENT_WRITES_MAX),
        backoff: Duration::ZERO,
        decreased_at: None,
    };
    let (mut written, mut failed) = (0, 0);
    loop {
        let is_hopeless = written == 0 && failed >= CONCURRENT_WRITES_MAX;
        while pressure.has_room(under_way.len())
            && !is_hopeless
            && let pause = pressure.backoff.mul_f64(rand::random())
            && Instant::now() + pause < until
            && let Some(nth) = waiting.pop_front()
        {
            let writing = write(entries[nth].1.clone());
            under_way.push(async move {
                sleep(pause).await;
                let begun_at = Instant::now();
                let deadline = until + WRITE_TIMEOUT_AFTER_DEADLINE;
                let is_cut = deadline < begun_at + WRITE_TIMEOUT;
                let end = deadline.min(begun_at + WRITE_TIMEOUT);
                let outcome = timeout_at(end, writing).await.unwrap_or_else(|_| {
                    Err(if is_cut {
                        // The write is not at fault: the caller has no more time.
                        BackupError::Throttled("it did not answer a write before the deadline".to_owned())
                    } else {
                        BackupError::Unavailable(format!(
                            "it did not answer a write within {WRITE_TIMEOUT:?}"
                        ))
                    })
                });
                (nth, begun_at, outcome)
            });
        }
        let Some((nth, begun_at, outcome)) = under_way.next().await else {
            return outcomes;
        };
        match &outcome {
            Ok(_) => {
                written += 1;
                pressure.record_success();
            }
            Err(BackupError::Throttled(_)) => {
                waiting.push_back(nth);
                pressure.record_throttle(begun_at);
            }
            Err(_) => failed += 1,
        }
        outcomes[nth] = outcome;
    }
}

#[cfg(test)]
mod tests;
