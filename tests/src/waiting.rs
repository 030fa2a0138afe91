//! Waiting for a condition: the test checks it again and again, up to a time limit.

use std::{fmt::Debug, time::Duration};

use tokio::time::{Instant, sleep};

/// The pause between two checks.
const PAUSE: Duration = Duration::from_millis(10);
/// The pauses between two requests, which load the machine more than a check: the first, and the longest. The API answers
/// one visitor no more than two requests a second for long.
const ASK_PAUSE_MIN: Duration = Duration::from_millis(50);
const ASK_PAUSE_MAX: Duration = Duration::from_millis(600);

/// Waits until the condition holds.
///
/// # Panics
/// If the condition does not hold within the time limit.
pub async fn wait_until(bound: Duration, event: &str, mut condition: impl AsyncFnMut() -> bool) {
    let end = Instant::now() + bound;
    while !condition().await {
        assert!(
            Instant::now() < end,
            "this did not happen within {bound:?}: {event}"
        );
        sleep(PAUSE).await;
    }
}

/// Repeats a request until the answer satisfies the condition, and returns that answer.
///
/// # Panics
/// If no answer satisfies the condition within the time limit.
pub async fn poll_until<T: Debug>(
    bound: Duration,
    mut ask: impl AsyncFnMut() -> T,
    condition: impl Fn(&T) -> bool,
) -> T {
    let end = Instant::now() + bound;
    let mut pause = ASK_PAUSE_MIN;
    loop {
        let answer = ask().await;
        if condition(&answer) {
            return answer;
        }
        assert!(
            Instant::now() < end,
            "no answer satisfied the condition within {bound:?}; the last one was {answer:?}"
        );
        sleep(pause).await;
        pause = (pause * 5 / 4).min(ASK_PAUSE_MAX);
    }
}
