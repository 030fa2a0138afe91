//! One entry is made to agree with what the backup shows of it.

use vestibule_domain::{
    change::{Change, EndReason, Event, Version},
    entry_status::{EntryStatus, StoredPosition},
    record::EntryRecord,
    score::DeadlineScore,
    state::EntryState,
};
use vestibule_line::{Cursor, LeaveReason, LineError, NotFound, RepairOrder, RepairOutcome};
use vestibule_tests::lines::{Subject, fresh_queue, visitor};

use crate::{check::spots, settings::two_at_a_time};

/// Visitors 1 and 2 are ready, 3 and 4 wait; 1 claims.
async fn one_of_each(subject: &mut Subject) {
    subject.open(two_at_a_time()).await;
    subject.line_up(1..=4).await;
    subject.tick().await;
    subject.claim(visitor(1)).await;
}

/// What the backup shows of an entry that stands there, but for what is changed of it.
async fn record(subject: &Subject, number: u64, change: impl FnOnce(&mut EntryRecord)) -> EntryRecord {
    let spot = spots(subject).await[&visitor(number)];
    let event = match spot {
        StoredPosition::Waiting(score) => Event::Entered { score },
        StoredPosition::Ready(score) => Event::StillReady {
            visit: score.visit(),
            claim_by_ms: score.deadline_ms(),
        },
        StoredPosition::Active(score) => Event::Claimed {
            visit: score.visit(),
            session_end_ms: score.deadline_ms(),
        },
    };
    let change_of_it = Change {
        id: visitor(number),
        version: subject.view().await.version,
        at_ms: subject.clock.now_ms(),
        event,
    };
    let mut record = EntryRecord::apply_change(None, &change_of_it, 24).expect("the first one");
    record.state = spot.state();
    change(&mut record);
    record
}

async fn mend(subject: &Subject, number: u64, record: Option<EntryRecord>) -> RepairOutcome {
    let seen = spots(subject).await[&visitor(number)];
    mend_as(subject, number, record, seen).await
}

async fn mend_as(
    subject: &Subject,
    number: u64,
    record: Option<EntryRecord>,
    seen: StoredPosition,
) -> RepairOutcome {
    let mending = RepairOrder {
        id: visitor(number),
        observed: seen,
        generation: 1,
        record,
    };
    subject.line.repair(&subject.queue, &mending).await.expect("mend")
}

fn here(mended: RepairOutcome) -> (EntryStatus, Change, bool) {
    match mended {
        RepairOutcome::Live {
            status,
            change,
            has_adopted: adopted,
        } => (status, change, adopted),
        other => panic!("not here: {other:?}"),
    }
}

pub(crate) async fn what_the_backup_lacks_is_said_once_more(mut subject: Subject) {
    one_of_each(&mut subject).await;
    for number in 1..=4 {
        let (before, version) = (
            subject.status(visitor(number)).await,
            subject.view().await.version,
        );
        let (status, change, adopted) = here(mend(&subject, number, None).await);
        assert_eq!((status, adopted), (before, false));
        assert!(change.version > version);
        assert_eq!(change.event.state(), before.state());
        assert_eq!(change.event.visit(), before.visit());
        let written = EntryRecord::apply_change(None, &change, 24).expect("the first one");
        assert!(written.matches_position(spots(&subject).await[&visitor(number)]));
    }
    // By a record that is from ahead of this line's clock, too.
    let ahead = record(&subject, 4, |record| record.version.v += 3_600_000_000).await;
    let (_, change, _) = here(mend(&subject, 4, Some(ahead.clone())).await);
    assert!(change.version > ahead.version);
    let next = subject.enter(visitor(5)).await.change.expect("it is new");
    assert!(next.version > change.version);
}

