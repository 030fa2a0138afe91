//! Many writes side by side, and never more than the backup takes.

use std::{collections::VecDeque, future::Future, time::Duration};

use futures_util::{StreamExt, stream::FuturesUnordered};
use tokio::time::{Instant, sleep, timeout};

use super::{BackupError, Written};
use crate::domain::change::Change;

/// The most writes of one call that are under way at once.
const AT_ONCE: usize = 32;
/// A single write that takes longer is given up.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest pause after the first throttled write; each one after it doubles that, and each that came through resets it.
const PAUSE: Duration = Duration::from_millis(200);
const PAUSE_MAX: Duration = Duration::from_secs(3);

/// Writes each change, and says what came of it. How many go at once follows what the backup takes: a throttled write halves
/// it and is tried again after a pause with jitter, one that came through adds one ("additive increase, multiplicative
/// decrease", [RFC 5681](https://www.rfc-editor.org/rfc/rfc5681)). Where nothing at all came through, it soon ends.
pub(super) async fn each<'a, W: Future<Output = Result<Written, BackupError>>>(
    changes: &'a [Change],
    until: Instant,
    write: impl Fn(&'a Change) -> W,
) -> Vec<Result<(), BackupError>> {
    let not_begun = || BackupError::Throttled("there was no time left for it".to_owned());
    let mut outcomes: Vec<_> = changes.iter().map(|_| Err(not_begun())).collect();
    let mut waiting: VecDeque<usize> = (0..changes.len()).collect();
    let mut under_way = FuturesUnordered::new();
    let (mut at_once, mut longest_pause) = (AT_ONCE, Duration::ZERO);
    let (mut written, mut failed) = (0, 0);
    loop {
        let is_hopeless = written == 0 && failed >= AT_ONCE;
        while under_way.len() < at_once
            && !is_hopeless
            && let pause = longest_pause.mul_f64(rand::random())
            && Instant::now() + pause < until
            && let Some(nth) = waiting.pop_front()
        {
            let writing = write(&changes[nth]);
            under_way.push(async move {
                sleep(pause).await;
                let late = |_| {
                    Err(BackupError::Unavailable(format!(
                        "no answer within {WRITE_TIMEOUT:?}"
                    )))
                };
                (nth, timeout(WRITE_TIMEOUT, writing).await.unwrap_or_else(late))
            });
        }
        let Some((nth, outcome)) = under_way.next().await else {
            return outcomes;
        };
        match &outcome {
            Ok(_) => {
                written += 1;
                at_once = (at_once + 1).min(AT_ONCE);
                longest_pause = Duration::ZERO;
            }
            Err(BackupError::Throttled(_)) => {
                waiting.push_back(nth);
                at_once = (at_once / 2).max(1);
                longest_pause = (longest_pause * 2).clamp(PAUSE, PAUSE_MAX);
            }
            Err(_) => failed += 1,
        }
        outcomes[nth] = outcome.map(drop);
    }
}

#[cfg(test)]
mod tests;
