//! What the functions of a deployment write, over a line in Redis.

use serde_json::json;
use vestibule_backup::{Backup, EntryPartition};
use vestibule_line::{DeadLetterOutcome, EnterOutcome, LeaveReason, Line};
use vestibule_telemetry::metrics::{
    COMPLETED, DEAD_LETTERED_RECORDS, ENTERED, LEFT, NO_SHOWS, PROMOTED, READY, REDIS_ROUND_TRIP, TICK_AGE,
    WAITING,
};
use vestibule_tests::{lines::visitor, waiting::wait_until};

use crate::deployment::{BOUND, Deployment, done};

#[tokio::test]
async fn two_promoters_on_redis_count_each_event_once() {
    let deployment = Deployment::new().await;
    let (admin, line) = (deployment.admin().await, deployment.line().await);
    let (queue, name) = (&deployment.queue, deployment.queue.as_str());
    let settings = json!({ "capacity": 40, "batch": 40, "interval_seconds": 1, "paused": true });
    done(
        &admin,
        json!({ "op": "create", "queue": name, "settings": settings }),
    )
    .await;
    for number in 1..=100 {
        line.enter(queue, visitor(number)).await.expect("entered");
    }
    let written = &deployment.written;
    let sums = || {
        let counted = [ENTERED, PROMOTED, COMPLETED, LEFT, NO_SHOWS];
        counted.map(|metric| written.sum(metric))
    };
    let operator = async {
        wait_until(BOUND, "the arrivals are reported", async || {
            written.sum(ENTERED) > 0
        })
        .await;
        done(&admin, json!({ "op": "resume", "queue": name })).await;
        wait_until(BOUND, "the first forty are promoted", async || {
            line.queue_view(queue).await.expect("seen").ready == 40
        })
        .await;
        for number in 1..=3 {
            line.claim(queue, visitor(number)).await.expect("claimed");
        }
        for number in [1, 100] {
            let left = line.leave(queue, visitor(number), None, LeaveReason::Leave);
            left.await.expect("gone");
        }
        wait_until(BOUND, "all of it is reported", async || {
            sums() == [100, 41, 1, 1, 0]
        })
        .await;
        // Nothing comes twice in what either of the two reports after that.
        let reports = || written.values(WAITING).len();
        let before = reports();
        wait_until(BOUND, "one more report", async || reports() > before).await;
        assert_eq!(sums(), [100, 41, 1, 1, 0]);
        assert_eq!(written.values(WAITING).last(), Some(&58.0));
        assert_eq!(written.values(READY).last(), Some(&38.0));
    };
    let (one, other) = (deployment.promoter().await, deployment.promoter().await);
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    tokio::join!(
        async {
            one.run(operator).await;
            let _ = stop.send(());
        },
        other.run(async { drop(stopped.await) })
    );
    assert!(written.values(TICK_AGE).iter().all(|ms| *ms < 60_000.0));
    let text = written.text();
    for number in [1, 2, 100] {
        let id = visitor(number);
        assert!(!text.contains(&id.to_string()) && !text.contains(&id.to_member()));
    }
}

#[tokio::test]
async fn round_trips_are_measured_for_queues_that_are_there() {
    let deployment = Deployment::new().await;
    let line = deployment.line().await;
    let create =
        json!({ "op": "create", "queue": deployment.queue.as_str(), "settings": { "paused": true } });
    done(&deployment.admin().await, create).await;
    let before = deployment.written.values(REDIS_ROUND_TRIP).len();
    for number in 1..=150 {
        line.enter(&deployment.queue, visitor(number))
            .await
            .expect("entered");
        line.status(&deployment.queue, visitor(number))
            .await
            .expect("seen");
        let made_up = format!("made-up-{number}").parse().expect("an id");
        assert!(line.enter(&made_up, visitor(number)).await.is_err());
    }
    let values = deployment.written.values(REDIS_ROUND_TRIP);
    // One at once, and then as many as fill a document; what is left waits for the tenth second.
    assert_eq!(values.len() - before, 201);
    assert!(values.iter().all(|ms| *ms > 0.0 && *ms < 10_000.0), "{values:?}");
    assert!(!deployment.written.text().contains("made-up"));
}

/// Until the item that is in its way is gone: then it is written by itself.
#[tokio::test]
async fn what_is_set_aside_is_seen_until_it_is_mended() {
    let deployment = Deployment::new().await;
    let (admin, line) = (deployment.admin().await, deployment.line().await);
    let (queue, written) = (&deployment.queue, &deployment.written);
    let name = queue.as_str();
    done(&admin, json!({ "op": "create", "queue": name })).await;
    let id = visitor(1);
    let entered = line.enter(queue, id).await.expect("entered");
    let EnterOutcome::Joined {
        change: Some(change), ..
    } = entered
    else {
        panic!("{entered:?}");
    };
    line.append_to_journal(queue, &change).await.expect("recorded");
    let journal = line.due_journal_records(queue, 1).await.expect("read");
    let done_with = line.dead_letter(queue, &journal[0].key).await;
    assert_eq!(done_with.expect("an answer"), DeadLetterOutcome::Moved);
    deployment.damage(id).await;

    let reported = async |aside: f64| {
        wait_until(BOUND, "it is reported", async || {
            written.values(DEAD_LETTERED_RECORDS).last() == Some(&aside)
        })
        .await;
    };
    deployment.promoter().await.run(reported(1.0)).await;
    let stats = done(&admin, json!({ "op": "stats", "queue": name })).await;
    assert_eq!(
        (&stats["dead_lettered"], &stats["journal"]),
        (&json!(1), &json!(0))
    );

    deployment.delete_entry(id).await;
    // A promoter that starts tries it at once, one that runs every ten minutes.
    deployment.promoter().await.run(reported(0.0)).await;
    let configuration = line.queue_view(queue).await.expect("seen").configuration;
    let backup = deployment.backup().await;
    let record = backup
        .read_entry(&EntryPartition::from_configuration(queue, &configuration), id)
        .await;
    assert!(record.expect("an answer").is_some());
}
