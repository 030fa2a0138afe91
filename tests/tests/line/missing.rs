//! What a line answers about an entry that is not in it.

use vestibule_domain::change::{Change, EndReason, Event};
use vestibule_line::NotFound;
use vestibule_tests::lines::{Subject, visitor};

/// The answer about an entry of which the line knows nothing now.
pub(crate) fn unknown(subject: &Subject) -> NotFound {
    let at_ms = subject.clock.now_ms();
    NotFound::Unknown { at_ms }
}

/// The end of a visitor whose visit ended recently.
pub(crate) async fn expect_end(subject: &Subject, number: u64) -> Change {
    match subject.expect_not_found(visitor(number)).await {
        NotFound::Ended(end) => end,
        unknown @ NotFound::Unknown { .. } => panic!("visitor {number}: {unknown:?}"),
    }
}

/// How the visit of a visitor ended recently.
pub(crate) async fn expect_end_reason(subject: &Subject, number: u64) -> EndReason {
    let end = expect_end(subject, number).await;
    match end.event {
        Event::Ended { how, .. } => how,
        other => panic!("visitor {number}: {other:?}"),
    }
}
