//! Checks beside each other, and beside those who go through the queue.

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
    score::WaitScore,
    settings::Settings,
    state::EntryState,
};
use vestibule_engine::{
    check::{CheckConfig, CheckError, CheckSummary, check_queue},
    flush::flush_journal,
    persist_entry::persist_entry,
};
use vestibule_line::{ClaimOutcome, Configuration, EnterOutcome, EntryLookup, LeaveOutcome, LeaveReason};
use vestibule_tests::{
    entries::now_ms,
    lines::{configuration, visitor},
};

use crate::scene::{HASTY, Scene};

/// Longer than anything here takes on a machine that does much else.
const BOUND: Duration = Duration::from_mins(1);

/// Each kind of difference, some of each.
async fn differ(scene: &Scene) {
    scene.enter_all(1..=12).await;
    for number in 20..=25 {
        scene.enter_without_backup(number).await;
        let score = WaitScore::next(0, now_ms() - 60_000 + number);
        scene
            .only_the_backup_knows(number + 10, Event::Entered { score })
            .await;
    }
    for number in [3, 4] {
        scene.leave_without_backup(number).await;
        let visit = scene.score(number + 2).await.visit();
        let how = EndReason::Left;
        scene
            .only_the_backup_knows(number + 2, Event::Ended { visit, how })
            .await;
        let event = Event::Claimed {
            visit: scene.score(number + 4).await.visit(),
            session_end_ms: now_ms() + 900_000,
        };
        scene.only_the_backup_knows(number + 4, event).await;
    }
}

pub(crate) async fn two_checks_at_once_come_to_the_same(scene: Scene) {
    differ(&scene).await;
    let one = || check_queue(&*scene.line, &*scene.backup, &scene.shelf, 0, HASTY);
    let (first, second, third) = tokio::join!(one(), one(), one());
    let mut mended = 0;
    for checked in [first, second, third] {
        mended += checked.expect("checked").repaired_count();
    }
    assert!(mended >= 18, "{mended}");
    // What one left to the next because the other was at it.
    scene.check().await;
    scene.agrees().await;
    assert_eq!(scene.positions(30..=35).await, [1, 2, 3, 4, 5, 6]);
    assert_eq!(scene.positions(9..=12).await, [7, 8, 9, 10]);
    assert_eq!(scene.positions(20..=25).await, [11, 12, 13, 14, 15, 16]);
    let view = scene.view().await;
    assert_eq!((view.waiting, view.ready, view.active), (16, 0, 4));
}

pub(crate) async fn a_check_in_parts_goes_on_where_it_stopped(scene: Scene) {
    differ(&scene).await;
    let manner = CheckConfig {
        entries_per_pass: 10,
        ..HASTY
    };
    let mut whole = CheckSummary::default();
    let (mut next, mut parts) = (Some(0), 0);
    while let Some(from) = next {
        let part = check_queue(&*scene.line, &*scene.backup, &scene.shelf, from, manner).await;
        let part = part.expect("checked");
        assert!(part.checked_line < 24, "not all of it at once: {part:?}");
        whole += part;
        next = part.next_shard;
        assert!(next.is_none_or(|next| next > from));
        parts += 1;
    }
    assert!(parts > 1);
    assert_eq!((whole.repaired_count(), whole.skipped), (18, 0), "{whole:?}");
    scene.agrees().await;
}

pub(crate) async fn a_write_that_is_under_way_is_no_difference(scene: Scene) {
    scene.enter_all(1..=3).await;
    let manner = CheckConfig {
        second_read_after: Duration::from_secs(3),
        ..HASTY
    };
    let change = scene.enter_without_backup(4).await;
    let slow_write = async {
        sleep(Duration::from_millis(500)).await;
        scene.write_through(&change).await;
    };
    let checking = check_queue(&*scene.line, &*scene.backup, &scene.shelf, 0, manner);
    let (checked, ()) = tokio::join!(checking, slow_write);
    let checked = checked.expect("checked");
    assert_eq!(checked.repaired_count(), 0, "{checked:?}");
    let record = scene.record(4).await.expect("a record");
    assert_eq!(record.version, change.version, "as its own function wrote it");
    scene.agrees().await;
}

