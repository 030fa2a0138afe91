use std::{
    cell::{Cell, RefCell},
    collections::HashSet,
};

use uuid::Builder;
use vestibule_domain::{
    change::{Event, Version},
    record::{EntryRecord, PutRules},
    score::WaitScore,
};

use super::*;
use crate::PutOutcome;

fn changes(count: u8) -> Vec<Change> {
    let change = |n| Change {
        id: Builder::from_custom_bytes([n; 16])
            .into_uuid()
            .to_string()
            .parse()
            .expect("a UUID of version 8"),
        version: Version {
            epoch: 1,
            v: n.into(),
        },
        at_ms: 1,
        event: Event::Entered {
            place: WaitScore::next(0, 1_788_220_800_000 + u64::from(n)),
            after: None,
        },
    };
    (0..count).map(change).collect()
}

fn in_seconds(seconds: u64) -> Instant {
    Instant::now() + Duration::from_secs(seconds)
}

fn stored(change: &Change) -> PutOutcome {
    let rules = PutRules {
        grace_seconds: 600,
        retain_hours: 24,
    };
    PutOutcome::Stored(EntryRecord::of_change(change, rules))
}

fn throttled() -> Result<PutOutcome, BackupError> {
    Err(BackupError::Throttled("by a test".to_owned()))
}

#[tokio::test(start_paused = true)]
async fn throttled_writes_back_off_and_all_succeed_in_the_end() {
    let changes = changes(200);
    // The backup accepts ten writes a second.
    let started = Instant::now();
    let (taken, tries) = (Cell::new(0), Cell::new(0));
    let write = async |change: &Change| {
        tries.set(tries.get() + 1);
        sleep(Duration::from_millis(5)).await;
        if f64::from(taken.get()) > started.elapsed().as_secs_f64() * 10.0 {
            return throttled();
        }
        taken.set(taken.get() + 1);
        Ok(stored(change))
    };
    let outcomes = write_throttled(&changes, in_seconds(60), write).await;
    assert!(outcomes.iter().all(Result::is_ok));
    assert_eq!(taken.get(), 200);
    assert!(
        tries.get() < 200 * 4,
        "a throttled writer backs off instead of retrying at once: {} tries",
        tries.get()
    );
}

#[tokio::test(start_paused = true)]
async fn at_the_deadline_unbegun_writes_differ_from_refused_ones() {
    let changes = changes(100);
    let write = async |change: &Change| match change.version.v {
        7 => Err(BackupError::Unreadable("by a test".to_owned())),
        n if n < 10 => Ok(stored(change)),
        _ => throttled(),
    };
    let started = Instant::now();
    let outcomes = write_throttled(&changes, in_seconds(10), write).await;
    assert!(started.elapsed() <= Duration::from_secs(11));
    for (nth, outcome) in outcomes.iter().enumerate() {
        match nth {
            7 => assert!(matches!(outcome, Err(BackupError::Unreadable(_)))),
            0..10 => assert!(outcome.is_ok(), "{nth}: {outcome:?}"),
            _ => assert!(matches!(outcome, Err(BackupError::Throttled(_))), "{outcome:?}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn backup_that_is_unavailable_gets_only_the_first_writes() {
    let changes = changes(200);
    let asked = RefCell::new(HashSet::new());
    let write = async |change: &Change| {
        asked.borrow_mut().insert(change.id);
        Err(BackupError::Unavailable("by a test".to_owned()))
    };
    let outcomes = write_throttled(&changes, in_seconds(10), write).await;
    assert!(outcomes.iter().all(Result::is_err));
    assert!(asked.borrow().len() <= 64, "{}", asked.borrow().len());
}

#[tokio::test(start_paused = true)]
async fn write_that_hangs_times_out_and_others_succeed() {
    let changes = changes(2);
    let write = async |change: &Change| {
        if change.version.v == 0 {
            sleep(Duration::from_hours(1)).await;
        }
        Ok(stored(change))
    };
    let outcomes = write_throttled(&changes, in_seconds(5), write).await;
    assert!(matches!(&outcomes[0], Err(BackupError::Unavailable(_))));
    assert!(outcomes[1].is_ok());
}
