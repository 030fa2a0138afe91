//! Any changes of one visitor, in any order.

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

/// A change of one visitor: any event of one of four visits, in any order, at any version.
fn any_change() -> impl Strategy<Value = (u8, usize, u32, u64)> {
    (0..12_u8, 0..4_usize, 0..2_u32, 0..12_u64)
}

/// What is answered, and what stands then where anything was written.
fn expected(
    shelf: &EntryPartition,
    standing: Option<&EntryRecord>,
    change: &Change,
    enters: bool,
) -> (PlacePutOutcome, Option<EntryRecord>) {
    let stands = standing.filter(|_| enters);
    if let Some(back) = stands.and_then(|record| record.restore_missed_place(change, shelf.grace_seconds)) {
        return (
            PlacePutOutcome::for_restored_place(back.clone(), change),
            Some(back),
        );
    }
    if let Some(taken) = stands.filter(|record| record.is_another_live_visit(change)) {
        return (PlacePutOutcome::Conflict(taken.clone()), None);
    }
    let after = EntryRecord::apply_change(standing, change, shelf.retain_hours);
    let passed_over = || PutOutcome::for_superseded(standing, change);
    let written = after.clone().map_or_else(passed_over, PutOutcome::Stored);
    (PlacePutOutcome::Put(written), after)
}

/// Any sequence of changes of one visitor, right or wrong, leaves what [`Record::after`] makes of it.
fn any_sequence_leaves_what_the_rules_make_of_it(runtime: &Runtime, backup: &dyn Backup, cases: u32) {
    // The last one comes when any grace of the others is over.
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
        // The last kinds are of somebody who enters.
        (change, kind >= 10)
    };
    let config = Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    };
    let sequences = prop::collection::vec(any_change(), 1..14);
    let tried = TestRunner::new(config).run(&sequences, |sequence| {
        // Another visitor each time, also while a failing sequence is made shorter.
        let (shelf, id) = (fresh_partition(), fresh_id());
        runtime.block_on(async {
            let mut standing = None;
            for (change, enters) in sequence.into_iter().map(|drawn| to_change(id, drawn)) {
                let (expected, after) = expected(&shelf, standing.as_ref(), &change, enters);
                let found = if enters {
                    backup.put_place(&shelf, &change).await
                } else {
                    backup.put_change(&shelf, &change).await.map(PlacePutOutcome::Put)
                };
                let found = found.map_err(|e| TestCaseError::fail(e.to_string()))?;
                prop_assert_eq!(found, expected, "on {:?}", change);
                standing = after.or(standing);
            }
            let read = backup
                .read_entry(&shelf, id)
                .await
                .map_err(|e| TestCaseError::fail(e.to_string()))?;
            prop_assert_eq!(read, standing);
            Ok(())
        })
    });
    tried.unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn any_sequence_on_file() {
    let directory = tempfile::tempdir().expect("a directory");
    let backup = FileBackup::open(directory.path().join("store")).expect("a store");
    any_sequence_leaves_what_the_rules_make_of_it(&Runtime::new().expect("a runtime"), &backup, 256);
}

#[test]
fn any_sequence_on_dynamodb() {
    let runtime = Runtime::new().expect("a runtime");
    let backup = runtime.block_on(servers::dynamodb_backup());
    any_sequence_leaves_what_the_rules_make_of_it(&runtime, &backup, 100);
}
