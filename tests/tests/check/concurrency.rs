//! Checks that run at the same time as other checks and as visitors.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::time::{Instant, sleep};
use vestibule_backup::EntryPartition;
use vestibule_domain::{
    change::{EndReason, Event},
    configuration::Configuration,
    fact::Fact,
    score::WaitScore,
    settings::Settings,
    state::EntryState,
};
use vestibule_engine::{
    check::{CheckConfig, CheckError, CheckSummary, check_queue},
    flush::flush_journal,
    persist_entry::persist_entry,
};
use vestibule_line::{Arrival, ClaimOutcome, EnterOutcome, EntryLookup, LeaveOutcome, LeaveReason};
use vestibule_tests::{
    entries::now_ms,
    lines::{configuration, visitor},
};

use crate::scene::{NO_PAUSES, Scene};

/// A bound for each visitor that also a busy machine keeps.
const BOUND: Duration = Duration::from_mins(1);

/// Creates several differences of each kind.
async fn create_differences(scene: &Scene) {
    scene.enter_all(1..=12).await;
    for number in 20..=25 {
        scene.enter_without_backup(number).await;
        let place = WaitScore::next(0, now_ms() - 60_000 + number);
        scene
            .write_lost_event(number + 10, Event::Entered { place, after: None })
            .await;
    }
    for number in [3, 4] {
        scene.end_without_backup(number).await;
        let fact = Fact::ended(scene.score(number + 2).await.visit());
        let how = EndReason::Left;
        scene
            .write_lost_event(number + 2, Event::Ended { fact, how })
            .await;
        let event = Event::Claimed {
            visit: scene.score(number + 4).await.visit(),
            session_end_ms: now_ms() + 900_000,
        };
        scene.write_lost_event(number + 4, event).await;
    }
}

pub(crate) async fn concurrent_checks_repair_each_difference(scene: Scene) {
    create_differences(&scene).await;
    let one = || check_queue(&scene.line, &*scene.backup, &scene.partition, 0, NO_PAUSES);
    let (first, second, third) = tokio::join!(one(), one(), one());
    let mut repaired = 0;
    for checked in [first, second, third] {
        repaired += checked.expect("checked").repaired_count();
    }
    assert!(repaired >= 18, "the checks repaired only {repaired} differences");
    // A check skips a difference that another check is repairing, so run one more.
    scene.check().await;
    scene.assert_consistent().await;
    assert_eq!(scene.positions(30..=35).await, [1, 2, 3, 4, 5, 6]);
    assert_eq!(scene.positions(9..=12).await, [7, 8, 9, 10]);
    assert_eq!(scene.positions(20..=25).await, [11, 12, 13, 14, 15, 16]);
    let view = scene.view().await;
    assert_eq!((view.waiting, view.ready, view.active), (16, 0, 4));
}

pub(crate) async fn check_in_parts_continues_where_it_stopped(scene: Scene) {
    create_differences(&scene).await;
    let config = CheckConfig {
        entries_per_pass: 10,
        ..NO_PAUSES
    };
    let mut total = CheckSummary::default();
    let (mut next, mut parts) = (Some(0), 0);
    while let Some(from) = next {
        let part = check_queue(&scene.line, &*scene.backup, &scene.partition, from, config).await;
        let part = part.expect("checked");
        assert!(part.checked_line < 24, "one part checked everything: {part:?}");
        total += part;
        next = part.next_shard;
        assert!(next.is_none_or(|next| next > from));
        parts += 1;
    }
    assert!(parts > 1);
    assert_eq!((total.repaired_count(), total.skipped), (18, 0), "{total:?}");
    scene.assert_consistent().await;
}

pub(crate) async fn write_in_progress_is_no_difference(scene: Scene) {
    scene.enter_all(1..=3).await;
    let config = CheckConfig {
        second_read_after: Duration::from_secs(3),
        ..NO_PAUSES
    };
    let change = scene.enter_without_backup(4).await;
    let slow_write = async {
        sleep(Duration::from_millis(500)).await;
        scene.write_through(&change).await;
    };
    let checking = check_queue(&scene.line, &*scene.backup, &scene.partition, 0, config);
    let (checked, ()) = tokio::join!(checking, slow_write);
    let checked = checked.expect("checked");
    assert_eq!(checked.repaired_count(), 0, "{checked:?}");
    let record = scene.record(4).await.expect("a record");
    assert_eq!(
        record.version, change.version,
        "the check must not write the record again"
    );
    scene.assert_consistent().await;
}

