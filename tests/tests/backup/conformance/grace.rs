//! Those who missed their turn and come back.

use vestibule_backup::{Backup, EntryPartition, PlacePutOutcome, PutOutcome};
use vestibule_backup_file::FileBackup;
use vestibule_domain::{
    change::{Change, EndReason, Event},
    id::EntryId,
    record::EntryRecord,
    score::WaitScore,
    state::EntryState,
};
use vestibule_tests::{
    entries::{change, fresh_id, fresh_partition, now_ms},
    servers,
};

use super::written;

on_both! {
    whoever_is_back_in_time_stands_at_the_old_place_once
    of_many_who_write_the_same_visitors_place_all_see_the_old_one
    whoever_did_not_miss_a_turn_or_is_too_late_stands_where_the_line_says
    a_line_that_lost_the_come_back_ends_nothing_of_it
}

/// The old place of a visitor, and the one that they are given when they come back.
struct Missed {
    shelf: EntryPartition,
    id: EntryId,
    old: WaitScore,
    new: WaitScore,
    late_ms: u64,
}

impl Missed {
    /// Somebody came, was called a second later and did not claim for a minute, all long ago. They are back ten seconds later.
    fn new() -> Self {
        let came_ms = now_ms() - 3_600_000;
        let late_ms = came_ms + 61_000;
        Self {
            shelf: fresh_partition(),
            id: fresh_id(),
            old: WaitScore::next(0, came_ms),
            new: WaitScore::next(0, late_ms + 10_000),
            late_ms,
        }
    }

    fn at(&self, v: u64, at_ms: u64, event: Event) -> Change {
        Change {
            at_ms,
            ..change(self.id, v, event)
        }
    }

    fn promoted(&self, v: u64, at_ms: u64) -> Change {
        let (score, claim_by_ms) = (self.old, at_ms + 60_000);
        self.at(v, at_ms, Event::Promoted { score, claim_by_ms })
    }

    fn ended(&self, v: u64, at_ms: u64, how: EndReason) -> Change {
        let visit = self.old.visit();
        self.at(v, at_ms, Event::Ended { visit, how })
    }

    /// What the line makes of the visitor's entering.
    fn back(&self, v: u64) -> Change {
        self.at(v, self.late_ms + 10_000, Event::Entered { score: self.new })
    }

    /// Versions 1 to 3.
    fn missed(&self) -> [Change; 3] {
        [
            self.at(1, self.late_ms - 61_000, Event::Entered { score: self.old }),
            self.promoted(2, self.late_ms - 60_000),
            self.ended(3, self.late_ms, EndReason::NoShow),
        ]
    }

    async fn write_all(&self, backup: &dyn Backup, changes: &[Change]) {
        for change in changes {
            written(backup, &self.shelf, change).await;
        }
    }

    async fn stands(&self, backup: &dyn Backup) -> EntryRecord {
        let stands = backup.read_entry(&self.shelf, self.id).await.expect("an answer");
        stands.expect("a record")
    }

    async fn place(&self, backup: &dyn Backup, change: &Change) -> PlacePutOutcome {
        backup.put_place(&self.shelf, change).await.expect("an answer")
    }
}

