//! The order of the lanes, and the share of the lower ones.

use std::ops::Range;

use vestibule_domain::{
    entry_status::EntryStatus,
    settings::{ReEntry, Settings},
    state::EntryState,
};
use vestibule_line::{EntryLookup, JoinKind, PROMOTE_CHUNK};
use vestibule_tests::lines::{Subject, tick_order, visitor};

use crate::{
    presence::check_in,
    settings::{bounded, in_turn},
};

/// Lets these visitors enter a lane while the queue is paused, so that all of them wait.
pub(crate) async fn line_up_in(subject: &mut Subject, lane: u8, visitors: Range<u64>) {
    subject.change_settings(|settings| settings.paused = true).await;
    for number in visitors {
        let entered = subject.enter_lane(visitor(number), lane).await;
        assert_eq!(entered.status.state(), EntryState::Waiting, "visitor {number}");
    }
    subject.change_settings(|settings| settings.paused = false).await;
}

/// Which of these visitors were promoted.
async fn promoted_of(subject: &Subject, visitors: Range<u64>) -> Vec<u64> {
    let ids: Vec<_> = visitors.clone().map(visitor).collect();
    let lookups = subject
        .line
        .status_many(&subject.queue, &ids)
        .await
        .expect("lookups");
    let found = visitors.zip(lookups);
    let promoted = found.filter(
        |(_, lookup)| matches!(lookup, EntryLookup::Found(status) if status.state() != EntryState::Waiting),
    );
    promoted.map(|(number, _)| number).collect()
}

fn position_of(status: EntryStatus) -> u64 {
    match status {
        EntryStatus::Waiting { position, .. } => position,
        other => panic!("not waiting: {other:?}"),
    }
}

/// No share, and every visitor in turn.
fn strict(batch: u32) -> Settings {
    Settings {
        lane_share: 0,
        ..in_turn(bounded(1_000_000, batch, 1))
    }
}

pub(crate) async fn earlier_lanes_are_served_first(mut subject: Subject) {
    subject.open(strict(4)).await;
    line_up_in(&mut subject, 4, 1..4).await;
    line_up_in(&mut subject, 7, 11..14).await;
    line_up_in(&mut subject, 0, 21..24).await;
    subject.tick().await;
    assert_eq!(
        promoted_of(&subject, 21..24).await,
        [21, 22, 23],
        "lane 0 came last and goes first"
    );
    assert_eq!(
        promoted_of(&subject, 1..4).await,
        [1],
        "then the first of the default lane"
    );
    subject.advance_seconds(1);
    subject.tick().await;
    assert_eq!(promoted_of(&subject, 1..4).await, [1, 2, 3]);
    assert_eq!(
        promoted_of(&subject, 11..14).await,
        [11, 12],
        "a lane that is empty gives its turns on"
    );
}

pub(crate) async fn a_position_is_that_in_the_lane(mut subject: Subject) {
    subject
        .open(Settings {
            lane_share: 0,
            ..bounded(1_000, 1, 1)
        })
        .await;
    line_up_in(&mut subject, 4, 1..4).await;
    line_up_in(&mut subject, 1, 11..13).await;
    subject.change_settings(|settings| settings.paused = true).await;
    let entered = subject.enter_lane(visitor(13), 1).await;
    assert_eq!(position_of(entered.status), 3);
    assert_eq!(position_of(subject.enter(visitor(4)).await.status), 4);
    assert_eq!(
        position_of(subject.enter(visitor(2)).await.status),
        2,
        "a visitor who enters again"
    );
    for (number, position) in [(1, 1), (3, 3), (11, 1), (12, 2)] {
        let checked_in = subject.line.check_in(&subject.queue, visitor(number)).await;
        let EntryLookup::Found(status) = checked_in.expect("a check-in").lookup else {
            panic!("visitor {number} waits");
        };
        assert_eq!(position_of(status), position, "visitor {number}");
    }
}

pub(crate) async fn a_visitor_in_line_keeps_the_lane(mut subject: Subject) {
    subject.open(strict(1)).await;
    line_up_in(&mut subject, 4, 1..3).await;
    subject.change_settings(|settings| settings.paused = true).await;
    let place = subject.place(visitor(2)).await;
    let again = subject.enter_lane(visitor(2), 0).await;
    assert_eq!(
        (again.kind, subject.place(visitor(2)).await),
        (JoinKind::Kept, place)
    );
    subject
        .change_settings(|settings| settings.re_entry = ReEntry::Requeue)
        .await;
    let moved = subject.enter_lane(visitor(1), 0).await;
    let new_place = subject.place(visitor(1)).await;
    assert_eq!((moved.kind, new_place.lane()), (JoinKind::Requeued, 4));
    assert!(new_place > place, "at the back of its lane");
}