pub(crate) async fn a_visit_goes_on_from_where_the_backup_has_it(mut subject: Subject) {
    one_of_each(&mut subject).await;
    let end_ms = subject.clock.now_ms() + 100_000;
    // A promotion was lost, and another with its claim.
    let ready = record(&subject, 3, |record| {
        record.state = EntryState::Ready;
        record.expires_at_ms = Some(end_ms);
    });
    let (status, change, adopted) = here(mend(&subject, 3, Some(ready.await)).await);
    assert!(adopted && status.state() == EntryState::Ready, "{status:?}");
    assert_eq!(change.event.state(), EntryState::Ready);
    let claim_by_ms = subject.clock.now_ms() + subject.settings.claim_ms();
    assert!(
        matches!(status, EntryStatus::Ready { claim_by_ms: by, .. } if by == claim_by_ms),
        "anew"
    );
    let active = record(&subject, 4, |record| {
        record.state = EntryState::Active;
        record.expires_at_ms = Some(end_ms);
    });
    let (status, ..) = here(mend(&subject, 4, Some(active.await)).await);
    assert!(matches!(status, EntryStatus::Active { session_end_ms, .. } if session_end_ms == end_ms));
    assert_eq!(subject.status(visitor(4)).await, status);
    // An extension was lost; a shorter session is an earlier one.
    let first = subject.status(visitor(1)).await;
    let EntryStatus::Active { session_end_ms, .. } = first else {
        panic!("{first:?}")
    };
    for (record_end_ms, expected_ms, changed) in [
        (session_end_ms - 1, session_end_ms, false),
        (session_end_ms + 9_000, session_end_ms + 9_000, true),
    ] {
        let extended = record(&subject, 1, |record| record.expires_at_ms = Some(record_end_ms)).await;
        let (status, _, adopted) = here(mend(&subject, 1, Some(extended)).await);
        assert!(
            matches!(status, EntryStatus::Active { session_end_ms, .. } if session_end_ms == expected_ms)
        );
        assert_eq!(adopted, changed);
    }
    // Nobody goes back.
    let before = subject.status(visitor(2)).await;
    let waiting = record(&subject, 2, |record| record.state = EntryState::Waiting).await;
    let (status, _, adopted) = here(mend(&subject, 2, Some(waiting)).await);
    assert_eq!((status, adopted), (before, false));
    // Two entries more are inside than there is room for: nobody else gets in.
    assert_eq!(subject.tick().await.promoted, 0);
}

pub(crate) async fn what_the_backup_knows_to_be_over_leaves_the_line(mut subject: Subject) {
    one_of_each(&mut subject).await;
    let now_ms = subject.clock.now_ms();
    for (number, state, how) in [
        (1, EntryState::Completed, EndReason::Completed),
        (2, EntryState::Expired, EndReason::NoShow),
        (3, EntryState::Left, EndReason::Left),
    ] {
        let over = record(&subject, number, |record| record.state = state).await;
        let RepairOutcome::Ended(end) = mend(&subject, number, Some(over.clone())).await else {
            panic!("{number} is still there")
        };
        assert_eq!(
            end.event,
            Event::Ended {
                visit: over.visit,
                how
            }
        );
        assert!(end.version > over.version);
        assert_eq!(
            subject.expect_not_found(visitor(number)).await,
            NotFound::RecentlyEnded
        );
        assert_eq!(
            subject
                .line
                .unsettled_end(&subject.queue, visitor(number))
                .await
                .expect("end"),
            Some(end)
        );
    }
    // A session that the backup has, and that is over by now.
    let late = record(&subject, 4, |record| {
        record.state = EntryState::Active;
        record.expires_at_ms = Some(now_ms);
    });
    let RepairOutcome::Ended(end) = mend(&subject, 4, Some(late.await)).await else {
        panic!("it is over")
    };
    assert_eq!(end.event.state(), EntryState::Expired);
    let view = subject.view().await;
    assert_eq!((view.waiting, view.ready, view.active), (0, 0, 0));
}

pub(crate) async fn a_turn_is_known_by_the_deadline_that_callers_see(mut subject: Subject) {
    one_of_each(&mut subject).await;
    // The claim clock stands still for a while: the turn ends later by the wall than by the score.
    subject.change_settings(|settings| settings.paused = true).await;
    subject.advance_seconds(7);
    subject.change_settings(|settings| settings.paused = false).await;
    let status = subject.status(visitor(2)).await;
    assert_ne!(
        StoredPosition::from_status(&status),
        spots(&subject).await[&visitor(2)]
    );
    let over = record(&subject, 2, |record| record.state = EntryState::Left).await;
    let EntryStatus::Ready {
        visit, claim_by_ms, ..
    } = status
    else {
        panic!("{status:?}")
    };
    let beside = StoredPosition::Ready(DeadlineScore::new(claim_by_ms - 1, visit));
    assert_eq!(
        mend_as(&subject, 2, Some(over.clone()), beside).await,
        RepairOutcome::Moved
    );
    let mended = mend_as(&subject, 2, Some(over), StoredPosition::from_status(&status)).await;
    assert!(matches!(mended, RepairOutcome::Ended(_)), "{mended:?}");
    assert_eq!(subject.view().await.ready, 0);
}

