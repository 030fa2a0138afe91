//! Random changes of one visitor, in any order.

use proptest::{
    prelude::*,
    test_runner::{Config, TestCaseError, TestRunner},
};
use tokio::runtime::Runtime;
use vestibule_backup::{Backup, EntryPartition, PlacePutOutcome, PutOutcome};
use vestibule_backup_file::FileBackup;
use vestibule_domain::{
    change::{Change, EndReason, Event, Version},
    record::EntryRecord,
};
use vestibule_tests::{
    entries::{fresh_id, fresh_partition, now_ms, place},
    servers,
};

/// The kind of an event, one of four visits, an epoch and a version.
fn any_change() -> impl Strategy<Value = (u8, usize, u32, u64)> {
    (0..12_u8, 0..4_usize, 0..2_u32, 0..12_u64)
}

/// The expected answer, and the record after the change if the change is written.
fn expected(
    partition: &EntryPartition,
    before: Option<&EntryRecord>,
    change: &Change,
    enters: bool,
) -> (PlacePutOutcome, Option<EntryRecord>) {
    let live = before.filter(|_| enters);
    if let Some(restored) =
        live.and_then(|record| record.restore_missed_place(change, partition.grace_seconds))
    {
        return (
            PlacePutOutcome::for_restored_place(restored.clone(), change),
            Some(restored),
        );
    }
    if let Some(conflicting) = live.filter(|record| record.is_another_live_visit(change)) {
        return (PlacePutOutcome::Conflict(conflicting.clone()), None);
    }
    let after = EntryRecord::apply_change(before, change, partition.retain_hours);
    let superseded = || PutOutcome::for_superseded(before, change);
    let written = after.clone().map_or_else(superseded, PutOutcome::Stored);
    (PlacePutOutcome::Put(written), after)
}

/// Checks that any sequence of changes, valid or not, leaves the record that [`EntryRecord::apply_change`] computes.
fn check_any_sequence(runtime: &Runtime, backup: &dyn Backup, cases: u32) {
    // The last place is later than the grace of the others.
    let scores = [0, 1, 2, 700_000].map(place);
    let now_ms = now_ms();
    let to_change = |id, (kind, nth, epoch, v): (u8, usize, u32, u64)| {
        let score: vestibule_domain::score::WaitScore = scores[nth];
        let (visit, until_ms) = (score.visit(), now_ms + 7 * v % 12);
        let event = match kind {
            0 | 10.. => Event::Entered { score },
            1 => Event::FastTracked {
                score,
                session_end_ms: until_ms,
            },
            2 => Event::Promoted {
                score,
                claim_by_ms: until_ms,
            },
            3 => Event::Claimed {
                visit,
                session_end_ms: until_ms,
            },
            4 => Event::Extended {
                visit,
                session_end_ms: until_ms,
            },
            5 => Event::Ended {
                visit,
                how: EndReason::Completed,
            },
            6 => Event::Ended {
                visit,
                how: EndReason::Left,
            },
            7 => Event::Ended {
                visit,
                how: EndReason::Expired,
            },
            8 => Event::Ended {
                visit,
                how: EndReason::NoShow,
            },
            9 => Event::StillReady {
                visit,
                claim_by_ms: until_ms,
            },
        };
        let change = Change {
            id,
            version: Version { epoch, v },
            at_ms: now_ms + v,
            event,
        };
        // The last kinds are writes of a visitor who enters.
        (change, kind >= 10)
    };
    let config = Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    };
    let sequences = prop::collection::vec(any_change(), 1..14);
    let result = TestRunner::new(config).run(&sequences, |sequence| {
        // Use a new visitor each time, also while proptest shrinks a failing sequence.
        let (partition, id) = (fresh_partition(), fresh_id());
        runtime.block_on(async {
            let mut before = None;
            for (change, enters) in sequence.into_iter().map(|drawn| to_change(id, drawn)) {
                let (expected, after) = expected(&partition, before.as_ref(), &change, enters);
                let answer = if enters {
                    backup.put_place(&partition, &change).await
                } else {
                    backup
                        .put_change(&partition, &change)
                        .await
                        .map(PlacePutOutcome::Put)
                };
                let answer = answer.map_err(|e| TestCaseError::fail(e.to_string()))?;
                prop_assert_eq!(answer, expected, "on {:?}", change);
                before = after.or(before);
            }
            let read = backup
                .read_entry(&partition, id)
                .await
                .map_err(|e| TestCaseError::fail(e.to_string()))?;
            prop_assert_eq!(read, before);
            Ok(())
        })
    });
    result.unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn any_change_sequence_follows_the_rules_on_file() {
    let directory = tempfile::tempdir().expect("a directory");
    let backup = FileBackup::open(directory.path().join("store")).expect("a store");
    check_any_sequence(&Runtime::new().expect("a runtime"), &backup, 256);
}

#[test]
fn any_change_sequence_follows_the_rules_on_dynamodb() {
    let runtime = Runtime::new().expect("a runtime");
    let backup = runtime.block_on(servers::dynamodb_backup());
    check_any_sequence(&runtime, &backup, 100);
}
