//! Writes many changes concurrently, never faster than the backup accepts them.

use std::{collections::VecDeque, future::Future, time::Duration};

use futures_util::{StreamExt, stream::FuturesUnordered};
use tokio::time::{Instant, sleep, timeout};
use vestibule_domain::change::Change;

use super::{BackupError, Written};

/// The most concurrent writes of one call.
const AT_ONCE: u32 = 32;
/// A single write that takes longer is abandoned.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest pause before a throttled write is tried again. It doubles, up to [`PAUSE_MAX`], until a write succeeds.
const PAUSE: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(3);

/// Limits the number of concurrent writes by additive increase and multiplicative decrease (AIMD), as [RFC
/// 5681](https://www.rfc-editor.org/rfc/rfc5681) does for TCP.
struct Pressure {
    at_once: f64,
    longest_pause: Duration,
    eased_at: Option<Instant>,
}

impl Pressure {
    fn allows(&self, under_way: usize) -> bool {
        // Integers this small are exact in `f64`.
        #[allow(clippy::cast_precision_loss)]
        let next = (under_way + 1) as f64;
        next <= self.at_once
    }

    fn came_through(&mut self) {
        // Additive increase: the limit rises by one after as many successes as the limit allows at once.
        self.at_once = (self.at_once + 1.0 / self.at_once).min(f64::from(AT_ONCE));
        self.longest_pause = Duration::ZERO;
    }

    /// Multiplicative decrease. Of the writes that were in flight together, only the first throttled one lowers the
    /// limit.
    fn was_throttled(&mut self, begun_at: Instant) {
        if self.eased_at.is_some_and(|at| begun_at < at) {
            return;
        }
        self.at_once = (self.at_once / 2.0).max(1.0);
        self.longest_pause = (self.longest_pause * 2).clamp(PAUSE, PAUSE_MAX);
        self.eased_at = Some(Instant::now());
    }
}

/// Writes each change and returns one outcome for each. The number of concurrent writes adapts to what the backup
/// accepts. A throttled write is tried again after a pause with jitter. If no write succeeds and 32 ([`AT_ONCE`]) fail,
/// no further write begins.
pub async fn each<'a, W: Future<Output = Result<Written, BackupError>>>(
    changes: &'a [Change],
    until: Instant,
    write: impl Fn(&'a Change) -> W,
) -> Vec<Result<Written, BackupError>> {
    let not_begun = || BackupError::Throttled("the write did not begin before the deadline".to_owned());
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
                        "it did not answer a write within {WRITE_TIMEOUT:?}"
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
            // The change comes from a history that the line lost. The record in the backup counts.
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
