//! A Redis whose memory is full refuses new entries. Existing entries can still claim and end, which frees
//! memory.

use std::time::Duration;

use tokio::time::sleep;
use vestibule_domain::call_limit::CallLimit;
use vestibule_line::{
    Arrival, CallOutcome, ClaimOutcome, EvictionPolicy, LeaveOutcome, LeaveReason, LineError,
};
use vestibule_tests::{
    lines::{configuration, fresh_queue, tick_order, visitor},
    own_redis::OwnRedis,
};

#[tokio::test]
async fn the_eviction_policy_is_known_if_redis_tells() {
    let server = OwnRedis::start();
    let line = server.line().await;
    let read = async || line.eviction_policy().await.expect("an answer");
    assert_eq!(read().await, EvictionPolicy::NoEviction);
    server.run(&["config", "set", "maxmemory-policy", "allkeys-lru"]);
    let evicts = EvictionPolicy::Evicts("allkeys-lru".to_owned());
    assert_eq!(read().await, evicts);
    server.run(&["acl", "setuser", "default", "-info"]);
    assert_eq!(read().await, EvictionPolicy::Unknown);
}

#[tokio::test]
async fn a_full_redis_refuses_new_entries_and_serves_the_others() {
    let server = OwnRedis::start();
    let (line, queue) = (server.line().await, fresh_queue());
    let mut settings = vestibule_domain::settings::Settings {
        capacity: 2,
        batch: 2,
        ..Default::default()
    };
    line.configure(&queue, &configuration(&settings), true)
        .await
        .expect("created");
    for number in 1..=4 {
        line.enter(&queue, visitor(number), Arrival::Ordinary)
            .await
            .expect("the server has free memory");
        line.check_in(&queue, visitor(number)).await.expect("an answer");
    }
    settings.capacity = 3;
    settings.batch = 10;
    line.configure(&queue, &configuration(&settings), false)
        .await
        .expect("configured");
    server.fill();

    let refused = line.enter(&queue, visitor(5), Arrival::Ordinary).await;
    assert!(matches!(refused, Err(LineError::Unavailable(_))), "{refused:?}");

    let left = line
        .leave(&queue, visitor(1), None, LeaveReason::Complete)
        .await
        .expect("an active entry can end");
    let LeaveOutcome::Ended(end) = left else {
        panic!("{left:?}")
    };
    line.acknowledge(&queue, &[], &[end.visit_end().expect("an end")])
        .await
        .expect("an end can be acknowledged");
    sleep(Duration::from_millis(1_100)).await;
    assert!(
        line.promote(&queue, tick_order(10))
            .await
            .expect("promotion continues")
            .promoted
            > 0
    );
    let claimed = line.claim(&queue, visitor(3)).await.expect("a claim succeeds");
    assert!(matches!(claimed, ClaimOutcome::Active { .. }), "{claimed:?}");
    let called = line.take_call(&queue, visitor(3), CallLimit::default()).await;
    assert_eq!(called.expect("a visitor may call"), CallOutcome::Counted);
    line.append_to_journal(&queue, &end)
        .await
        .expect("an acknowledged change is kept");
}
