//! A process that leaves a demoted server may have left changes behind, so it sets a consistency check due.

use vestibule_tests::{in_process::BOUND, waiting::poll_until};

use crate::{
    pair::{Member, Pair},
    process::{Process, create},
};

#[tokio::test]
async fn a_process_that_left_a_server_sets_a_check_due() {
    let mut pair = Pair::start().await;
    let queue = create(&pair.url()).await;
    let process = Process::start(&pair.url(), &queue).await;
    process.enter_and_expect_created().await;
    let waiting = process.enter_and_expect_created().await;
    // There is no promoter, so the process ticks the queue itself.
    let ask_and_read = async |server: &mut Member, field: &str| -> Option<u64> {
        process.send(waiting.guest.status()).await;
        let key = format!("vestibule:{{{queue}}}:state");
        server.query(&["HGET", &key, field]).await
    };
    poll_until(
        BOUND,
        async || ask_and_read(&mut pair.primary, "ticks").await,
        |ticks| *ticks >= Some(1),
    )
    .await;
    assert_eq!(ask_and_read(&mut pair.primary, "check_due_ms").await, Some(0));

    pair.fail_over().await;
    let read = async || ask_and_read(&mut pair.replica, "check_due_ms").await;
    poll_until(BOUND, read, |due_ms| *due_ms > Some(0)).await;
}
