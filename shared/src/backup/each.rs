//! Many writes side by side, and never more than the backup takes.

use std::{collections::VecDeque, future::Future, time::Duration};

use futures_util::{StreamExt, stream::FuturesUnordered};
use tokio::time::{Instant, sleep, timeout};

use super::{BackupError, Written};
use crate::domain::change::Change;

/// The most writes of one call that are under way at once.
const AT_ONCE: u32 = 32;
/// A single write that takes longer is given up.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest pause before a throttled write is tried again; it doubles while none comes through.
const PAUSE: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(3);

/// How much is asked of the backup at once: "additive increase, multiplicative decrease", as
/// [RFC 5681](https://www.rfc-editor.org/rfc/rfc5681) has it for a network.
struct Pressure {
    at_once: f64,
    longest_pause: Duration,
    eased_at: Option<Instant>,
}

impl Pressure {
    fn allows(&self, under_way: usize) -> bool {
        // Whole numbers this small are exact.
        #[allow(clippy::cast_precision_loss)]
        let next = (under_way + 1) as f64;
        next <= self.at_once
    }

    fn came_through(&mut self) {
        // One more for as many as are under way.
        self.at_once = (self.at_once + 1.0 / self.at_once).min(f64::from(AT_ONCE));
        self.longest_pause = Duration::ZERO;
    }

    /// Once for all that were under way together.
    fn was_throttled(&mut self, begun_at: Instant) {
        if self.eased_at.is_some_and(|at| begun_at < at) {
            return;
        }
        self.at_once = (self.at_once / 2.0).max(1.0);
        self.longest_pause = (self.longest_pause * 2).clamp(PAUSE, PAUSE_MAX);
        self.eased_at = Some(Instant::now());
    }
}

/// Writes each change, and says what came of it. How many go at once follows what the backup takes; a throttled write is
/// tried again after a pause with jitter. Where nothing at all came through, it soon ends.
pub(super) async fn each<'a, W: Future<Output = Result<Written, BackupError>>>(
    changes: &'a [Change],
    until: Instant,
    write: impl Fn(&'a Change) -> W,
) -> Vec<Result<Written, BackupError>> {
    let not_begun = || BackupError::Throttled("there was no time left for it".to_owned());
    let mut outcomes: Vec<_> = changes.iter().map(|_| Err(not_begun())).collect();
    let mut waiting: VecDeque<usize> = (0..changes.len()).collect();
    let mut under_way = FuturesUnordered::new();
    let mut pressure = Pressure {
        at_once: f64::from(AT_ONCE),
        longest_pause: Duration::ZERO,
        eased_at: None,
    };
    let (mut written, mut failed) = (0, 0);
    loop {
        let is_hopeless = written == 0 && failed >= AT_ONCE;
        while pressure.allows(under_way.len())
            && !is_hopeless
            && let pause = pressure.longest_pause.mul_f64(rand::random())
            && Instant::now() + pause < until
            && let Some(nth) = waiting.pop_front()
        {
            let writing = write(&changes[nth]);
            under_way.push(async move {
                sleep(pause).await;
                let begun_at = Instant::now();
                let late = |_| {
                    Err(BackupError::Unavailable(format!(
                        "no answer within {WRITE_TIMEOUT:?}"
                    )))
                };
                let outcome = timeout(WRITE_TIMEOUT, writing).await.unwrap_or_else(late);
                (nth, begun_at, outcome)
            });
        }
        let Some((nth, begun_at, outcome)) = under_way.next().await else {
            return outcomes;
        };
        if let Ok(Written::Overruled) = &outcome {
            // Of a history that was lost: what the table has is what counts.
            tracing::warn!(
                event = "entry.change_conflicted", entry = %changes[nth].id,
                "dropped a change that conflicts with its record: the visit ended, or another visit is live"
            );
        }
        match &outcome {
            Ok(_) => {
                written += 1;
                pressure.came_through();
            }
            Err(BackupError::Throttled(_)) => {
                waiting.push_back(nth);
                pressure.was_throttled(begun_at);
            }
            Err(_) => failed += 1,
        }
        outcomes[nth] = outcome;
    }
}

#[cfg(test)]
mod tests;
