//! An operator moves one waiting entry to another lane.

use vestibule_domain::{
    change::Change, entry_status::EntryStatus, fact::Step, lane::Lane, score::WaitScore, settings::Settings,
    state::EntryState,
};
use vestibule_line::{EntryPromotionOutcome, LaneMoveOutcome, LeaveReason, NotFound};
use vestibule_tests::lines::{Subject, visitor};

use crate::{
    entry_promotion::promote_one,
    presence::{check_in, run_seconds},
    settings::{bounded, in_turn},
};

fn lane(number: u8) -> Lane {
    Lane::new(number.into()).expect("a lane")
}

async fn move_to(subject: &Subject, number: u64, to: u8) -> LaneMoveOutcome {
    let moved = subject
        .line
        .move_to_lane(&subject.queue, visitor(number), lane(to))
        .await;
    moved.expect("an answer")
}

pub(crate) async fn expect_move(subject: &Subject, number: u64, to: u8) -> (WaitScore, u64, Change) {
    match move_to(subject, number, to).await {
        LaneMoveOutcome::Moved {
            status: EntryStatus::Waiting { score, position },
            change,
            ..
        } => (score, position, change),
        other => panic!("visitor {number} was not moved: {other:?}"),
    }
}

pub(crate) async fn gone_ahead(subject: &Subject, lane: u8) -> i64 {
    let progress = subject.line.lane_progress(&subject.queue, lane).await;
    progress.expect("the progress of the lane").gone_ahead
}

pub(crate) fn strict(batch: u32) -> Settings {
    Settings {
        lane_share: 0,
        ..in_turn(bounded(100, batch, 1))
    }
}

pub(crate) async fn a_moved_entry_keeps_the_order_of_joining(mut subject: Subject) {
    subject.open(strict(1)).await;
    subject.line_up(1..=6).await;
    let visit = subject.status(visitor(4)).await.visit();
    for number in [2, 6] {
        expect_move(&subject, number, 1).await;
    }
    let (place, position, change) = expect_move(&subject, 4, 1).await;
    assert_eq!(
        (place.lane(), place.visit(), position),
        (1, visit, 2),
        "between those who joined before and after"
    );
    let fact = change.fact();
    assert_eq!(
        (fact.visit, fact.step, fact.step_ms),
        (visit, Step::Waiting, subject.clock.now_ms())
    );
    let mut order = Vec::new();
    for _ in 0..6 {
        subject.tick().await;
        for number in 1..=6 {
            if subject.state(visitor(number)).await != EntryState::Waiting && !order.contains(&number) {
                order.push(number);
            }
        }
        subject.advance_seconds(1);
    }
    assert_eq!(order, [2, 4, 6, 1, 3, 5]);
}

pub(crate) async fn a_move_changes_the_positions_of_both_lanes(mut subject: Subject) {
    subject.open(strict(1)).await;
    subject.line_up(1..=4).await;
    subject.tick().await;
    let before = (gone_ahead(&subject, 4).await, gone_ahead(&subject, 1).await);
    expect_move(&subject, 2, 1).await;
    let after = (gone_ahead(&subject, 4).await, gone_ahead(&subject, 1).await);
    assert_eq!(before, (1, 0));
    assert_eq!(
        after,
        (1, -1),
        "the lane has one more ahead; the one that it left is shorter, as after a leave"
    );
    for (number, position) in [(2, 1), (3, 1), (4, 2)] {
        let entered = subject.enter(visitor(number)).await;
        let EntryStatus::Waiting { position: shown, .. } = entered.status else {
            panic!("visitor {number} waits");
        };
        assert_eq!(shown, position, "visitor {number}");
    }
}

pub(crate) async fn a_move_is_repeated_and_can_be_taken_back(mut subject: Subject) {
    subject.open(strict(1)).await;
    subject.line_up(1..=2).await;
    let place = subject.place(visitor(2)).await;
    let (moved, _, first) = expect_move(&subject, 2, 0).await;
    assert!(matches!(
        move_to(&subject, 2, 0).await,
        LaneMoveOutcome::Unchanged(_)
    ));
    let again = subject.enter(visitor(2)).await;
    assert_eq!(
        again.change.expect("a repeated change").event,
        first.event,
        "the backup may lack it"
    );
    assert_eq!(
        subject.place(visitor(2)).await,
        moved,
        "who enters again keeps the moved lane"
    );
    let (back, _, second) = expect_move(&subject, 2, 4).await;
    assert_eq!(back, place);
    assert!(
        second.fact() > first.fact(),
        "a later move is a greater fact, also in the same millisecond"
    );
}

pub(crate) async fn only_a_waiting_entry_is_moved(mut subject: Subject) {
    subject.open(strict(2)).await;
    subject.line_up(1..=3).await;
    subject.tick().await;
    subject.claim(visitor(2)).await;
    for number in 1..=2 {
        assert!(matches!(
            move_to(&subject, number, 1).await,
            LaneMoveOutcome::NotWaiting(_)
        ));
        assert!(matches!(
            promote_one(&subject, number, true).await,
            EntryPromotionOutcome::NotWaiting(_)
        ));
    }
    subject.leave(visitor(3), LeaveReason::Leave).await;
    let ended = move_to(&subject, 3, 1).await;
    assert!(
        matches!(ended, LaneMoveOutcome::NotFound(NotFound::Ended(_))),
        "{ended:?}"
    );
    let unknown = promote_one(&subject, 9, false).await;
    assert!(
        matches!(unknown, EntryPromotionOutcome::NotFound(NotFound::Unknown { .. })),
        "{unknown:?}"
    );
}

