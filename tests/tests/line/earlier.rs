//! A queue in Redis that an earlier release began: what is new has yet to be counted there, and nothing stops for that.

use vestibule_tests::lines::{Backend, Subject};

use crate::settings::two_at_a_time;

/// What that one did not count.
const NEW: [&str; 2] = ["expired", "no_shows"];

async fn a_queue_of_before_goes_on(backend: Backend) {
    let mut subject = Subject::new(backend).await;
    subject.open(two_at_a_time()).await;
    subject.line_up(1..=9).await;
    subject.tick().await;
    let mut link = backend.connection_to_owner(&subject.queue).await;
    let mut forget = redis::cmd("HDEL");
    forget.arg(format!("vestibule:{{{}}}:state", subject.queue));
    for window in ["short", "short_before", "long", "long_before"] {
        forget.arg(&NEW.map(|name| format!("{window}_{name}")));
    }
    let forgotten: u64 = forget.query_async(&mut link).await.expect("an answer");
    assert_eq!(forgotten, 8, "they are counted under these names");

    // It is seen and ticked as it is, while its windows turn, and after that.
    let mut turns = 0;
    for _ in 0..700 {
        subject.advance_seconds(1);
        turns += subject.tick().await.promoted;
        subject.view().await.forecast().eta_ms(1);
    }
    assert_eq!(turns, 7, "all had their turn");
    let counted = subject.view().await.averages.long.current_start;
    assert_eq!(counted.no_shows, 9, "by now they are counted: {counted:?}");
}

#[tokio::test]
async fn a_queue_of_an_earlier_release_goes_on_in_redis() {
    a_queue_of_before_goes_on(Backend::Redis).await;
}

#[tokio::test]
async fn a_queue_of_an_earlier_release_goes_on_in_a_cluster() {
    a_queue_of_before_goes_on(Backend::Cluster).await;
}
