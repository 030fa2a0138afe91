//! The order to compare Redis with DynamoDB, after a crash and a failover made by hand.

use serde_json::{Value, json};
use vestibule_backup::{Backup, EntryPartition};
use vestibule_domain::{id::EntryId, state::EntryState};
use vestibule_engine::write_through::write_through;
use vestibule_line::{EnterOutcome, EntryLine, EntryLookup, LeaveOutcome, LeaveReason, NotFound, QueueLine};
use vestibule_line_redis::RedisLine;
use vestibule_tests::lines::{Backend, visitor};

use crate::deployment::{Deployment, done};

/// What nobody heard of, and what a Redis that came back older than it was does not know.
#[tokio::test]
async fn what_a_crash_and_a_failover_left_is_mended_by_order() {
    let deployment = Deployment::new().await;
    let (admin, line, backup) = (
        deployment.admin().await,
        deployment.line().await,
        deployment.backup().await,
    );
    let queue = &deployment.queue;
    let settings = json!({ "capacity": 1, "batch": 1, "interval_seconds": 3_600 });
    done(
        &admin,
        json!({ "op": "create", "queue": queue.as_str(), "settings": settings }),
    )
    .await;
    let shelf = EntryPartition::from_configuration(
        queue,
        &line.queue_view(queue).await.expect("a view").configuration,
    );
    for number in 1..=40 {
        let Ok(EnterOutcome::Joined {
            change: Some(change), ..
        }) = line.enter(queue, visitor(number)).await
        else {
            panic!("{number} did not enter")
        };
        // 31 to 40 come last, and their function is killed.
        if number <= 30 {
            let through = write_through(&line, &backup, &shelf, &change).await;
            assert!(through.expect("written").durable);
        }
    }
    let places = places(&line, &deployment, 2..=40).await;
    // 2 leaves and is told so; 3 leaves, and the function is killed.
    for number in [2, 3] {
        let left = line.leave(queue, visitor(number), None, LeaveReason::Leave).await;
        let Ok(LeaveOutcome::Ended(change)) = left else {
            panic!("{left:?}")
        };
        if number == 2 {
            write_through(&line, &backup, &shelf, &change)
                .await
                .expect("written");
        }
    }
    // The failover: it has 2 still, and not 10 to 19.
    let client = redis::Client::open(Backend::Redis.url()).expect("an address");
    let mut link = client
        .get_multiplexed_async_connection()
        .await
        .expect("it answers");
    let key = format!("vestibule:{{{queue}}}:waiting");
    let mut pipe = redis::pipe();
    pipe.zadd(&key, visitor(2).to_member(), places[0].1).ignore();
    for number in 10..=19 {
        pipe.zrem(&key, visitor(number).to_member()).ignore();
    }
    pipe.query_async::<()>(&mut link).await.expect("it answers");

    let check = json!({ "op": "check", "queue": queue.as_str() });
    let first = done(&admin, check.clone()).await;
    let expected = json!({
        "queue": queue.as_str(), "checked_line": 29, "checked_table": 29, "written": 10, "rewritten": 0, "adopted": 0,
        "restored": 10, "ended": 1, "removed": 1, "dead_lettered": 0, "skipped": 0, "next_shard": null, "complete": true,
    });
    assert_eq!(first, expected);
    let still: Vec<_> = places.into_iter().filter(|(n, _)| ![2, 3].contains(n)).collect();
    assert_eq!(
        self::places(&line, &deployment, 4..=40).await,
        still,
        "nobody moved"
    );
    for number in [2, 3] {
        let look = line.status(queue, visitor(number)).await.expect("a look");
        assert_eq!(look, EntryLookup::NotFound(NotFound::Unknown));
        let record = backup
            .read_entry(&shelf, visitor(number))
            .await
            .expect("an answer");
        assert_eq!(record.expect("a record").state, EntryState::Left);
    }
    let second = done(&admin, check).await;
    for (name, count) in second.as_object().expect("an object") {
        if let Some(count) = count.as_u64() {
            let expected = if name.starts_with("checked") { 38 } else { 0 };
            assert_eq!(count, expected, "{name}: {second}");
        }
    }
    // What the restore of a Redis that is lost altogether would find.
    let mut live: Vec<EntryId> = Vec::new();
    for shard in 0..vestibule_domain::id::SHARD_COUNT {
        let records = backup.read_live_entries(&shelf, shard).await.expect("an answer");
        live.extend(records.iter().map(|record| record.id));
    }
    assert_eq!(live.len(), 38);
    let unknown: Value = json!({ "op": "check", "queue": "nowhere" });
    assert_eq!(admin.handle(unknown).await["problem"]["code"], "unknown-queue");
}

/// The scores of those who wait.
async fn places(
    line: &RedisLine,
    deployment: &Deployment,
    numbers: std::ops::RangeInclusive<u64>,
) -> Vec<(u64, u64)> {
    let mut places = Vec::new();
    for number in numbers {
        match line.status(&deployment.queue, visitor(number)).await {
            Ok(EntryLookup::Found(vestibule_domain::entry_status::EntryStatus::Waiting {
                score, ..
            })) => {
                places.push((number, score.raw()));
            }
            other => panic!("{number}: {other:?}"),
        }
    }
    places
}
