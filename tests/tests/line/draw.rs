//! The draw of the visitors who come before the opening.

use std::collections::HashMap;

use vestibule_domain::{
    change::{Change, Event},
    draw::DrawSeed,
    id::Salt,
    lane::Lane,
    score::{Visit, WaitScore},
    settings::{BeforeOpening, ReEntry, Settings},
    state::EntryState,
};
use vestibule_line::{Arrival, EnterOutcome, JoinKind, LeaveReason};
use vestibule_tests::lines::{Subject, configuration, visitor};

use crate::{
    presence::check_in,
    restore::{configuration_of_epoch, restored_entries},
    settings::{in_turn, three_a_second},
};

const VISITORS: u64 = 12;

/// Queues of the tests have one salt.
pub(crate) fn seed(settings: &Settings) -> DrawSeed {
    let salt: Salt = configuration(settings).salt;
    DrawSeed::of_salt(&salt)
}

/// Enters as the API does before a draw.
pub(crate) async fn enter_before_draw(subject: &Subject, number: u64, arrival: Arrival) -> EnterOutcome {
    let id = visitor(number);
    let drawn_order = seed(&subject.settings).draw(id);
    let entered = subject
        .line
        .enter_lane(&subject.queue, id, arrival, Some(drawn_order), Lane::DEFAULT);
    entered.await.expect("enter")
}

async fn enter_drawn(subject: &Subject, number: u64) -> (JoinKind, WaitScore, Change) {
    match enter_before_draw(subject, number, Arrival::Ordinary).await {
        EnterOutcome::Joined {
            kind,
            change: Some(change),
            ..
        } => {
            let Event::Entered { place, .. } = change.event else {
                panic!("{change:?}");
            };
            (kind, place, change)
        }
        other => panic!("{other:?}"),
    }
}

/// Opens a queue that draws, in which all visitors have entered. Returns their visits and the changes.
async fn open_with_drawn_line(
    subject: &mut Subject,
    settings: Settings,
) -> (HashMap<u64, Visit>, Vec<Change>) {
    subject
        .open(Settings {
            opens_at_ms: Some(subject.clock.now_ms() + 60_000),
            before_opening: BeforeOpening::Draw,
            draw_anyone: true,
            re_entry: ReEntry::Requeue,
            ..settings
        })
        .await;
    let (mut visits, mut changes) = (HashMap::new(), Vec::new());
    let mut last = None;
    for number in 1..=VISITORS {
        let (kind, place, change) = enter_drawn(subject, number).await;
        assert_eq!(kind, JoinKind::NewVisit);
        assert_eq!(
            (place.order(), place.lane()),
            (
                seed(&subject.settings).draw(visitor(number)).number(),
                Lane::DEFAULT.number()
            )
        );
        assert!(last < Some(place.visit()), "visits are numbered as visitors come");
        last = Some(place.visit());
        visits.insert(number, place.visit());
        changes.push(change);
        subject.advance_ms(1);
    }
    (visits, changes)
}

/// The visitors in the order of the draw.
fn drawn_order(settings: &Settings) -> Vec<u64> {
    let seed = seed(settings);
    let mut numbers: Vec<_> = (1..=VISITORS).collect();
    numbers.sort_by_key(|number| seed.draw(visitor(*number)));
    numbers
}

/// Promotes the first six, three a second, and then the one who came late.
async fn expect_order_of_draw(subject: &Subject, visits: &HashMap<u64, Visit>) {
    let order = drawn_order(&subject.settings);
    assert_ne!(order, (1..=VISITORS).collect::<Vec<_>>());
    subject.tick().await;
    for turn in 0..2 {
        if subject.settings.has_presence() {
            for number in 1..=VISITORS {
                check_in(subject, number).await;
            }
        }
        subject.advance_seconds(1);
        subject.tick().await;
        for (nth, number) in order.iter().enumerate().take(9) {
            let is_next = nth < 3 * (turn + 1);
            let status = subject.status(visitor(*number)).await;
            if is_next {
                assert_eq!(status.state(), EntryState::Ready, "{number} of {order:?}");
            }
            assert_eq!(status.visit(), visits[number], "{number}");
        }
    }
    let first = order[0];
    let (claimed, change) = subject.claim(visitor(first)).await;
    assert_eq!(
        (claimed.visit(), change.fact().visit),
        (visits[&first], visits[&first])
    );
    let journal = subject.journal().await;
    for change in journal.iter().flat_map(|record| &record.changes) {
        let number = (1..=VISITORS).find(|number| visitor(*number) == change.id);
        assert_eq!(
            change.fact().visit,
            visits[&number.expect("a visitor")],
            "{change:?}"
        );
    }
}

