//! Both items of a queue are deleted by hand in the table.

use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep};
use vestibule_backup::{Backup, EntryPartition, QueueLookup};
use vestibule_engine::{
    fallback_tick::{FallbackTickOutcome, fallback_tick},
    tick_history::TickHistory,
};
use vestibule_line::QueueTrace;
use vestibule_tests::waiting::wait_until;

use crate::{
    console::create_queue,
    deletion::{enter, expect_created_anew, find_trace},
    deployment::BOUND,
};

#[tokio::test]
async fn items_deleted_by_hand_delete_the_queue() {
    let deployment = create_queue(json!({ "paused": true })).await;
    let (line, promoter) = (deployment.line().await, deployment.promoter().await);
    let old = [enter(&deployment, &line).await];
    let operator = async {
        wait_until(BOUND, "the promoter knows the queue", async || {
            line.queue_view(&deployment.queue)
                .await
                .is_ok_and(|view| view.heartbeat_ms > 0)
        })
        .await;
        // With one item missing, which may be a slip, the queue goes on.
        let settings = deployment.read_part("settings").await;
        deployment.delete_part("settings").await;
        sleep(Duration::from_secs(7)).await;
        assert!(line.queue_view(&deployment.queue).await.is_ok());
        deployment.put_item(settings).await;
        let line_item = deployment.read_part("line").await;
        deployment.delete_part("line").await;
        sleep(Duration::from_secs(7)).await;
        assert!(line.queue_view(&deployment.queue).await.is_ok());
        deployment.put_item(line_item).await;

        deployment.delete_part("settings").await;
        deployment.delete_part("line").await;
        wait_until(BOUND, "the queue is deleted", async || {
            matches!(find_trace(&deployment, &line).await, QueueTrace::Deleted(_))
        })
        .await;
    };
    promoter.run(operator).await;
    let stored = deployment.backup().await.look_up_queue(&deployment.queue).await;
    assert!(matches!(stored, Ok(QueueLookup::Deleted(_))), "{stored:?}");
    expect_created_anew(&deployment, &line, &old).await;
}

/// No promoter has seen that the items were deleted by hand. Redis still knows the queue.
#[tokio::test]
async fn create_after_a_deletion_by_hand_revives_no_entry() {
    let deployment = create_queue(json!({ "paused": true })).await;
    let line = deployment.line().await;
    let old = [enter(&deployment, &line).await];
    deployment.delete_part("settings").await;
    deployment.delete_part("line").await;
    expect_created_anew(&deployment, &line, &old).await;
}

/// No promoter has served the queue in its process. The request of a visitor finds that the table has nothing of it, and
/// every process learns it from Redis. A deployment with another table on the same Redis destroys nothing.
#[tokio::test]
async fn a_request_notices_a_deletion_by_hand() {
    let deployment = create_queue(json!({ "paused": true })).await;
    let line = deployment.line().await;
    let old = [enter(&deployment, &line).await];
    let queue = &deployment.queue;
    let view = line.queue_view(queue).await.expect("seen");
    let partition = EntryPartition::from_configuration(queue, &view.configuration);
    let (backup, pace) = (deployment.backup().await, view.configuration.settings.pace());
    deployment.delete_part("settings").await;
    deployment.delete_part("line").await;
    for (name, is_deleted) in [("another-table", false), ("", true)] {
        let process = line.clone().with_backup_name(name);
        let until = Instant::now() + Duration::from_secs(1);
        sleep(Duration::from_secs(1)).await;
        let history = TickHistory::default();
        let ticked = fallback_tick(&process, &backup, &partition, pace, &history, until).await;
        assert_eq!(ticked.expect("answered"), FallbackTickOutcome::LineNotCurrent);
        let trace = find_trace(&deployment, &line).await;
        assert_eq!(matches!(trace, QueueTrace::Deleted(_)), is_deleted, "{trace:?}");
    }
    expect_created_anew(&deployment, &line, &old).await;
}
