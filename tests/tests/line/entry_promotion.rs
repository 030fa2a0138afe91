//! An operator promotes one entry out of turn.

use vestibule_domain::{
    change::Event,
    fact::Turn,
    pace::LimitedBy,
    settings::{Mode, Settings},
    state::EntryState,
};
use vestibule_line::{EntryPromotionOutcome, PromoteEntryOrder};
use vestibule_tests::lines::{Subject, visitor};

use crate::{
    lane_moves::{expect_move, gone_ahead, strict},
    settings::{bounded, in_turn},
    subscription::next_tick,
};

pub(crate) async fn promote_one(subject: &Subject, number: u64, over_pace: bool) -> EntryPromotionOutcome {
    let order = PromoteEntryOrder {
        id: visitor(number),
        over_pace,
    };
    let promoted = subject.line.promote_entry(&subject.queue, order).await;
    promoted.expect("an answer")
}

pub(crate) async fn one_entry_is_promoted_within_the_pace(mut subject: Subject) {
    subject.open(in_turn(bounded(3, 1, 10))).await;
    subject.line_up(1..=5).await;
    let before = gone_ahead(&subject, 4).await;
    let EntryPromotionOutcome::Promoted { change, status } = promote_one(&subject, 4, false).await else {
        panic!("visitor 4 was not promoted");
    };
    assert!(matches!(
        change.event,
        Event::Promoted {
            turn: Turn::First,
            ..
        }
    ));
    assert_eq!(status, subject.status(visitor(4)).await);
    assert_eq!(
        gone_ahead(&subject, 4).await,
        before,
        "no entry went past the head"
    );
    assert_eq!(subject.view().await.totals.promoted, 1);
    assert_eq!(
        promote_one(&subject, 5, false).await,
        EntryPromotionOutcome::Limited(LimitedBy::Pace)
    );
    assert_eq!(
        subject.tick().await.promoted,
        0,
        "it took the token of the interval"
    );

    assert!(matches!(
        promote_one(&subject, 5, true).await,
        EntryPromotionOutcome::Promoted { .. }
    ));
    subject.advance_seconds(10);
    assert_eq!(
        subject.tick().await.promoted,
        1,
        "beyond the pace it takes no token"
    );
    let full = promote_one(&subject, 2, true).await;
    assert_eq!(
        full,
        EntryPromotionOutcome::Limited(LimitedBy::Capacity),
        "never beyond the capacity"
    );
    subject.claim(visitor(4)).await;
    assert_eq!(
        promote_one(&subject, 2, true).await,
        EntryPromotionOutcome::Limited(LimitedBy::Capacity)
    );
}

pub(crate) async fn no_entry_is_promoted_while_the_queue_stands(mut subject: Subject) {
    subject.open(strict(1)).await;
    subject.line_up(1..=2).await;
    subject.change_settings(|settings| settings.paused = true).await;
    assert_eq!(
        promote_one(&subject, 1, true).await,
        EntryPromotionOutcome::Limited(LimitedBy::Switch)
    );
    subject.change_settings(|settings| settings.paused = false).await;
    assert!(matches!(
        promote_one(&subject, 2, true).await,
        EntryPromotionOutcome::Promoted { .. }
    ));
    assert_eq!(subject.claim(visitor(2)).await.0.state(), EntryState::Active);
}

pub(crate) async fn a_held_poll_wakes_for_a_move_and_a_promotion(mut subject: Subject) {
    subject.open(strict(1)).await;
    subject.line_up(1..=3).await;
    let mut ticks = subject.line.subscribe(&subject.queue).await.expect("subscribe");
    let held_at = subject.place(visitor(3)).await;
    let (moved_to, _, _) = expect_move(&subject, 3, 0).await;
    assert_eq!(
        next_tick(&mut ticks).await.through,
        held_at,
        "the poll is held at the old place"
    );
    let EntryPromotionOutcome::Promoted { change, .. } = promote_one(&subject, 3, true).await else {
        panic!("visitor 3 was not promoted");
    };
    let tick = next_tick(&mut ticks).await;
    assert_eq!(tick.through, moved_to);
    assert_eq!(tick.change_for_entry(visitor(3), moved_to), Some(change));
}

pub(crate) async fn one_entry_waits_for_a_service_that_is_down(mut subject: Subject) {
    let follows_load = Settings {
        adaptive: true,
        load_high: 1,
        ..in_turn(bounded(1, 1, 10))
    };
    subject.open(follows_load).await;
    subject.line_up(1..=3).await;
    // The service has never reported.
    assert_eq!(
        promote_one(&subject, 1, true).await,
        EntryPromotionOutcome::Limited(LimitedBy::Service)
    );
    subject
        .change_settings(|settings| settings.mode = Mode::Passthrough)
        .await;
    for number in 1..=3 {
        let promoted = promote_one(&subject, number, false).await;
        let is_promoted = matches!(promoted, EntryPromotionOutcome::Promoted { .. });
        assert!(
            is_promoted,
            "neither service, capacity nor pace count: {promoted:?}"
        );
    }
}
