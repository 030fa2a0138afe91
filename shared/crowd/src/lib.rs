//! One visitor's place in a queue, followed by the rules of the shipped client (`web/client/src/follower.ts` and its
//! modules), for the rehearsal of a sale and for crowds of visitors in tests and benchmarks.
//!
//! [`Follower`] decides which request comes next and when. It sends nothing.
//!
//! Some rules are left out: a follower here is not told of a new epoch or generation (`web/client/src/resync.ts`), its
//! page is always visible, and its visitor always attends to it.

mod bounds;
mod document;
mod document_reader;
mod entry;
mod state_machine;
#[cfg(test)]
mod tests;

use self::bounds::{PAUSE_MS_MAX, within};
pub use self::state_machine::{Failure, Follower, NextRequest, RequestKind};

/// The first bound of the random part of the backoff, in milliseconds. It doubles with each failure.
const BACKOFF_MS: f64 = 1_000.0;

/// Milliseconds until the retry after a failure: `Retry-After`, plus a random time under a doubling bound. Both are at most
/// [`PAUSE_MS_MAX`], whatever a proxy answers.
fn backoff_ms(retry_after_ms: f64, failures: u32, bound_ms: f64) -> f64 {
    let doubled_ms = BACKOFF_MS * f64::from(failures.min(30)).exp2();
    within(retry_after_ms, 0.0, PAUSE_MS_MAX - bound_ms) + rand::random::<f64>() * bound_ms.min(doubled_ms)
}
