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
        source: None,
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

fn throttled() -> Result<Vec<PutOutcome>, BackupError> {
    Err(BackupError::Throttled("by a test".to_owned()))
}

#[tokio::test(start_paused = true)]
async fn throttled_writes_back_off_and_all_succeed_in_the_end() {
    let changes = changes(200);
    // The backup accepts ten writes a second.
    let started = Instant::now();
    let (taken, tries) = (Cell::new(0), Cell::new(0));
    let write = async |changes: Vec<Change>| {
        let change = &changes[0];
        tries.set(tries.get() + 1);
        sleep(Duration::from_millis(5)).await;
        if f64::from(taken.get()) > started.elapsed().as_secs_f64() * 10.0 {
            return throttled();
        }
        taken.set(taken.get() + 1);
        Ok(vec![stored(change)])
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
    let write = async |changes: Vec<Change>| match changes[0].version.v {
        7 => Err(BackupError::Unreadable("by a test".to_owned())),
        n if n < 10 => Ok(vec![stored(&changes[0])]),
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
    let write = async |changes: Vec<Change>| {
        let change = &changes[0];
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
    let write = async |changes: Vec<Change>| {
        let change = &changes[0];
        if change.version.v == 0 {
            sleep(Duration::from_hours(1)).await;
        }
        Ok(vec![stored(change)])
    };
    let outcomes = write_throttled(&changes, in_seconds(60), write).await;
    assert!(matches!(&outcomes[0], Err(BackupError::Unavailable(_))));
    assert!(outcomes[1].is_ok());
}

#[tokio::test(start_paused = true)]
async fn write_that_hangs_at_the_deadline_delays_no_outcome() {
    let changes = changes(3);
    let write = async |changes: Vec<Change>| {
        let change = &changes[0];
        if change.version.v == 1 {
            sleep(Duration::from_hours(1)).await;
        }
        Ok(vec![stored(change)])
    };
    let started = Instant::now();
    let until = started + Duration::from_millis(400);
    let outcomes = write_throttled(&changes, until, write).await;
    assert!(started.elapsed() <= Duration::from_millis(600));
    assert!(outcomes[0].is_ok() && outcomes[2].is_ok(), "{outcomes:?}");
    assert!(
        matches!(&outcomes[1], Err(BackupError::Throttled(_))),
        "the change is not at fault: {outcomes:?}"
    );
}

#[tokio::test]
async fn changes_of_one_entry_are_written_together_in_order() {
    let [first, second] = changes(2)[..] else {
        panic!("two changes");
    };
    let later = Change {
        version: Version { epoch: 1, v: 9 },
        ..first
    };
    let calls = RefCell::new(Vec::new());
    let write = async |changes: Vec<Change>| {
        let outcomes = changes.iter().map(stored).collect();
        calls.borrow_mut().push(changes);
        Ok(outcomes)
    };
    let outcomes = write_throttled(&[first, second, later], in_seconds(5), write).await;
    assert_eq!(calls.into_inner(), [vec![first, later], vec![second]]);
    let outcomes: Vec<_> = outcomes
        .into_iter()
        .map(|outcome| outcome.expect("written"))
        .collect();
    assert_eq!(outcomes, [stored(&first), stored(&second), stored(&later)]);
}
