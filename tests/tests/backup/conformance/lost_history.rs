//! Changes of a line that lost some of its history.

use vestibule_backup::{Backup, PutOutcome};
use vestibule_backup_file::FileBackup;
use vestibule_domain::change::{EndReason, Event};
use vestibule_tests::{
    entries::{change, fresh_id, fresh_partition, now_ms, place},
    servers,
};

use super::put_change;

on_both_backups! {
    line_with_lost_history_undoes_no_change
}

/// Such a line continues from an old state. It uses later versions, and names visits that have ended or advanced.
async fn line_with_lost_history_undoes_no_change(backup: &dyn Backup) {
    let partition = fresh_partition();
    let (first, second) = (place(1), place(5_000));
    let (old, now) = (first.visit(), second.visit());
    assert_ne!(old, now);
    let deadline_ms = now_ms() + 60_000;
    let promoted = |score| Event::Promoted {
        score,
        claim_by_ms: deadline_ms,
    };
    let claimed = |visit| Event::Claimed {
        visit,
        session_end_ms: deadline_ms,
    };
    let ended = |visit| Event::Ended {
        visit,
        how: EndReason::Left,
    };
    let no_show = |visit| Event::Ended {
        visit,
        how: EndReason::NoShow,
    };
    let expired = |visit| Event::Ended {
        visit,
        how: EndReason::Expired,
    };
    let entered = |score| Event::Entered { score };
    // The earlier changes, the change with a later version, and whether the backup accepts that change.
    let cases = [
        (vec![entered(first), ended(old)], promoted(first), false),
        (vec![entered(first), ended(old)], claimed(old), false),
        (vec![entered(first), ended(old)], expired(old), false),
        (vec![entered(first), ended(old)], entered(second), true),
        // The place of the ended visit is given once more, also if the first time was never written.
        (vec![entered(first), ended(old)], entered(first), false),
        (
            vec![entered(first), promoted(first), claimed(old), ended(old)],
            entered(first),
            false,
        ),
        (vec![claimed(old), ended(old)], entered(first), false),
        (vec![claimed(old), ended(old)], entered(second), true),
        (vec![entered(first), promoted(first)], entered(first), false),
        (
            vec![entered(first), promoted(first), claimed(old)],
            entered(first),
            false,
        ),
        (
            vec![entered(first), promoted(first), claimed(old)],
            promoted(first),
            false,
        ),
        (
            vec![entered(first), promoted(first), claimed(old)],
            no_show(old),
            false,
        ),
        (
            vec![entered(first), promoted(first), claimed(old)],
            expired(old),
            false,
        ),
        (vec![entered(first), promoted(first)], no_show(old), false),
        // The claim was never written. A visitor who had a session gets no second turn.
        (vec![entered(first), promoted(first)], expired(old), true),
        (
            vec![entered(first), promoted(first), claimed(old)],
            ended(old),
            true,
        ),
        (vec![entered(second)], expired(old), false),
        (vec![entered(second)], claimed(old), false),
        (vec![entered(second)], promoted(first), false),
        (vec![entered(second)], entered(first), false),
        (vec![entered(first)], promoted(second), true),
        (vec![entered(first)], entered(second), true),
    ];
    let mut v = 0;
    for (before, event, is_accepted) in cases {
        // Use a new visitor in each case, because the place of an ended visit is not given again.
        let id = fresh_id();
        // End both visits first, so that the case starts from an ended record.
        for visit in [old, now] {
            v += 1;
            put_change(backup, &partition, &change(id, v, ended(visit))).await;
        }
        for event in &before {
            v += 1;
            put_change(backup, &partition, &change(id, v, *event)).await;
        }
        let before_record = backup.read_entry(&partition, id).await.expect("an answer");
        v += 1;
        let answer = put_change(backup, &partition, &change(id, v, event)).await;
        let after_record = backup.read_entry(&partition, id).await.expect("an answer");
        let case = format!("{before:?}, then {event:?}: {answer:?}");
        assert_eq!(matches!(answer, PutOutcome::Stored(_)), is_accepted, "{case}");
        assert_eq!(after_record != before_record, is_accepted, "{case}");
    }
}
