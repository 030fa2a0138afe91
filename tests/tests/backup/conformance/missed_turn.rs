//! Visitors who missed their turn and return.

use vestibule_backup::{Backup, PlacePutOutcome, PutOutcome};
use vestibule_backup_file::FileBackup;
use vestibule_domain::{
    change::{Change, EndReason, Event},
    score::WaitScore,
    state::EntryState,
};
use vestibule_tests::servers;

use super::{missed_visit::MissedTurn, put_change};

on_both_backups! {
    return_within_the_grace_gives_the_old_place_once
    concurrent_returns_all_get_the_old_place
    old_place_needs_a_no_show_within_the_grace
    line_that_lost_the_return_cannot_end_it
}

async fn return_within_the_grace_gives_the_old_place_once(backup: &dyn Backup) {
    let missed = MissedTurn::new();
    missed.write_all(backup, &missed.first_visit()).await;
    let late = PlacePutOutcome::Put(PutOutcome::Superseded);
    assert_eq!(
        missed.put_place(backup, &missed.enter_again(2)).await,
        late,
        "the change is older than the end"
    );

    let conflict = missed.put_place(backup, &missed.enter_again(10)).await;
    let record = missed.read_record(backup).await;
    assert_eq!(
        conflict,
        PlacePutOutcome::Conflict(record.clone()),
        "the new place is not written"
    );
    assert_eq!(
        (record.state, record.score),
        (EntryState::Waiting, Some(missed.old))
    );
    assert_eq!(record.came_back_at_ms, Some(missed.missed_ms + 10_000));
    assert_eq!((record.ended_at_ms, record.expires_at_ms), (None, None));
    assert!(
        record.delete_at_ms > missed.missed_ms + 24 * 3_600_000,
        "the record is kept as long as any waiting entry"
    );
    // The process died before it told the line, so the visitor enters again.
    assert_eq!(
        missed.put_place(backup, &missed.enter_again(11)).await,
        PlacePutOutcome::Conflict(record.clone())
    );

    // The line has the old place now and writes it once more, directly or from the journal.
    for v in [12, 14] {
        let again = missed.change_at(v, missed.missed_ms + 11_000, Event::Entered { score: missed.old });
        let outcome = missed.put_place(backup, &again).await;
        assert!(
            matches!(outcome, PlacePutOutcome::Put(PutOutcome::Stored(_))),
            "{outcome:?}"
        );
        let mut again = again;
        again.version.v += 1;
        assert!(matches!(
            put_change(backup, &missed.partition, &again).await,
            PutOutcome::Stored(_)
        ));
        let now = missed.read_record(backup).await;
        assert_eq!(
            now.came_back_at_ms, record.came_back_at_ms,
            "the record still shows the time of the return"
        );
    }
    // The visitor is promoted and misses the turn again.
    let promoted_ms = missed.missed_ms + 20_000;
    let again = [
        missed.promotion(20, promoted_ms),
        missed.end(21, promoted_ms + 60_000, EndReason::NoShow),
    ];
    missed.write_all(backup, &again).await;
    let ended = missed.read_record(backup).await;
    assert_eq!(
        (ended.state, ended.came_back_at_ms),
        (EntryState::Expired, record.came_back_at_ms)
    );
    let new = missed.put_place(backup, &missed.enter_again(30)).await;
    let record = missed.read_record(backup).await;
    assert_eq!(new, PlacePutOutcome::Put(PutOutcome::Stored(record.clone())));
    assert_eq!(
        (record.score, record.came_back_at_ms),
        (Some(missed.new), None),
        "the second return is a new visit"
    );
}

async fn concurrent_returns_all_get_the_old_place(backup: &dyn Backup) {
    let missed = MissedTurn::new();
    missed.write_all(backup, &missed.first_visit()).await;
    let changes: Vec<_> = (10..20).map(|v| missed.enter_again(v)).collect();
    let all = changes.iter().map(|change| missed.put_place(backup, change));
    let answers = futures_util::future::join_all(all).await;
    let record = missed.read_record(backup).await;
    assert_eq!(
        (record.state, record.score),
        (EntryState::Waiting, Some(missed.old))
    );
    for answer in answers {
        assert_eq!(answer, PlacePutOutcome::Conflict(record.clone()));
    }
}

