//! Waiting for what others bring about: looked for again and again, with a bound.

use std::{fmt::Debug, time::Duration};

use tokio::time::{Instant, sleep};

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(10);
/// Between two questions, which give a busy machine more to do.
const ASK_PAUSE: Duration = Duration::from_millis(50);

/// Waits until something is so.
///
/// # Panics
/// Where it never was within that time.
pub async fn until(bound: Duration, what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let end = Instant::now() + bound;
    while !is_so().await {
        assert!(Instant::now() < end, "in {bound:?} it was never so: {what}");
        sleep(PAUSE).await;
    }
}

/// Asks until the answer is as wanted: that one.
///
/// # Panics
/// Where none was within that time.
pub async fn asked_until<T: Debug>(
    bound: Duration,
    mut ask: impl AsyncFnMut() -> T,
    is_so: impl Fn(&T) -> bool,
) -> T {
    let end = Instant::now() + bound;
    loop {
        let answer = ask().await;
        if is_so(&answer) {
            return answer;
        }
        assert!(Instant::now() < end, "in {bound:?} it was never so: {answer:?}");
        sleep(ASK_PAUSE).await;
    }
}
