//! A queue in Redis that an earlier release created. It lacks the newer counters, and every call still works.

use redis::aio::MultiplexedConnection;
use vestibule_domain::settings::Settings;
use vestibule_line::{Arrival, EnterOutcome, Refusal};
use vestibule_tests::lines::{Backend, Subject, visitor};

use crate::settings::{bounded, in_turn, two_at_a_time};

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

/// A full queue with this limit of the line, and a connection to its server. Visitor 100 has the only slot.
async fn open_full(backend: Backend, queue_limit: u32) -> (Subject, MultiplexedConnection) {
    let mut subject = Subject::new(backend).await;
    let settings = Settings {
        queue_limit,
        ..bounded(1, 1, 3_600)
    };
    subject.open(in_turn(settings)).await;
    subject.enter(visitor(100)).await;
    for number in 1..=queue_limit.into() {
        subject.enter(visitor(number)).await;
    }
    assert!(is_full_for(&subject, 50).await);
    let link = backend.connection_to_owner(&subject.queue).await;
    (subject, link)
}

async fn is_full_for(subject: &Subject, number: u64) -> bool {
    let id = visitor(number);
    let entered = subject.line.enter(&subject.queue, id, Arrival::Ordinary).await;
    match entered.expect("enter") {
        EnterOutcome::Joined { .. } => false,
        EnterOutcome::Refused(Refusal::QueueFull) => true,
        refused @ EnterOutcome::Refused(_) => panic!("{refused:?}"),
    }
}

/// During a deployment, a function of a build without limits has synced the settings.
async fn verify_configuration_without_limits(backend: Backend) {
    let (mut subject, mut link) = open_full(backend, 3).await;
    let config = format!("vestibule:{{{}}}:config", subject.queue);
    let mut forget = redis::cmd("HDEL");
    forget.arg(config).arg(&["queue_limit", "absent_limit"]);
    let forgotten: u64 = forget.query_async(&mut link).await.expect("an answer");
    assert_eq!(forgotten, 2, "the fields have these names");
    subject.tick().await;
    for number in 50..60 {
        assert!(!is_full_for(&subject, number).await, "a missing limit is none");
    }
    // A function of this build syncs them again.
    subject.change_settings(|settings| settings.queue_limit = 4).await;
    assert!(is_full_for(&subject, 60).await);
    assert_eq!(subject.view().await.waiting, 13, "no entry is removed");
}

/// A function of a build without limits has written the packed field, and has dropped what it does not know.
async fn verify_packed_field_without_limit(backend: Backend) {
    let (subject, mut link) = open_full(backend, 3).await;
    let state = format!("vestibule:{{{}}}:state", subject.queue);
    let mut read = redis::cmd("HGET");
    read.arg(&[&state, "line"]);
    let packed: Vec<u8> = read.query_async(&mut link).await.expect("an answer");
    let mut write = redis::cmd("HSET");
    write.arg(&state).arg("line").arg(&packed[..packed.len() - 8]);
    let _: u64 = write.query_async(&mut link).await.expect("an answer");
    assert!(!is_full_for(&subject, 50).await, "until the next tick");
    subject.tick().await;
    assert!(is_full_for(&subject, 51).await);
}

#[tokio::test]
async fn a_missing_limit_is_no_limit_in_redis() {
    verify_configuration_without_limits(Backend::Redis).await;
}

#[tokio::test]
async fn a_tick_puts_back_the_limit_that_an_earlier_build_dropped() {
    verify_packed_field_without_limit(Backend::Redis).await;
}