async fn whoever_is_back_in_time_stands_at_the_old_place_once(backup: &dyn Backup) {
    let missed = Missed::new();
    missed.write_all(backup, &missed.missed()).await;
    let late = PlacePutOutcome::Put(PutOutcome::Superseded);
    assert_eq!(
        missed.place(backup, &missed.back(2)).await,
        late,
        "from before the end"
    );

    let taken = missed.place(backup, &missed.back(10)).await;
    let stands = missed.stands(backup).await;
    assert_eq!(
        taken,
        PlacePutOutcome::Conflict(stands.clone()),
        "the new place is not written"
    );
    assert_eq!(
        (stands.state, stands.score),
        (EntryState::Waiting, Some(missed.old))
    );
    assert_eq!(stands.came_back_at_ms, Some(missed.late_ms + 10_000));
    assert_eq!((stands.ended_at_ms, stands.expires_at_ms), (None, None));
    assert!(
        stands.delete_at_ms > missed.late_ms + 24 * 3_600_000,
        "it is kept as any that waits"
    );
    // The process died before the line heard of it: they enter again.
    assert_eq!(
        missed.place(backup, &missed.back(11)).await,
        PlacePutOutcome::Conflict(stands.clone())
    );

    // The line has the old place now, and says it once more, as a place or by the journal.
    for v in [12, 14] {
        let again = missed.at(v, missed.late_ms + 11_000, Event::Entered { score: missed.old });
        let placed = missed.place(backup, &again).await;
        assert!(
            matches!(placed, PlacePutOutcome::Put(PutOutcome::Stored(_))),
            "{placed:?}"
        );
        let mut again = again;
        again.version.v += 1;
        assert!(matches!(
            written(backup, &missed.shelf, &again).await,
            PutOutcome::Stored(_)
        ));
        let now = missed.stands(backup).await;
        assert_eq!(
            now.came_back_at_ms, stands.came_back_at_ms,
            "and it is still known that they came back"
        );
    }
    // The turn comes, and is missed again.
    let called_ms = missed.late_ms + 20_000;
    let again = [
        missed.promoted(20, called_ms),
        missed.ended(21, called_ms + 60_000, EndReason::NoShow),
    ];
    missed.write_all(backup, &again).await;
    let over = missed.stands(backup).await;
    assert_eq!(
        (over.state, over.came_back_at_ms),
        (EntryState::Expired, stands.came_back_at_ms)
    );
    let new = missed.place(backup, &missed.back(30)).await;
    let stands = missed.stands(backup).await;
    assert_eq!(new, PlacePutOutcome::Put(PutOutcome::Stored(stands.clone())));
    assert_eq!(
        (stands.score, stands.came_back_at_ms),
        (Some(missed.new), None),
        "a visit of its own"
    );
}

async fn of_many_who_write_the_same_visitors_place_all_see_the_old_one(backup: &dyn Backup) {
    let missed = Missed::new();
    missed.write_all(backup, &missed.missed()).await;
    let changes: Vec<_> = (10..20).map(|v| missed.back(v)).collect();
    let all = changes.iter().map(|change| missed.place(backup, change));
    let answers = futures_util::future::join_all(all).await;
    let stands = missed.stands(backup).await;
    assert_eq!(
        (stands.state, stands.score),
        (EntryState::Waiting, Some(missed.old))
    );
    for answer in answers {
        assert_eq!(answer, PlacePutOutcome::Conflict(stands.clone()));
    }
}