pub(crate) async fn a_draw_orders_those_who_came_before_the_opening(mut subject: Subject) {
    let (mut visits, _) = open_with_drawn_line(&mut subject, three_a_second()).await;
    // Entering again, and leaving before that, changes no place.
    let place = subject.place(visitor(3)).await;
    let (kind, again, _) = enter_drawn(&subject, 3).await;
    assert_eq!((kind, again), (JoinKind::Kept, place));
    subject.leave(visitor(3), LeaveReason::Leave).await;
    let (kind, drawn_again, _) = enter_drawn(&subject, 3).await;
    assert_eq!((kind, drawn_again.raw()), (JoinKind::NewVisit, place.raw()));
    assert!(drawn_again.visit() > visits[&VISITORS]);
    visits.insert(3, drawn_again.visit());
    assert_eq!(subject.view().await.imbalance.visits, 0);

    subject.advance_seconds(60);
    let late = VISITORS + 1;
    let (_, place, _) = enter_drawn(&subject, late).await;
    assert!(place.is_after_opening(), "{place:?}");
    assert!(place.raw() > drawn_again.raw());
    subject.leave(visitor(late), LeaveReason::Leave).await;
    expect_order_of_draw(&subject, &visits).await;
    // Who moves to the back after the opening stands behind all of the draw.
    let last = drawn_order(&subject.settings).pop().expect("a visitor");
    let (kind, place, _) = enter_drawn(&subject, last).await;
    assert_eq!((kind, place.is_after_opening()), (JoinKind::Requeued, true));
}

pub(crate) async fn a_restored_draw_keeps_its_order(mut subject: Subject) {
    let (visits, changes) = open_with_drawn_line(&mut subject, in_turn(three_a_second())).await;
    let entries = restored_entries(&changes);
    let configuration = configuration_of_epoch(&subject, 2);
    let restored = subject
        .line
        .restore(&subject.queue, &configuration, 0, entries)
        .await;
    restored.expect("restored");
    for (number, visit) in &visits {
        let place = subject.place(visitor(*number)).await;
        assert_eq!(place.visit(), *visit);
        let (kind, kept, _) = enter_drawn(&subject, *number).await;
        assert_eq!((kind, kept), (JoinKind::Kept, place));
    }
    subject.advance_seconds(61);
    expect_order_of_draw(&subject, &visits).await;
}

/// The arrival says who passes the line and who is never refused. The order is the same for all.
pub(crate) async fn a_draw_orders_each_arrival(mut subject: Subject) {
    let one_slot = Settings {
        capacity: 1,
        ..three_a_second()
    };
    open_with_drawn_line(&mut subject, one_slot).await;
    enter_before_draw(&subject, 20, Arrival::Bypass).await;
    assert_eq!(subject.state(visitor(20)).await, EntryState::Active, "the slot");
    for (number, arrival) in (21..).zip(Arrival::ALL) {
        for kind in [JoinKind::NewVisit, JoinKind::Kept] {
            let entered = enter_before_draw(&subject, number, arrival).await;
            assert!(
                matches!(&entered, EnterOutcome::Joined { kind: joined, .. } if *joined == kind),
                "{arrival:?}: {entered:?}"
            );
            assert_eq!(
                subject.place(visitor(number)).await.order(),
                seed(&subject.settings).draw(visitor(number)).number(),
                "{arrival:?}"
            );
        }
    }
    subject.advance_seconds(60);
    expect_order_of_coming(&subject, 31).await;
}

pub(crate) async fn without_a_draw_each_arrival_is_in_the_order_of_coming(mut subject: Subject) {
    let one_slot = Settings {
        opens_at_ms: Some(subject.clock.now_ms() + 60_000),
        capacity: 1,
        ..three_a_second()
    };
    subject.open(one_slot).await;
    enter_before_draw(&subject, 20, Arrival::Bypass).await;
    expect_order_of_coming(&subject, 21).await;
}

/// A visitor of each arrival enters, numbered from `first` on, and stands behind the one before.
async fn expect_order_of_coming(subject: &Subject, first: u64) {
    let mut last = 0;
    for (number, arrival) in (first..).zip(Arrival::ALL) {
        enter_before_draw(subject, number, arrival).await;
        let place = subject.place(visitor(number)).await;
        assert!(
            place.is_after_opening() && place.raw() > last,
            "{arrival:?}: {place:?}"
        );
        last = place.raw();
    }
}