pub(crate) async fn a_visit_begun_since_is_never_touched(mut subject: Subject) {
    one_of_each(&mut subject).await;
    let (seen, over) = (
        spots(&subject).await,
        record(&subject, 3, |record| record.state = EntryState::Left).await,
    );
    subject.leave(visitor(3), LeaveReason::Leave).await;
    subject.advance_seconds(1);
    subject.enter(visitor(3)).await;
    let before = subject.status(visitor(3)).await;
    assert_eq!(
        mend_as(&subject, 3, Some(over.clone()), seen[&visitor(3)]).await,
        RepairOutcome::Moved
    );
    // Seen as it stands now: the place is a later one than that of the end.
    let (status, _, adopted) = here(mend(&subject, 3, Some(over)).await);
    assert_eq!((status, adopted), (before, false));
    // Of the same number by chance, where the record never heard of a place: it began after that end.
    let mut ended = record(&subject, 3, |record| record.state = EntryState::Left).await;
    (ended.score, ended.ended_at_ms) = (None, Some(subject.clock.now_ms()));
    assert!(matches!(
        mend(&subject, 3, Some(ended.clone())).await,
        RepairOutcome::Live { .. }
    ));
    ended.ended_at_ms = Some(subject.clock.now_ms() + 1);
    let before_the_end = RepairOrder {
        id: visitor(3),
        observed: spots(&subject).await[&visitor(3)],
        generation: 1,
        record: Some(ended),
    };
    let mended = subject.line.repair(&subject.queue, &before_the_end).await;
    assert!(matches!(mended, Ok(RepairOutcome::Ended(_))), "{mended:?}");
    subject.enter(visitor(3)).await;
    // A place before the one that is over was over before it.
    let later = record(&subject, 3, |record| record.state = EntryState::Left).await;
    let mut earlier = record(&subject, 4, |record| record.state = EntryState::Left).await;
    (earlier.score, earlier.visit) = (later.score, later.visit);
    assert!(matches!(
        mend(&subject, 4, Some(earlier)).await,
        RepairOutcome::Ended(_)
    ));
    // One who was let in since.
    let over = record(&subject, 2, |record| record.state = EntryState::Expired).await;
    subject.claim(visitor(2)).await;
    assert_eq!(
        mend_as(&subject, 2, Some(over), seen[&visitor(2)]).await,
        RepairOutcome::Moved
    );
    assert_eq!(subject.state(visitor(2)).await, EntryState::Active);
    // One whose time is up: the next promotion drops it.
    subject.advance_seconds(100_000);
    assert_eq!(mend(&subject, 2, None).await, RepairOutcome::Moved);
}

pub(crate) async fn a_record_of_another_line_mends_nothing(mut subject: Subject) {
    one_of_each(&mut subject).await;
    let before = (subject.view().await, spots(&subject).await);
    let later_epoch = record(&subject, 3, |record| {
        record.state = EntryState::Left;
        record.version = Version { epoch: 2, v: 1 };
    });
    assert_eq!(
        mend(&subject, 3, Some(later_epoch.await)).await,
        RepairOutcome::Rejected
    );
    let other_generation = RepairOrder {
        id: visitor(3),
        observed: before.1[&visitor(3)],
        generation: 2,
        record: None,
    };
    let refused = subject.line.repair(&subject.queue, &other_generation).await;
    assert_eq!(refused.expect("mend"), RepairOutcome::Rejected);
    assert_eq!((subject.view().await, spots(&subject).await), before);
    let nowhere = fresh_queue();
    assert!(matches!(
        subject.line.repair(&nowhere, &other_generation).await,
        Err(LineError::QueueNotFound)
    ));
    let page = subject.line.read_page(&nowhere, &Cursor::default()).await;
    assert!(matches!(page, Err(LineError::QueueNotFound)));
}