pub(crate) async fn a_moved_visitor_who_is_present_is_promoted_next(mut subject: Subject) {
    subject
        .open(Settings {
            lane_share: 0,
            ..bounded(100, 1, 1)
        })
        .await;
    subject.line_up(1..=4).await;
    subject.advance_seconds(31);
    for number in 1..=4 {
        check_in(&subject, number).await;
    }
    expect_move(&subject, 4, 1).await;
    subject.tick().await;
    assert_eq!(subject.state(visitor(4)).await, EntryState::Ready);
    let view = subject.view().await;
    assert_eq!((view.absent, view.present), (0, 3));
}

pub(crate) async fn an_absent_entry_can_be_moved(mut subject: Subject) {
    let settings = Settings {
        presence_seconds: 40,
        call_seconds: 10,
        lane_share: 0,
        ..bounded(1, 5, 1)
    };
    subject.open(settings).await;
    subject.enter(visitor(99)).await;
    subject.line_up_silently(1..=3).await;
    for _ in 0..5 {
        subject.advance_seconds(5);
        check_in(&subject, 3).await;
        subject.tick().await;
    }
    subject.change_settings(|settings| settings.capacity = 100).await;
    assert_eq!(subject.tick().await.promoted, 1, "two are passed over");
    assert_eq!(subject.view().await.absent, 2);
    for number in 1..=2 {
        expect_move(&subject, number, 6).await;
    }
    assert_eq!(
        subject.view().await.absent,
        0,
        "in the new lane no entry is passed over yet"
    );
    check_in(&subject, 2).await;
    check_in(&subject, 1).await;
    subject.advance_seconds(1);
    assert_eq!(subject.tick().await.promoted, 2);
}

/// What the last visitor of the default lane is told, who has the rank of the whole line.
async fn told_at_the_end(subject: &Subject, position: u64) -> (u64, u64, u64) {
    let view = subject.view().await;
    let forecast = view.forecast();
    let told = view.estimate(&forecast, position).expect("an estimate");
    (told.low, told.high, forecast.eta_ms(position))
}

/// The rank of which the tests of estimates ask.
const RANK: u64 = 150;

/// Opens a queue of 200 who wait, and ticks for a minute in which all of them poll.
async fn run_line_of_200(subject: &mut Subject, presence_seconds: u32) {
    subject
        .open(Settings {
            lane_share: 0,
            presence_seconds,
            ..bounded(1_000, 1, 2)
        })
        .await;
    subject.line_up(1..=200).await;
    for second in 0..60 {
        if second % 20 == 0 {
            for number in 1..=200 {
                check_in(subject, number).await;
            }
        }
        run_seconds(subject, 1, &[]).await;
    }
}

/// What the visitor at the rank is told before and after so many visitors are moved to the first lane, and some seconds later.
async fn told_around_moves(first: &Subject, presence_seconds: u32, moved: u64) -> [(u64, u64, u64); 3] {
    let mut subject = first.sibling();
    run_line_of_200(&mut subject, presence_seconds).await;
    let before = told_at_the_end(&subject, RANK).await;
    for number in 100..100 + moved {
        expect_move(&subject, number, 0).await;
    }
    let after = told_at_the_end(&subject, RANK).await;
    run_seconds(&subject, 8, &[]).await;
    [before, after, told_at_the_end(&subject, RANK).await]
}

/// A visitor who is moved neither leaves nor arrives, so the wait at a rank is what it would be without the moves.
pub(crate) async fn moves_change_no_estimate(first: Subject) {
    for presence_seconds in [0, 90] {
        let told = told_around_moves(&first, presence_seconds, 30).await;
        assert_eq!(told[0], told[1], "presence {presence_seconds}");
        let without = told_around_moves(&first, presence_seconds, 0).await;
        let difference = told[2].0.abs_diff(without[2].0) + told[2].1.abs_diff(without[2].1);
        assert!(
            difference <= 2,
            "presence {presence_seconds}: {told:?} and {without:?}"
        );
    }
}

/// A visitor who is promoted out of turn has not left, so no one behind is told a shorter wait than by the rank.
pub(crate) async fn promotions_out_of_turn_are_no_departures(mut subject: Subject) {
    run_line_of_200(&mut subject, 90).await;
    let before = told_at_the_end(&subject, RANK).await;
    for number in 100..120 {
        let promoted = promote_one(&subject, number, true).await;
        assert!(
            matches!(promoted, EntryPromotionOutcome::Promoted { .. }),
            "{promoted:?}"
        );
    }
    let after = told_at_the_end(&subject, RANK).await;
    assert!(
        before.0.abs_diff(after.0) <= 10 && before.1.abs_diff(after.1) <= 10,
        "{before:?}, then {after:?}"
    );
}
