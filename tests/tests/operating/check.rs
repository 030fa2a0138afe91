//! The command `check`, after a crash and a failover that the test simulates.

use serde_json::{Value, json};
use vestibule_backup::{Backup, EntryPartition};
use vestibule_domain::{
    id::{EntryId, QueueId},
    state::EntryState,
};
use vestibule_engine::write_through::write_through;
use vestibule_line::{Arrival, EnterOutcome, EntryLookup, LeaveOutcome, LeaveReason, Line, NotFound};
use vestibule_tests::{
    lines::{Backend, visitor},
    servers::connect_redis,
};

use crate::deployment::{Deployment, run_command};

/// A killed function left changes unwritten, and Redis came back with older data.
#[tokio::test]
async fn check_command_repairs_after_a_crash_and_a_failover() {
    let deployment = Deployment::new().await;
    let (admin, line) = (deployment.admin().await, deployment.line().await);
    let backup = deployment.backup().await;
    let queue = &deployment.queue;
    let settings = json!({ "capacity": 1, "batch": 1, "interval_seconds": 3_600 });
    run_command(
        &admin,
        json!({ "op": "create", "queue": queue.as_str(), "settings": settings }),
    )
    .await;
    let partition = EntryPartition::from_configuration(
        queue,
        &line.queue_view(queue).await.expect("an answer").configuration,
    );
    for number in 1..=40 {
        let Ok(EnterOutcome::Joined {
            change: Some(change), ..
        }) = line.enter(queue, visitor(number), Arrival::Ordinary).await
        else {
            panic!("visitor {number} could not enter")
        };
        // Visitors 31 to 40 enter last, and their function is killed before it writes.
        if number <= 30 {
            let outcome = write_through(&line, &backup, &partition, &change).await;
            assert!(outcome.expect("written").durable);
        }
    }
    let places_before = waiting_scores(&line, &deployment, 2..=40).await;
    // Visitors 2 and 3 leave. Only the end of visitor 2 is written, because the other function is killed.
    for number in [2, 3] {
        let left = line.leave(queue, visitor(number), None, LeaveReason::Leave).await;
        let Ok(LeaveOutcome::Ended(change)) = left else {
            panic!("{left:?}")
        };
        if number == 2 {
            write_through(&line, &backup, &partition, &change)
                .await
                .expect("written");
        }
    }
    // After the failover, Redis still has visitor 2 and has lost visitors 10 to 19.
    let client = redis::Client::open(Backend::Redis.url()).expect("an address");
    let mut connection = connect_redis(client).await;
    let key = format!("vestibule:{{{queue}}}:waiting");
    let mut pipe = redis::pipe();
    pipe.zadd(&key, visitor(2).to_member(), places_before[0].1)
        .ignore();
    for number in 10..=19 {
        pipe.zrem(&key, visitor(number).to_member()).ignore();
    }
    pipe.query_async::<()>(&mut connection)
        .await
        .expect("Redis answers");

    let check = json!({ "op": "check", "queue": queue.as_str() });
    let first = run_command(&admin, check.clone()).await;
    let expected = json!({
        "queue": queue.as_str(), "checked_line": 29, "checked_table": 29, "written": 10, "rewritten": 0, "adopted": 0,
        "restored": 10, "ended": 1, "removed": 1, "dead_lettered": 0, "skipped": 0, "next_shard": null,
        "complete": true, "eviction_policy": "noeviction",
    });
    assert_eq!(first, expected);
    let expected_places: Vec<_> = places_before
        .into_iter()
        .filter(|(n, _)| ![2, 3].contains(n))
        .collect();
    assert_eq!(
        waiting_scores(&line, &deployment, 4..=40).await,
        expected_places,
        "an entry changed its place"
    );
    for number in [2, 3] {
        expect_left(&line, queue, number).await;
        let record = backup
            .read_entry(&partition, visitor(number))
            .await
            .expect("an answer");
        assert_eq!(record.expect("a record").state, EntryState::Left);
    }
    let second = run_command(&admin, check).await;
    for (name, count) in second.as_object().expect("an object") {
        if let Some(count) = count.as_u64() {
            let expected = if name.starts_with("checked") { 38 } else { 0 };
            assert_eq!(count, expected, "{name}: {second}");
        }
    }
    // A restore of a lost Redis would find the same entries.
    let mut live: Vec<EntryId> = Vec::new();
    for shard in 0..vestibule_domain::id::SHARD_COUNT {
        let records = backup
            .read_live_entries(&partition, shard, u64::MAX)
            .await
            .expect("an answer");
        live.extend(records.iter().map(|record| record.id));
    }
    assert_eq!(live.len(), 38);
    let missing_queue: Value = json!({ "op": "check", "queue": "nowhere" });
    assert_eq!(
        admin.handle(missing_queue).await["problem"]["code"],
        "unknown-queue"
    );
}

/// Asserts that the line knows that this visitor left.
async fn expect_left(line: &Line, queue: &QueueId, number: u64) {
    let lookup = line.status(queue, visitor(number)).await.expect("an answer");
    let has_left = matches!(
        lookup,
        EntryLookup::NotFound(NotFound::Ended(end)) if end.event.state() == EntryState::Left
    );
    assert!(has_left, "{lookup:?}");
}

/// The scores of these visitors, who must be waiting.
async fn waiting_scores(
    line: &Line,
    deployment: &Deployment,
    numbers: std::ops::RangeInclusive<u64>,
) -> Vec<(u64, u64)> {
    let mut scores = Vec::new();
    for number in numbers {
        match line.status(&deployment.queue, visitor(number)).await {
            Ok(EntryLookup::Found(vestibule_domain::entry_status::EntryStatus::Waiting {
                score, ..
            })) => {
                scores.push((number, score.raw()));
            }
            other => panic!("visitor {number} is not waiting: {other:?}"),
        }
    }
    scores
}