async fn whoever_did_not_miss_a_turn_or_is_too_late_stands_where_the_line_says(backup: &dyn Backup) {
    let as_usual = |_: &mut Missed| {};
    let too_late = |missed: &mut Missed| missed.new = WaitScore::next(0, missed.late_ms + 600_001);
    let just_in_time = |missed: &mut Missed| missed.new = WaitScore::next(0, missed.late_ms + 600_000);
    let no_grace = |missed: &mut Missed| missed.shelf.grace_seconds = 0;
    let longer = |missed: &mut Missed| {
        missed.new = WaitScore::next(0, missed.late_ms + 3_000_000);
        missed.shelf.grace_seconds = 3_600;
    };
    let ends = |how| {
        move |missed: &Missed| {
            vec![
                missed.promoted(2, missed.late_ms - 60_000),
                missed.ended(4, missed.late_ms, how),
            ]
        }
    };
    let no_show = ends(EndReason::NoShow);
    let session = |missed: &Missed| {
        let (visit, session_end_ms) = (missed.old.visit(), missed.late_ms);
        let claimed = Event::Claimed {
            visit,
            session_end_ms,
        };
        let claimed = missed.at(3, missed.late_ms - 30_000, claimed);
        let mut all = ends(EndReason::Expired)(missed);
        all.insert(1, claimed);
        all
    };
    // It ran out, and nobody had written that it was begun.
    let unwritten_session = ends(EndReason::Expired);
    // How they stood, what the grace is, and whether they have the old place.
    let cases: [(&str, &How<'_>, &With<'_>, bool); 9] = [
        ("a no-show", &no_show, &as_usual, true),
        ("at the last moment", &no_show, &just_in_time, true),
        ("a longer grace", &no_show, &longer, true),
        ("too late", &no_show, &too_late, false),
        ("no grace", &no_show, &no_grace, false),
        ("a session ran out", &session, &as_usual, false),
        (
            "an unwritten session ran out",
            &unwritten_session,
            &as_usual,
            false,
        ),
        ("they left", &ends(EndReason::Left), &as_usual, false),
        ("completed", &ends(EndReason::Completed), &as_usual, false),
    ];
    for (case, how, with, has_old) in cases {
        let mut missed = Missed::new();
        with(&mut missed);
        missed.write_all(backup, &missed.missed()[..1]).await;
        missed.write_all(backup, &how(&missed)).await;
        let placed = missed.place(backup, &missed.back(10)).await;
        let stands = missed.stands(backup).await;
        let expected = if has_old { missed.old } else { missed.new };
        assert_eq!(
            (stands.state, stands.score),
            (EntryState::Waiting, Some(expected)),
            "{case}: {placed:?}"
        );
        assert_eq!(
            matches!(placed, PlacePutOutcome::Conflict(_)),
            has_old,
            "{case}: {placed:?}"
        );
    }
    // Whoever is let in at once has no need of an old place.
    let missed = Missed::new();
    missed.write_all(backup, &missed.missed()).await;
    let (score, session_end_ms) = (missed.new, missed.late_ms + 90_000);
    let let_in = missed.at(
        10,
        missed.late_ms + 10_000,
        Event::FastTracked {
            score,
            session_end_ms,
        },
    );
    let placed = missed.place(backup, &let_in).await;
    assert!(
        matches!(placed, PlacePutOutcome::Put(PutOutcome::Stored(_))),
        "{placed:?}"
    );
    assert_eq!(missed.stands(backup).await.state, EntryState::Active);
}

/// How somebody stood before they came back.
type How<'a> = dyn Fn(&Missed) -> Vec<Change> + Sync + 'a;
/// What else was so.
type With<'a> = dyn Fn(&mut Missed) + Sync + 'a;

/// Such a line has them called, and their time runs out once more.
async fn a_line_that_lost_the_come_back_ends_nothing_of_it(backup: &dyn Backup) {
    let missed = Missed::new();
    let mut at_ms = missed.late_ms + 20_000;
    missed.write_all(backup, &missed.missed()).await;
    missed.place(backup, &missed.back(10)).await;
    let stands = missed.stands(backup).await;
    let lost = missed.ended(20, at_ms, EndReason::NoShow);
    assert_eq!(
        written(backup, &missed.shelf, &lost).await,
        PutOutcome::Conflicting
    );
    assert_eq!(missed.stands(backup).await, stands, "they wait");
    missed.write_all(backup, &[missed.promoted(21, at_ms)]).await;
    let called = missed.stands(backup).await;
    assert_eq!(
        (called.state, called.expires_at_ms),
        (EntryState::Ready, Some(at_ms + 60_000))
    );
    at_ms += 59_999;
    let lost = missed.ended(22, at_ms, EndReason::NoShow);
    assert_eq!(
        written(backup, &missed.shelf, &lost).await,
        PutOutcome::Conflicting
    );
    assert_eq!(
        missed.stands(backup).await,
        called,
        "and have their time to claim"
    );
    // What they do themselves counts, whichever line was told.
    let left = missed.ended(23, at_ms, EndReason::Left);
    assert!(matches!(
        written(backup, &missed.shelf, &left).await,
        PutOutcome::Stored(_)
    ));
    assert_eq!(missed.stands(backup).await.state, EntryState::Left);
}
