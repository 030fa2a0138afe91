//! Random changes of one visitor, in any order. Each write does what the domain decides.

use proptest::{
    prelude::*,
    test_runner::{Config, TestCaseError, TestRunner},
};
use tokio::runtime::Runtime;
use vestibule_backup::Backup;
use vestibule_backup_file::FileBackup;
use vestibule_domain::{
    change::{Change, EndReason, Event, Version},
    fact::{Fact, Turn},
    id::EntryId,
    lane::Lane,
    record::EntryRecord,
    score::WaitScore,
};
use vestibule_tests::{
    entries::{fresh_id, fresh_partition},
    servers,
};

use super::{decided_outcome, hour_ago_ms, no_show};

/// When the visits begin, in milliseconds after the first. The last is within the grace of only some missed turns.
const ENTERED_MS: [u64; 4] = [0, 1, 1_000, 650_000];
/// The deadlines, in milliseconds after the beginning of the first visit.
const DEADLINES_MS: [u64; 3] = [30_000, 60_000, 660_000];
const KIND_COUNT: u8 = 15;

/// A change, before the times and the entry of its test are known.
#[derive(Debug, Clone, Copy)]
struct DrawnChange {
    kind: u8,
    nth_visit: usize,
    nth_deadline: usize,
    has_second_turn: bool,
    after: Option<usize>,
    epoch: u32,
    v: u64,
}

fn any_change() -> impl Strategy<Value = DrawnChange> {
    let after = prop::option::weighted(0.3, 0..ENTERED_MS.len());
    let event = (
        0..KIND_COUNT,
        0..ENTERED_MS.len(),
        0..DEADLINES_MS.len(),
        any::<bool>(),
        after,
    );
    (event, 1..3_u32, 0..12_u64).prop_map(
        |((kind, nth_visit, nth_deadline, has_second_turn, after), epoch, v)| DrawnChange {
            kind,
            nth_visit,
            nth_deadline,
            has_second_turn,
            after,
            epoch,
            v,
        },
    )
}

impl DrawnChange {
    fn to_change(self, id: EntryId, began_ms: u64) -> Change {
        let place_of = |nth: usize| WaitScore::next(0, began_ms + ENTERED_MS[nth]);
        let place = place_of(self.nth_visit);
        let (visit, until_ms) = (place.visit(), began_ms + DEADLINES_MS[self.nth_deadline]);
        let after = self.after.map(|nth| place_of(nth).visit());
        let turn = if self.has_second_turn {
            Turn::Second
        } else {
            Turn::First
        };
        let ended = |fact, how| Event::Ended { fact, how };
        let event = match self.kind {
            0 => Event::Entered { place, after },
            1 => Event::FastTracked {
                place,
                session_end_ms: until_ms,
                after,
                claimed_at_ms: self.has_second_turn.then_some(began_ms),
            },
            2 => Event::CameBack { place },
            3 | 4 => Event::Promoted {
                place,
                turn,
                claim_by_ms: until_ms,
            },
            5 => Event::StillReady {
                visit,
                turn,
                claim_by_ms: until_ms,
            },
            6 => Event::Claimed {
                visit,
                session_end_ms: until_ms,
            },
            7 => Event::Extended {
                visit,
                session_end_ms: until_ms,
            },
            8 | 9 => no_show(Fact::ready(visit, turn, until_ms)),
            10 => ended(Fact::active(visit, until_ms).timed_out(), EndReason::Expired),
            11 => ended(Fact::ended(visit), EndReason::Completed),
            12 => ended(Fact::held(visit, until_ms), EndReason::Left),
            13 => Event::LaneMoved {
                place: place.in_lane(Lane::LAST),
                turn,
                moved_at_ms: until_ms,
            },
            _ => ended(Fact::ended(visit), EndReason::Evicted),
        };
        Change {
            id,
            version: Version {
                epoch: self.epoch,
                v: self.v,
            },
            at_ms: began_ms + self.v,
            event,
            source: None,
        }
    }
}

/// Writes the first change alone and the others together. The record is the same as after one write for each.
async fn check_joint_write(
    backup: &dyn Backup,
    changes: &[Change],
    expected: Option<EntryRecord>,
) -> Result<(), TestCaseError> {
    let (partition, id) = (fresh_partition(), changes[0].id);
    let fail = |error: vestibule_backup::BackupError| TestCaseError::fail(error.to_string());
    for part in [&changes[..1], &changes[1..]] {
        let outcomes = backup.put_entry_changes(&partition, part).await.map_err(fail)?;
        prop_assert_eq!(outcomes.len(), part.len());
    }
    let read = backup.read_entry(&partition, id).await.map_err(fail)?;
    prop_assert_eq!(read, expected, "written together: {:?}", changes);
    Ok(())
}

fn check_any_sequence(runtime: &Runtime, backup: &dyn Backup, cases: u32) {
    let began_ms = hour_ago_ms();
    let config = Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    };
    // Many sequences are a pair: a record of one change, and a second change.
    let sequences = prop_oneof![
        prop::collection::vec(any_change(), 2),
        prop::collection::vec(any_change(), 3..10)
    ];
    let result = TestRunner::new(config).run(&sequences, |sequence| {
        // Use a new visitor each time, also while proptest shrinks a failing sequence.
        let (partition, id) = (fresh_partition(), fresh_id());
        let fail = |error: vestibule_backup::BackupError| TestCaseError::fail(error.to_string());
        let drawn = sequence.into_iter();
        let changes: Vec<_> = drawn.map(|drawn| drawn.to_change(id, began_ms)).collect();
        runtime.block_on(async {
            let mut before = None;
            for change in &changes {
                let expected = decided_outcome(before.as_ref(), change, partition.put_rules());
                let outcome = backup.put_change(&partition, change).await.map_err(fail)?;
                prop_assert_eq!(&outcome, &expected, "on {:?}", change);
                before = Some(outcome.record().clone());
            }
            let read = backup.read_entry(&partition, id).await.map_err(fail)?;
            prop_assert_eq!(&read, &before);
            check_joint_write(backup, &changes, before).await
        })
    });
    result.unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn any_change_sequence_is_written_as_decided_on_file() {
    let directory = tempfile::tempdir().expect("a directory");
    let backup = FileBackup::open(directory.path().join("store")).expect("a store");
    check_any_sequence(&Runtime::new().expect("a runtime"), &backup, 400);
}

#[test]
fn any_change_sequence_is_written_as_decided_on_dynamodb() {
    let runtime = Runtime::new().expect("a runtime");
    let backup = runtime.block_on(servers::dynamodb_backup());
    check_any_sequence(&runtime, &backup, 400);
}
