//! The limit of the calls that each entry may send to a protected API.

use std::time::Duration;

use futures_util::future::join_all;
use redis::aio::MultiplexedConnection;
use vestibule_domain::call_limit::CallLimit;
use vestibule_line::{CallOutcome, Line};
use vestibule_tests::{
    lines::{Backend, Subject, visitor},
    waiting::wait_until,
};

/// How many calls the limit of these tests allows at once.
const BURST: usize = 5;
/// The time in which one call comes back.
const INTERVAL_SECONDS: u64 = 600;

/// A period of 50 minutes: Redis removes the key by its own clock, which goes on while the clock of a test stands
/// still.
fn limit() -> CallLimit {
    CallLimit::new(5, 3_000).expect("a valid limit")
}

async fn take_call(subject: &Subject, number: u64) -> CallOutcome {
    let taken = subject.line.take_call(&subject.queue, visitor(number), limit());
    taken.await.expect("take_call")
}

/// How many of this many calls are counted.
async fn count_allowed(subject: &Subject, number: u64, calls: usize) -> usize {
    let outcomes = join_all((0..calls).map(|_| take_call(subject, number))).await;
    let allowed = outcomes.into_iter();
    allowed.filter(|outcome| *outcome == CallOutcome::Counted).count()
}

fn refused_for_seconds(seconds: u64) -> CallOutcome {
    CallOutcome::TooMany {
        retry_after_ms: seconds * 1_000,
    }
}

pub(crate) async fn a_burst_of_calls_is_counted_once_by_all_callers(subject: Subject) {
    assert_eq!(count_allowed(&subject, 1, 40).await, BURST);
    assert_eq!(
        take_call(&subject, 1).await,
        refused_for_seconds(INTERVAL_SECONDS)
    );
}

pub(crate) async fn calls_come_back_one_by_one(subject: Subject) {
    assert_eq!(count_allowed(&subject, 1, BURST + 1).await, BURST);
    subject.advance_seconds(INTERVAL_SECONDS - 1);
    // A refused call does not count, however often it is repeated.
    for _ in 0..3 {
        assert_eq!(take_call(&subject, 1).await, refused_for_seconds(1));
    }
    subject.advance_seconds(1);
    assert_eq!(count_allowed(&subject, 1, 3).await, 1);
    subject.advance_seconds(2 * INTERVAL_SECONDS);
    assert_eq!(count_allowed(&subject, 1, 5).await, 2);
    subject.advance_seconds(100 * INTERVAL_SECONDS);
    assert_eq!(
        count_allowed(&subject, 1, 20).await,
        BURST,
        "a long pause saves no more than the burst"
    );
}

pub(crate) async fn each_entry_of_each_queue_has_its_own_calls(subject: Subject) {
    let other_queue = subject.sibling();
    assert_eq!(count_allowed(&subject, 1, 20).await, BURST);
    assert_eq!(count_allowed(&subject, 2, 20).await, BURST);
    assert_eq!(count_allowed(&other_queue, 1, 20).await, BURST);
}

/// The stored time is then far in the future. The entry does not wait until the clock catches up.
pub(crate) async fn a_clock_set_back_does_not_prolong_a_refusal(subject: Subject) {
    assert_eq!(count_allowed(&subject, 1, BURST).await, BURST);
    assert_eq!(count_allowed(&subject, 2, 1).await, 1);
    subject.clock.set_back(Duration::from_hours(10));
    for number in [1, 2] {
        assert_eq!(
            take_call(&subject, number).await,
            refused_for_seconds(INTERVAL_SECONDS)
        );
    }
    subject.advance_seconds(INTERVAL_SECONDS);
    for number in [1, 2] {
        assert_eq!(count_allowed(&subject, number, 5).await, 1);
    }
}

pub(crate) async fn a_lowered_limit_applies_to_the_next_call(subject: Subject) {
    assert_eq!(count_allowed(&subject, 1, 3).await, 3);
    let lower = CallLimit::new(1, 60).expect("a valid limit");
    let outcome = subject.line.take_call(&subject.queue, visitor(1), lower).await;
    assert_eq!(outcome.expect("take_call"), refused_for_seconds(60));
}

/// The keys of the queue on its server.
async fn read_keys(server: &mut MultiplexedConnection, subject: &Subject) -> Vec<String> {
    let mut command = redis::cmd("KEYS");
    command.arg(format!("vestibule:{{{}}}:*", subject.queue));
    command.query_async(server).await.expect("keys")
}

async fn calls_leave_no_key_behind(backend: Backend) {
    let subject = Subject::new(backend).await;
    let line = Line::connect(&backend.url()).await.expect("the server answers");
    let limit = CallLimit::new(2, 4).expect("a valid limit");
    for number in 1..=3 {
        let taken = line.take_call(&subject.queue, visitor(number), limit).await;
        taken.expect("take_call");
    }
    let mut server = backend.connection_to_owner(&subject.queue).await;
    for key in read_keys(&mut server, &subject).await {
        let mut command = redis::cmd("PTTL");
        command.arg(&key);
        let left_ms: i64 = command.query_async(&mut server).await.expect("a time");
        // -2 says that the key is gone already.
        assert!(
            left_ms == -2 || (0..=2_000).contains(&left_ms),
            "{key}: {left_ms}"
        );
    }
    wait_until(Duration::from_mins(1), "the keys are gone", async || {
        read_keys(&mut server, &subject).await.is_empty()
    })
    .await;
}

#[tokio::test]
async fn calls_leave_no_key_behind_in_redis() {
    calls_leave_no_key_behind(Backend::Redis).await;
}

#[tokio::test]
async fn calls_leave_no_key_behind_in_valkey() {
    calls_leave_no_key_behind(Backend::Valkey).await;
}

#[tokio::test]
async fn calls_leave_no_key_behind_in_a_cluster() {
    calls_leave_no_key_behind(Backend::Cluster).await;
}
