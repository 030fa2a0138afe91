//! The metrics that the functions of a deployment write, with a line in Redis.

use serde_json::json;
use vestibule_backup::{Backup, EntryPartition};
use vestibule_line::{Arrival, DeadLetterOutcome, EnterOutcome, LeaveReason};
use vestibule_telemetry::metrics::{
    COMPLETED, DEAD_LETTERED_RECORDS, ENTERED, LEFT, NO_SHOWS, PROMOTED, READY, REDIS_ROUND_TRIP, TICK_AGE,
    WAITING,
};
use vestibule_tests::{lines::visitor, waiting::wait_until};

use crate::deployment::{BOUND, Deployment, run_command};

#[tokio::test]
async fn two_promoters_count_each_event_once_on_redis() {
    let deployment = Deployment::new().await;
    let (admin, line) = (deployment.admin().await, deployment.line().await);
    let (queue, name) = (&deployment.queue, deployment.queue.as_str());
    let settings = json!({
        "capacity": 40, "batch": 40, "interval_seconds": 1, "paused": true, "presence_seconds": 0,
    });
    run_command(
        &admin,
        json!({ "op": "create", "queue": name, "settings": settings }),
    )
    .await;
    for number in 1..=100 {
        line.enter(queue, visitor(number), Arrival::Ordinary)
            .await
            .expect("entered");
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
        run_command(&admin, json!({ "op": "resume", "queue": name })).await;
        wait_until(BOUND, "the first forty entries are promoted", async || {
            line.queue_view(queue).await.expect("seen").ready == 40
        })
        .await;
        for number in 1..=3 {
            line.claim(queue, visitor(number)).await.expect("claimed");
        }
        for (number, reason) in [(1, LeaveReason::Complete), (100, LeaveReason::Leave)] {
            let left = line.leave(queue, visitor(number), None, reason);
            left.await.expect("an answer");
        }
        wait_until(BOUND, "all events are reported", async || {
            sums() == [100, 41, 1, 1, 0]
        })
        .await;
        // Neither promoter reports an event a second time.
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
async fn round_trips_are_measured_for_existing_queues_only() {
    let deployment = Deployment::new().await;
    let line = deployment.line().await;
    // A short line calls each visitor by entering, which takes a second round trip.
    let settings = json!({ "paused": true, "presence_seconds": 0 });
    let create = json!({ "op": "create", "queue": deployment.queue.as_str(), "settings": settings });
    run_command(&deployment.admin().await, create).await;
    let before = deployment.written.values(REDIS_ROUND_TRIP).len();
    for number in 1..=150 {
        line.enter(&deployment.queue, visitor(number), Arrival::Ordinary)
            .await
            .expect("entered");
        line.status(&deployment.queue, visitor(number))
            .await
            .expect("seen");
        let made_up = format!("made-up-{number}").parse().expect("an id");
        assert!(
            line.enter(&made_up, visitor(number), Arrival::Ordinary)
                .await
                .is_err()
        );
    }
    let values = deployment.written.values(REDIS_ROUND_TRIP);
    // Each enter and each status is one round trip, and the first visitor's enter is two: the short script leaves an empty
    // line to the complete one. The first value is written at once, and 300 fill metric documents.
    assert_eq!(values.len() - before, 301);
    assert!(values.iter().all(|ms| *ms > 0.0 && *ms < 10_000.0), "{values:?}");
    assert!(!deployment.written.text().contains("made-up"));
}

/// A damaged item blocks the dead letter. Once the item is deleted, the promoter writes the dead letter.
#[tokio::test]
async fn dead_letters_are_reported_until_they_are_written() {
    let deployment = Deployment::new().await;
    let (admin, line) = (deployment.admin().await, deployment.line().await);
    let (queue, written) = (&deployment.queue, &deployment.written);
    let name = queue.as_str();
    run_command(&admin, json!({ "op": "create", "queue": name })).await;
    let id = visitor(1);
    let entered = line.enter(queue, id, Arrival::Ordinary).await.expect("entered");
    let EnterOutcome::Joined {
        change: Some(change), ..
    } = entered
    else {
        panic!("{entered:?}");
    };
    line.append_to_journal(queue, &change).await.expect("recorded");
    let journal = line.due_journal_records(queue, 1).await.expect("read");
    let outcome = line.dead_letter(queue, &journal[0].key).await;
    assert_eq!(outcome.expect("an answer"), DeadLetterOutcome::Moved);
    deployment.damage_entry(id).await;

    let reported = async |count: f64| {
        wait_until(BOUND, "the number of dead letters is reported", async || {
            written.values(DEAD_LETTERED_RECORDS).last() == Some(&count)
        })
        .await;
    };
    deployment.promoter().await.run(reported(1.0)).await;
    let stats = run_command(&admin, json!({ "op": "stats", "queue": name })).await;
    assert_eq!(
        (&stats["dead_lettered"], &stats["journal"]),
        (&json!(1), &json!(0))
    );

    deployment.delete_entry(id).await;
    // A promoter retries the dead letters when it starts, and then every ten minutes.
    deployment.promoter().await.run(reported(0.0)).await;
    let configuration = line.queue_view(queue).await.expect("seen").view.configuration;
    let backup = deployment.backup().await;
    let record = backup
        .read_entry(&EntryPartition::from_configuration(queue, &configuration), id)
        .await;
    assert!(record.expect("an answer").is_some());
}