async fn old_place_needs_a_no_show_within_the_grace(backup: &dyn Backup) {
    let unchanged = |_: &mut MissedTurn| {};
    let too_late = |missed: &mut MissedTurn| missed.new = WaitScore::next(0, missed.missed_ms + 600_001);
    let just_in_time = |missed: &mut MissedTurn| missed.new = WaitScore::next(0, missed.missed_ms + 600_000);
    let no_grace = |missed: &mut MissedTurn| missed.partition.grace_seconds = 0;
    let longer_grace = |missed: &mut MissedTurn| {
        missed.new = WaitScore::next(0, missed.missed_ms + 3_000_000);
        missed.partition.grace_seconds = 3_600;
    };
    let ends = |how| {
        move |missed: &MissedTurn| {
            vec![
                missed.promotion(2, missed.missed_ms - 60_000),
                missed.end(4, missed.missed_ms, how),
            ]
        }
    };
    let no_show = ends(EndReason::NoShow);
    let session = |missed: &MissedTurn| {
        let (visit, session_end_ms) = (missed.old.visit(), missed.missed_ms);
        let claimed = Event::Claimed {
            visit,
            session_end_ms,
        };
        let claimed = missed.change_at(3, missed.missed_ms - 30_000, claimed);
        let mut all = ends(EndReason::Expired)(missed);
        all.insert(1, claimed);
        all
    };
    // The session ran out, and its claim was never written.
    let unwritten_session = ends(EndReason::Expired);
    // The end of the first visit, a change of the scene, and whether the visitor gets the old place.
    let cases: [(&str, &EndingChanges<'_>, &Adjustment<'_>, bool); 9] = [
        ("a no-show", &no_show, &unchanged, true),
        ("at the last moment", &no_show, &just_in_time, true),
        ("a longer grace", &no_show, &longer_grace, true),
        ("too late", &no_show, &too_late, false),
        ("no grace", &no_show, &no_grace, false),
        ("a session ran out", &session, &unchanged, false),
        (
            "an unwritten session ran out",
            &unwritten_session,
            &unchanged,
            false,
        ),
        ("the visitor left", &ends(EndReason::Left), &unchanged, false),
        ("completed", &ends(EndReason::Completed), &unchanged, false),
    ];
    for (case, ending, adjust, gets_old) in cases {
        let mut missed = MissedTurn::new();
        adjust(&mut missed);
        missed.write_all(backup, &missed.first_visit()[..1]).await;
        missed.write_all(backup, &ending(&missed)).await;
        let outcome = missed.put_place(backup, &missed.enter_again(10)).await;
        let record = missed.read_record(backup).await;
        let expected = if gets_old { missed.old } else { missed.new };
        assert_eq!(
            (record.state, record.score),
            (EntryState::Waiting, Some(expected)),
            "{case}: {outcome:?}"
        );
        assert_eq!(
            matches!(outcome, PlacePutOutcome::Conflict(_)),
            gets_old,
            "{case}: {outcome:?}"
        );
    }
    // A visitor on the fast track does not need the old place.
    let missed = MissedTurn::new();
    missed.write_all(backup, &missed.first_visit()).await;
    let (score, session_end_ms) = (missed.new, missed.missed_ms + 90_000);
    let let_in = missed.change_at(
        10,
        missed.missed_ms + 10_000,
        Event::FastTracked {
            score,
            session_end_ms,
        },
    );
    let outcome = missed.put_place(backup, &let_in).await;
    assert!(
        matches!(outcome, PlacePutOutcome::Put(PutOutcome::Stored(_))),
        "{outcome:?}"
    );
    assert_eq!(missed.read_record(backup).await.state, EntryState::Active);
}

/// The changes that end the first visit.
type EndingChanges<'a> = dyn Fn(&MissedTurn) -> Vec<Change> + Sync + 'a;
/// Changes the visitor's return or the grace.
type Adjustment<'a> = dyn Fn(&mut MissedTurn) + Sync + 'a;

/// Such a line promotes the visitor, and the time to claim runs out once more.
async fn line_that_lost_the_return_cannot_end_it(backup: &dyn Backup) {
    let missed = MissedTurn::new();
    let mut at_ms = missed.missed_ms + 20_000;
    missed.write_all(backup, &missed.first_visit()).await;
    missed.put_place(backup, &missed.enter_again(10)).await;
    let record = missed.read_record(backup).await;
    let lost = missed.end(20, at_ms, EndReason::NoShow);
    assert_eq!(
        put_change(backup, &missed.partition, &lost).await,
        PutOutcome::Conflicting
    );
    assert_eq!(
        missed.read_record(backup).await,
        record,
        "the visitor still waits"
    );
    missed.write_all(backup, &[missed.promotion(21, at_ms)]).await;
    let promoted_record = missed.read_record(backup).await;
    assert_eq!(
        (promoted_record.state, promoted_record.expires_at_ms),
        (EntryState::Ready, Some(at_ms + 60_000))
    );
    at_ms += 59_999;
    let lost = missed.end(22, at_ms, EndReason::NoShow);
    assert_eq!(
        put_change(backup, &missed.partition, &lost).await,
        PutOutcome::Conflicting
    );
    assert_eq!(
        missed.read_record(backup).await,
        promoted_record,
        "the visitor still has time to claim"
    );
    // A change that the visitor makes counts on any line.
    let left = missed.end(23, at_ms, EndReason::Left);
    assert!(matches!(
        put_change(backup, &missed.partition, &left).await,
        PutOutcome::Stored(_)
    ));
    assert_eq!(missed.read_record(backup).await.state, EntryState::Left);
}
