//! Absent entries: they cost the others nothing, are first in line again after a poll, and end after their time.

use vestibule_domain::{
    change::{EndReason, Event},
    entry_status::EntryStatus,
    fact::{Fact, Turn},
    pace::LimitedBy,
    state::EntryState,
};
use vestibule_line::{JoinKind, LeaveReason, NotFound};
use vestibule_tests::lines::{Subject, visitor};

use crate::presence::{CALL_SECONDS, check_in, counts, lane, make_room, run_seconds, wait_in_full_queue};

/// `absent_seconds` of these tests, as the default has it.
const ABSENT_SECONDS: u64 = 3_600;

pub(crate) async fn a_silent_visitor_is_passed_over_and_first_again_after_a_poll(mut subject: Subject) {
    wait_in_full_queue(&mut subject, 20, &[2, 4, 6], 200).await;
    assert_eq!(counts(&subject).await, (20, 3, 0), "no entry was passed over yet");
    let before = lane(&subject).await;
    let tick = make_room(&mut subject).await;
    assert_eq!((tick.promoted, tick.limited_by), (3, LimitedBy::Line));
    for number in [2, 4, 6] {
        assert_eq!(subject.state(visitor(number)).await, EntryState::Ready);
    }
    assert_eq!(counts(&subject).await, (0, 0, 17));
    let after = lane(&subject).await;
    assert_eq!(after.gone_ahead - before.gone_ahead, 20, "all went past the head");
    assert_eq!(subject.view().await.in_line(), 0);

    // Two of them wake up, the later one first.
    for (number, position) in [(9, 1), (5, 1)] {
        assert_eq!(
            check_in(&subject, number).await,
            Some(position),
            "visitor {number}"
        );
    }
    assert_eq!(counts(&subject).await, (0, 2, 15));
    assert_eq!(lane(&subject).await.gone_ahead, after.gone_ahead - 2);
    subject.change_settings(|settings| settings.capacity = 5).await;
    assert_eq!(subject.tick().await.promoted, 1, "one slot is free");
    assert_eq!(
        subject.state(visitor(5)).await,
        EntryState::Ready,
        "the earlier place"
    );
    assert_eq!(subject.state(visitor(9)).await, EntryState::Waiting);
    assert_eq!(lane(&subject).await.gone_ahead, after.gone_ahead - 1);
}

pub(crate) async fn a_newcomer_behind_absent_visitors_is_admitted_at_once(mut subject: Subject) {
    wait_in_full_queue(&mut subject, 50, &[], 2 * CALL_SECONDS).await;
    assert_eq!(make_room(&mut subject).await.promoted, 0);
    assert_eq!(counts(&subject).await, (0, 0, 50));
    subject.advance_seconds(1);
    subject.tick().await;
    let newcomer = subject.enter(visitor(77)).await;
    assert_eq!(
        newcomer.status.state(),
        EntryState::Active,
        "the fast track is open"
    );
    // An absent visitor who enters again is in line again, and shuts it.
    subject.enter(visitor(20)).await;
    assert_eq!(
        subject.enter(visitor(78)).await.status.state(),
        EntryState::Waiting
    );
    assert_eq!(subject.tick().await.promoted, 2);
}

pub(crate) async fn positions_count_no_absent_entry(mut subject: Subject) {
    wait_in_full_queue(&mut subject, 30, &[21, 22, 23], 2 * CALL_SECONDS).await;
    assert_eq!(check_in(&subject, 22).await, Some(22), "no entry was passed over");
    subject.change_settings(|settings| settings.capacity = 2).await;
    assert_eq!(subject.tick().await.promoted, 1);
    assert_eq!(check_in(&subject, 22).await, Some(1));
    assert_eq!(check_in(&subject, 23).await, Some(2));
    assert_eq!(
        check_in(&subject, 7).await,
        Some(1),
        "an absent visitor came back"
    );
    assert_eq!(check_in(&subject, 22).await, Some(2));
    assert_eq!(check_in(&subject, 3).await, Some(1));
    assert_eq!(check_in(&subject, 7).await, Some(2));
    // An absent visitor who leaves changes no position.
    subject.leave(visitor(10), LeaveReason::Leave).await;
    assert_eq!(check_in(&subject, 23).await, Some(4));
    let entered = subject.enter(visitor(99)).await;
    assert!(matches!(
        entered.status,
        EntryStatus::Waiting { position, .. } if position <= 12
    ));
}

pub(crate) async fn an_absence_ends_after_its_time(mut subject: Subject) {
    wait_in_full_queue(&mut subject, 5, &[], CALL_SECONDS + 1).await;
    make_room(&mut subject).await;
    assert_eq!(counts(&subject).await, (0, 0, 5));
    run_seconds(&subject, ABSENT_SECONDS - 2, &[]).await;
    assert_eq!(counts(&subject).await, (0, 0, 5));
    // The place that had passed is marked each minute.
    run_seconds(&subject, 62, &[]).await;
    assert_eq!(counts(&subject).await, (0, 0, 0));
    let view = subject.view().await;
    assert_eq!((view.waiting, view.totals.absences), (0, 5));
    assert_eq!(view.imbalance.visits, view.imbalance.at_check);
    let NotFound::Ended(end) = subject.expect_not_found(visitor(3)).await else {
        panic!("the line knows the end");
    };
    assert_eq!(
        end.event,
        Event::Ended {
            fact: Fact::waiting(end.fact().visit, Turn::First).timed_out(),
            how: EndReason::Absence,
        }
    );
    let ends: Vec<_> = subject.unsettled_ends().await;
    assert_eq!(ends.len(), 5, "the backup gets them through the journal");
    let entered = subject.enter(visitor(3)).await;
    assert_eq!(entered.kind, JoinKind::NewVisit);
}

pub(crate) async fn an_absence_ends_later_for_a_visitor_who_was_back(mut subject: Subject) {
    wait_in_full_queue(&mut subject, 5, &[], CALL_SECONDS + 1).await;
    make_room(&mut subject).await;
    subject.change_settings(|settings| settings.capacity = 1).await;
    run_seconds(&subject, 1_800, &[]).await;
    check_in(&subject, 4).await;
    run_seconds(&subject, 1_900, &[]).await;
    assert_eq!(counts(&subject).await, (0, 0, 1), "the others are gone");
    assert_eq!(subject.state(visitor(4)).await, EntryState::Waiting);
    run_seconds(&subject, 1_800, &[]).await;
    assert_eq!(counts(&subject).await, (0, 0, 0));
}
