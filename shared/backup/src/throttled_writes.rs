//! Writes many changes concurrently, never faster than the backup accepts them.

use std::{collections::VecDeque, future::Future, time::Duration};

use futures_util::{StreamExt, stream::FuturesUnordered};
use tokio::time::{Instant, sleep, timeout};
use vestibule_domain::change::Change;

use super::{BackupError, PutOutcome};

/// The most concurrent writes of one call.
const CONCURRENT_WRITES_MAX: u32 = 32;
/// A single write that takes longer is abandoned.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);
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

/// Writes each change and returns one outcome for each. The number of concurrent writes adapts to
/// what the backup accepts. A throttled write is tried again after a pause with jitter. If no write
/// succeeds and 32 (`CONCURRENT_WRITES_MAX`) fail, no further write begins.
pub async fn write_throttled<'a, W: Future<Output = Result<PutOutcome, BackupError>>>(
    changes: &'a [Change],
    until: Instant,
    write: impl Fn(&'a Change) -> W,
) -> Vec<Result<PutOutcome, BackupError>> {
    let not_begun = || BackupError::Throttled("the write did not begin before the deadline".to_owned());
    let mut outcomes: Vec<_> = changes.iter().map(|_| Err(not_begun())).collect();
    let mut waiting: VecDeque<usize> = (0..changes.len()).collect();
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