pub(crate) async fn a_reset_queue_is_not_compared(scene: Scene) {
    scene.enter_all(1..=4).await;
    let another = EntryPartition {
        generation: 2,
        ..scene.shelf.clone()
    };
    let refused = check_queue(&*scene.line, &*scene.backup, &another, 0, HASTY).await;
    assert!(matches!(refused, Err(CheckError::Reset)), "{refused:?}");
    scene.agrees().await;
}

/// Goes through the whole queue as the routes have it, one after the other; nobody is told anything else than what comes.
async fn go_through(scene: &Scene, number: u64) {
    let (line, queue, id) = (&*scene.line, &scene.queue, visitor(number));
    let until = Instant::now() + BOUND;
    let (mut last, mut is_in) = (u64::MAX, false);
    match line.enter(queue, id).await.expect("entered") {
        EnterOutcome::Joined {
            kind: how,
            status: standing,
            change: Some(change),
        } => {
            let placed = persist_entry(line, &*scene.backup, &scene.shelf, how, standing, &change).await;
            assert!(placed.expect("an answer").expect("a place").durable);
        }
        other => panic!("{number}: {other:?}"),
    }
    while !is_in {
        assert!(Instant::now() < until, "{number} was forgotten");
        match line.status(queue, id).await.expect("a look") {
            EntryLookup::Found(vestibule_domain::entry_status::EntryStatus::Waiting { position, .. }) => {
                assert!(position <= last, "{number} moved back");
                last = position;
                sleep(Duration::from_millis(5)).await;
            }
            EntryLookup::Found(_) => is_in = true,
            EntryLookup::NotFound(missing) => panic!("{number} heard {missing:?}"),
        }
    }
    match line.claim(queue, id).await.expect("claimed") {
        ClaimOutcome::Active { change, .. } => scene.write_through(&change).await,
        other => panic!("{number}: {other:?}"),
    }
    match line
        .leave(queue, id, None, LeaveReason::Complete)
        .await
        .expect("done")
    {
        LeaveOutcome::Ended(change) => scene.write_through(&change).await,
        other => panic!("{number}: {other:?}"),
    }
}

pub(crate) async fn nobody_who_goes_through_the_queue_notices_checks(scene: Scene) {
    const VISITORS: u64 = 150;
    let settings = Settings {
        capacity: 10,
        batch: 500,
        interval_seconds: 1,
        ..Settings::default()
    };
    let wanted = Configuration {
        revision: "2".to_owned(),
        ..configuration(&settings)
    };
    scene
        .line
        .configure(&scene.queue, &wanted, false)
        .await
        .expect("configured");
    let over = Arc::new(AtomicBool::new(false));
    let (scene, checks) = (&scene, std::cell::Cell::new(0));
    let promoter = async {
        while !over.load(Ordering::SeqCst) {
            scene.promote().await;
            let until = Instant::now() + Duration::from_secs(10);
            let drained = flush_journal(&*scene.line, &*scene.backup, &scene.shelf, 100, until).await;
            drained.expect("drained");
            sleep(Duration::from_millis(10)).await;
        }
    };
    let checker = async || {
        while !over.load(Ordering::SeqCst) {
            scene.check().await;
            checks.set(checks.get() + 1);
        }
    };
    let visitors = async {
        let all = (1..=VISITORS).map(|number| go_through(scene, number));
        futures_util::future::join_all(all).await;
        over.store(true, Ordering::SeqCst);
    };
    tokio::join!(promoter, checker(), checker(), visitors);
    assert!(checks.get() > 1, "there were checks");
    scene.check().await;
    scene.agrees().await;
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
