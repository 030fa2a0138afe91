//! Whether the line or the backup answers, and how fast.

use std::time::{Duration, Instant};

use tokio::time::timeout;

/// A line or backup that does not answer within this time counts as unavailable.
const PING_TIMEOUT: Duration = Duration::from_secs(2);

/// How long a ping takes that succeeds in time, in milliseconds, to a hundredth.
pub(crate) async fn measure_ping<T, E>(ping: impl Future<Output = Result<T, E>>) -> Option<f64> {
    let started_at = Instant::now();
    let has_answered = matches!(timeout(PING_TIMEOUT, ping).await, Ok(Ok(_)));
    let elapsed_ms = started_at.elapsed().as_secs_f64() * 1_000.0;
    has_answered.then(|| (elapsed_ms * 100.0).round() / 100.0)
}
