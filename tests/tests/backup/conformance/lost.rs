//! What a line that lost some of its history does since.

use vestibule_backup::{Backup, PutOutcome};
use vestibule_backup_file::FileBackup;
use vestibule_domain::change::{EndReason, Event};
use vestibule_tests::{
    entries::{change, fresh_id, fresh_partition, now_ms, place},
    servers,
};

use super::written;

on_both! {
    a_line_that_lost_what_it_did_undoes_nothing
}

/// Such a line goes on from where it was: with later versions, and with visits that are over or further along.
async fn a_line_that_lost_what_it_did_undoes_nothing(backup: &dyn Backup) {
    let shelf = fresh_partition();
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
    // What stands, what comes with a later version, and whether it counts.
    let cases = [
        (vec![entered(first), ended(old)], promoted(first), false),
        (vec![entered(first), ended(old)], claimed(old), false),
        (vec![entered(first), ended(old)], expired(old), false),
        (vec![entered(first), ended(old)], entered(second), true),
        // The very place that is over, given once more; also where nobody wrote that it had been given.
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
        // Of a claim that nobody wrote: who had a session has no second turn.
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
    for (before, event, counts) in cases {
        // A place that was given once and is over is not given again: somebody else each time.
        let id = fresh_id();
        // Over, whatever stands there.
        for visit in [old, now] {
            v += 1;
            written(backup, &shelf, &change(id, v, ended(visit))).await;
        }
        for event in &before {
            v += 1;
            written(backup, &shelf, &change(id, v, *event)).await;
        }
        let stood = backup.read_entry(&shelf, id).await.expect("an answer");
        v += 1;
        let answer = written(backup, &shelf, &change(id, v, event)).await;
        let stands = backup.read_entry(&shelf, id).await.expect("an answer");
        let case = format!("{before:?}, then {event:?}: {answer:?}");
        assert_eq!(matches!(answer, PutOutcome::Stored(_)), counts, "{case}");
        assert_eq!(stands != stood, counts, "{case}");
    }
}
