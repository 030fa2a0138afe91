//! A queue in Redis that an earlier release created. It lacks the newer counters, and every call still works.

use vestibule_tests::lines::{Backend, Subject};

use crate::settings::{in_turn, two_at_a_time};

/// The counters that the earlier release lacks.
const NEW: [&str; 2] = ["expired", "no_shows"];

async fn verify_queue_of_earlier_release(backend: Backend) {
    let mut subject = Subject::new(backend).await;
    subject.open(in_turn(two_at_a_time())).await;
    subject.line_up(1..=9).await;
    subject.tick().await;
    let mut link = backend.connection_to_owner(&subject.queue).await;
    let mut forget = redis::cmd("HDEL");
    forget.arg(format!("vestibule:{{{}}}:state", subject.queue));
    for window in ["short", "short_before", "long", "long_before"] {
        forget.arg(&NEW.map(|name| format!("{window}_{name}")));
    }
    let forgotten: u64 = forget.query_async(&mut link).await.expect("an answer");
    assert_eq!(forgotten, 8, "the counters have these names");

    // Views and ticks work while the averaging windows turn, and after that.
    let mut turns = 0;
    for _ in 0..700 {
        subject.advance_seconds(1);
        turns += subject.tick().await.promoted;
        subject.view().await.forecast().eta_ms(1);
    }
    assert_eq!(turns, 7, "each remaining entry was promoted");
    let counted = subject.view().await.averages.long.current_start;
    assert_eq!(counted.no_shows, 9, "the new counters count by now: {counted:?}");
}

#[tokio::test]
async fn a_queue_of_an_earlier_release_works_in_redis() {
    verify_queue_of_earlier_release(Backend::Redis).await;
}

#[tokio::test]
async fn a_queue_of_an_earlier_release_works_in_a_cluster() {
    verify_queue_of_earlier_release(Backend::Cluster).await;
}