/// A flood in lane 0 and a line in lane 4. Each tick promotes what the pace allows.
async fn flood(subject: &mut Subject, share: u32, batch: u32, waiting: u64) {
    let settings = in_turn(bounded(1_000_000, batch, 1));
    subject
        .open(Settings {
            lane_share: share,
            ..settings
        })
        .await;
    line_up_in(subject, 4, 1..waiting).await;
    line_up_in(subject, 0, 10_000..10_000 + 3 * waiting).await;
}

pub(crate) async fn a_flood_of_vips_leaves_the_share_of_the_others(mut subject: Subject) {
    let (share, batch) = (10, 7);
    flood(&mut subject, share, batch, 150).await;
    let mut promoted = 0;
    for second in 0..40 {
        promoted += subject.tick().await.promoted;
        let others = promoted_of(&subject, 1..150).await.len() as u64;
        assert_eq!(others, promoted * u64::from(share) / 100, "after second {second}");
        subject.advance_seconds(1);
    }
    let in_order: Vec<u64> = (1..=promoted / 10).collect();
    assert_eq!(
        promoted_of(&subject, 1..150).await,
        in_order,
        "in the order of their lane"
    );
}

pub(crate) async fn the_share_is_exact_in_small_ticks(mut subject: Subject) {
    flood(&mut subject, 15, 100, 120).await;
    let mut promoted = 0;
    // Several ticks a second promote one, two or three entries each.
    for size in [1, 2, 3].into_iter().cycle().take(60) {
        let order = tick_order(size);
        promoted += subject
            .line
            .promote(&subject.queue, order)
            .await
            .expect("promote")
            .promoted;
        let others = promoted_of(&subject, 1..120).await.len() as u64;
        assert_eq!(others, promoted * 15 / 100, "after {promoted} promotions");
        subject.advance_ms(150);
    }
    assert_eq!(promoted, 120);
}

pub(crate) async fn the_share_is_exact_over_full_chunks(mut subject: Subject) {
    let settings = in_turn(bounded(1_000_000, 5_000, 1));
    subject
        .open(Settings {
            lane_share: 15,
            ..settings
        })
        .await;
    line_up_in(&mut subject, 4, 1..401).await;
    line_up_in(&mut subject, 0, 10_000..11_900).await;
    for chunks in 1..=2 {
        assert_eq!(subject.tick().await.promoted, PROMOTE_CHUNK);
        assert_eq!(promoted_of(&subject, 1..401).await.len(), 150 * chunks);
    }
    // The first lane runs out, and the other one has the rest.
    assert_eq!(subject.tick().await.promoted, 300);
    assert_eq!(promoted_of(&subject, 1..401).await.len(), 400);
}

pub(crate) async fn lower_lanes_have_their_turns_by_age(mut subject: Subject) {
    subject
        .open(Settings {
            lane_share: 50,
            ..in_turn(bounded(1_000, 2, 1))
        })
        .await;
    line_up_in(&mut subject, 7, 31..41).await;
    line_up_in(&mut subject, 0, 1..41).await;
    subject.tick().await;
    line_up_in(&mut subject, 4, 51..61).await;
    let mut turns = Vec::new();
    for _ in 0..4 {
        subject.advance_seconds(1);
        subject.tick().await;
        turns.push((
            promoted_of(&subject, 31..41).await.len(),
            promoted_of(&subject, 51..61).await.len(),
        ));
    }
    assert_eq!(
        turns,
        [(2, 0), (2, 1), (3, 1), (3, 2)],
        "the older head first, then one after the other"
    );
}

/// Opens a queue whose only slot is taken, so that no entry is promoted before the capacity is raised.
async fn open_full(subject: &mut Subject, settings: Settings) {
    subject
        .open(Settings {
            capacity: 1,
            ..settings
        })
        .await;
    let first = subject.enter(visitor(99)).await;
    assert_eq!(first.status.state(), EntryState::Active);
}

pub(crate) async fn a_lane_behind_its_wall_gives_its_turns_away(mut subject: Subject) {
    let settings = Settings {
        lane_share: 50,
        ..bounded(1, 2, 1)
    };
    open_full(&mut subject, settings).await;
    line_up_in(&mut subject, 0, 1..11).await;
    // No visitor of the lower lane polls.
    subject.line_up_silently(21..31).await;
    for _ in 0..8 {
        subject.advance_seconds(5);
        for number in 1..11 {
            check_in(&subject, number).await;
        }
        subject.tick().await;
    }
    subject
        .change_settings(|settings| settings.capacity = 1_000)
        .await;
    for _ in 0..3 {
        assert_eq!(subject.tick().await.promoted, 2);
        subject.advance_seconds(1);
    }
    assert_eq!(promoted_of(&subject, 1..11).await, [1, 2, 3, 4, 5, 6]);
    assert_eq!(promoted_of(&subject, 21..31).await, Vec::<u64>::new());
    // With the first check-in the lower lane has its share again, and has saved up nothing.
    check_in(&subject, 21).await;
    check_in(&subject, 22).await;
    subject.tick().await;
    assert_eq!(promoted_of(&subject, 1..11).await, [1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(promoted_of(&subject, 21..31).await, [21]);
}