pub(crate) async fn reset_queue_is_refused(scene: Scene) {
    scene.enter_all(1..=4).await;
    let next_generation = EntryPartition {
        generation: 2,
        ..scene.partition.clone()
    };
    let refused = check_queue(&scene.line, &*scene.backup, &next_generation, 0, NO_PAUSES).await;
    assert!(matches!(refused, Err(CheckError::Reset)), "{refused:?}");
    scene.assert_consistent().await;
}

/// Takes one visitor through the queue with the calls that the routes make, and checks that the position never rises.
async fn go_through(scene: &Scene, number: u64) {
    let (line, queue, id) = (&scene.line, &scene.queue, visitor(number));
    let until = Instant::now() + BOUND;
    let (mut last, mut is_admitted) = (u64::MAX, false);
    match line.enter(queue, id, Arrival::Ordinary).await.expect("entered") {
        EnterOutcome::Joined {
            status,
            change: Some(change),
            ..
        } => {
            let entry = persist_entry(line, &*scene.backup, &scene.partition, status, &change).await;
            assert!(entry.expect("an answer").expect("a place").durable);
        }
        other => panic!("{number}: {other:?}"),
    }
    line.check_in(queue, id).await.expect("an answer");
    while !is_admitted {
        assert!(Instant::now() < until, "visitor {number} was never promoted");
        match line.status(queue, id).await.expect("an answer") {
            EntryLookup::Found(vestibule_domain::entry_status::EntryStatus::Waiting { position, .. }) => {
                assert!(position <= last, "visitor {number} moved back");
                last = position;
                sleep(Duration::from_millis(5)).await;
            }
            EntryLookup::Found(_) => is_admitted = true,
            EntryLookup::NotFound(missing) => {
                panic!("the entry of visitor {number} was not found: {missing:?}")
            }
        }
    }
    match line.claim(queue, id).await.expect("claimed") {
        ClaimOutcome::Active { change, .. } => scene.write_through(&change).await,
        other => panic!("{number}: {other:?}"),
    }
    match line
        .leave(queue, id, None, LeaveReason::Complete)
        .await
        .expect("completed")
    {
        LeaveOutcome::Ended(change) => scene.write_through(&change).await,
        other => panic!("{number}: {other:?}"),
    }
}

pub(crate) async fn visitors_are_not_affected_by_checks(scene: Scene) {
    const VISITORS: u64 = 150;
    let settings = Settings {
        capacity: 10,
        batch: 500,
        interval_seconds: 1,
        ..Settings::default()
    };
    let faster = Configuration {
        revision: "2".to_owned(),
        ..configuration(&settings)
    };
    scene
        .line
        .configure(&scene.queue, &faster, false)
        .await
        .expect("configured");
    let done = Arc::new(AtomicBool::new(false));
    let (scene, checks) = (&scene, std::cell::Cell::new(0));
    let promoter = async {
        while !done.load(Ordering::SeqCst) {
            scene.promote().await;
            let until = Instant::now() + Duration::from_secs(10);
            let flushed = flush_journal(&scene.line, &*scene.backup, &scene.partition, 100, until).await;
            flushed.expect("flushed");
            sleep(Duration::from_millis(10)).await;
        }
    };
    let checker = async || {
        while !done.load(Ordering::SeqCst) {
            scene.check().await;
            checks.set(checks.get() + 1);
        }
    };
    let visitors = async {
        let all = (1..=VISITORS).map(|number| go_through(scene, number));
        futures_util::future::join_all(all).await;
        done.store(true, Ordering::SeqCst);
    };
    tokio::join!(promoter, checker(), checker(), visitors);
    assert!(checks.get() > 1, "too few checks ran");
    scene.check().await;
    scene.assert_consistent().await;
    let view = scene.view().await;
    assert_eq!((view.waiting, view.ready, view.active), (0, 0, 0));
    for number in 1..=VISITORS {
        assert_eq!(
            scene.state_in_backup(number).await,
            Some(EntryState::Completed),
            "{number}"
        );
    }
}
