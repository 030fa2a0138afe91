use std::{
    cell::{Cell, RefCell},
    collections::HashSet,
};

use uuid::Builder;
use vestibule_domain::{
    change::{Event, Version},
    score::WaitScore,
};

use super::*;
use crate::Written;

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
            score: WaitScore::next(0, 1_788_220_800_000 + u64::from(n)),
        },
    };
    (0..count).map(change).collect()
}

fn in_seconds(seconds: u64) -> Instant {
    Instant::now() + Duration::from_secs(seconds)
}

fn throttled() -> Result<Written, BackupError> {
    Err(BackupError::Throttled("by a test".to_owned()))
}

#[tokio::test(start_paused = true)]
async fn what_is_throttled_is_written_in_the_end_and_asks_less_meanwhile() {
    let changes = changes(200);
    // The backup accepts ten writes a second.
    let started = Instant::now();
    let (taken, tries) = (Cell::new(0), Cell::new(0));
    let write = async |_| {
        tries.set(tries.get() + 1);
        sleep(Duration::from_millis(5)).await;
        if f64::from(taken.get()) > started.elapsed().as_secs_f64() * 10.0 {
            return throttled();
        }
        taken.set(taken.get() + 1);
        Ok(Written::Older)
    };
    let outcomes = each(&changes, in_seconds(60), write).await;
    assert!(outcomes.iter().all(Result::is_ok));
    assert_eq!(taken.get(), 200);
    assert!(
        tries.get() < 200 * 4,
        "a throttled writer backs off instead of retrying at once: {} tries",
        tries.get()
    );
}

#[tokio::test(start_paused = true)]
async fn what_there_is_no_time_for_is_told_from_what_is_refused() {
    let changes = changes(100);
    let write = async |change: &Change| match change.version.v {
        7 => Err(BackupError::Nonsense("by a test".to_owned())),
        n if n < 10 => Ok(Written::Older),
        _ => throttled(),
    };
    let started = Instant::now();
    let outcomes = each(&changes, in_seconds(10), write).await;
    assert!(started.elapsed() <= Duration::from_secs(11));
    for (nth, outcome) in outcomes.iter().enumerate() {
        match nth {
            7 => assert!(matches!(outcome, Err(BackupError::Nonsense(_)))),
            0..10 => assert!(outcome.is_ok(), "{nth}: {outcome:?}"),
            _ => assert!(matches!(outcome, Err(BackupError::Throttled(_))), "{outcome:?}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_backup_that_takes_nothing_is_not_asked_for_everything() {
    let changes = changes(200);
    let asked = RefCell::new(HashSet::new());
    let write = async |change: &Change| {
        asked.borrow_mut().insert(change.id);
        Err(BackupError::Unavailable("by a test".to_owned()))
    };
    let outcomes = each(&changes, in_seconds(10), write).await;
    assert!(outcomes.iter().all(Result::is_err));
    assert!(asked.borrow().len() <= 64, "{}", asked.borrow().len());
}

#[tokio::test(start_paused = true)]
async fn a_write_that_hangs_is_given_up() {
    let changes = changes(2);
    let write = async |change: &Change| {
        if change.version.v == 0 {
            sleep(Duration::from_hours(1)).await;
        }
        Ok(Written::Older)
    };
    let outcomes = each(&changes, in_seconds(5), write).await;
    assert!(matches!(&outcomes[0], Err(BackupError::Unavailable(_))));
    assert!(outcomes[1].is_ok());
}
