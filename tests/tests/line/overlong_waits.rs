//! The longest time that a visitor may wait.

use vestibule_domain::{
    change::{EndReason, Event},
    fact::{Fact, Turn},
    settings::{Entrance, Settings},
    state::EntryState,
};
use vestibule_line::{AdoptBasis, JoinKind, PROMOTE_CHUNK};
use vestibule_tests::lines::{Subject, configuration, visitor};

use crate::{
    adopt::{adopt, live_record, place_before},
    missing::expect_end_reason,
    restore::restored_entries,
    settings::{bounded, in_turn},
};

const SECONDS_MAX: u64 = 60;

/// No promotion for an hour after the first one.
fn limited() -> Settings {
    in_turn(Settings {
        waiting_seconds_max: u32::try_from(SECONDS_MAX).expect("small"),
        ..bounded(1, 1, 3_600)
    })
}

/// Opens a queue in which visitor 1 is ready, and 2 and 3 wait. Visitor 3 came ten seconds later.
async fn open_with_two_waits(subject: &mut Subject, settings: Settings) {
    subject.open(settings).await;
    subject.line_up([1, 2]).await;
    assert_eq!(subject.tick().await.promoted, 1);
    subject.advance_seconds(10);
    subject.enter(visitor(3)).await;
}

pub(crate) async fn a_wait_ends_when_it_is_too_old(mut subject: Subject) {
    open_with_two_waits(&mut subject, limited()).await;
    subject.advance_ms((SECONDS_MAX - 10) * 1_000 - 1);
    assert_eq!(subject.tick().await.overlong_waits, 0);
    subject.advance_ms(1);
    let tick = subject.tick().await;
    assert_eq!((tick.overlong_waits, tick.waiting, tick.absences), (1, 1, 0));
    assert_eq!(expect_end_reason(&subject, 2).await, EndReason::OverlongWait);
    let journal = subject.journal().await;
    let ends = journal
        .iter()
        .flat_map(|record| &record.changes)
        .filter(|change| {
            let how = EndReason::OverlongWait;
            matches!(change.event, Event::Ended { how: ended, .. } if ended == how)
        });
    let ended: Vec<_> = ends.map(|change| (change.id, change.fact().is_over)).collect();
    assert_eq!(ended, [(visitor(2), true)]);
    let view = subject.view().await;
    assert_eq!((view.totals.overlong_waits, view.imbalance.visits), (1, 0));
    // The turn of visitor 1 is over by now. A wait that has ended never goes on.
    assert_eq!(subject.state(visitor(3)).await, EntryState::Waiting);
    assert_eq!(subject.enter(visitor(2)).await.kind, JoinKind::NewVisit);
    subject.advance_seconds(10);
    assert_eq!(subject.tick().await.overlong_waits, 1);
    assert_eq!(expect_end_reason(&subject, 3).await, EndReason::OverlongWait);
}

pub(crate) async fn the_oldest_waits_end_first_and_in_chunks(mut subject: Subject) {
    subject.open(limited()).await;
    let count = PROMOTE_CHUNK + 5;
    subject.line_up(1..=count).await;
    assert_eq!(subject.tick().await.promoted, 1);
    let before = subject.view().await;
    // More visitors came in one millisecond than it has orders, so some places are a few milliseconds later.
    subject.advance_ms(SECONDS_MAX * 1_000 + 5);
    let first = subject.tick().await;
    // The turn of visitor 1 has passed, too, and counts towards the chunk.
    let ended = first.overlong_waits + first.no_shows;
    assert_eq!((ended, first.has_more), (PROMOTE_CHUNK, true));
    assert_eq!(subject.position(visitor(count)).await, 5);
    // A client of the public document learns that the head of the line has gone past.
    let (_, lane) = subject.view().await.lanes[0];
    assert_eq!(lane.gone_ahead - before.lanes[0].1.gone_ahead, 999);
    assert!(lane.passed_through < subject.place(visitor(1_001)).await.raw());
    let second = subject.tick().await;
    assert_eq!((second.overlong_waits, second.waiting), (5, 0));
}

pub(crate) async fn a_pause_starts_the_longest_wait_anew(mut subject: Subject) {
    open_with_two_waits(&mut subject, limited()).await;
    for standing in [
        |settings: &mut Settings| settings.paused = true,
        |settings: &mut Settings| (settings.paused, settings.entrance) = (false, Entrance::Closed),
    ] {
        subject.change_settings(standing).await;
        subject.advance_seconds(3 * SECONDS_MAX);
        assert_eq!(subject.tick().await.overlong_waits, 0);
    }
    subject
        .change_settings(|settings| settings.entrance = Entrance::Open)
        .await;
    subject.advance_ms(SECONDS_MAX * 1_000 - 1);
    assert_eq!(subject.tick().await.overlong_waits, 0);
    subject.advance_ms(1);
    assert_eq!(subject.tick().await.overlong_waits, 2);
}

pub(crate) async fn an_absent_entry_ends_when_its_wait_is_too_old(mut subject: Subject) {
    let settings = Settings {
        presence_seconds: 90,
        call_seconds: 10,
        absent_seconds: 3_600,
        ..bounded(100, 10, 1)
    };
    subject
        .open(Settings {
            waiting_seconds_max: 300,
            ..settings
        })
        .await;
    subject.line_up([1]).await;
    subject.line_up_silently([2]).await;
    subject.change_settings(|settings| settings.capacity = 1).await;
    subject.enter_silently(visitor(9)).await;
    // Visitor 1 takes the slot. The others are silent, and are passed over when there is room.
    for _ in 0..120 {
        subject.advance_seconds(1);
        subject.tick().await;
    }
    subject.change_settings(|settings| settings.capacity = 100).await;
    subject.tick().await;
    let absent = subject.view().await.absent;
    assert!(absent > 0, "{absent} are absent");
    subject.advance_seconds(180);
    let tick = subject.tick().await;
    assert_eq!((tick.overlong_waits, tick.absences, tick.waiting), (2, 0, 0));
    assert_eq!(subject.view().await.absent, 0);
}

/// The wait for a second turn goes on, and its visitor is not passed over by the ends of others.
pub(crate) async fn an_overlong_wait_passes_no_visitor_who_goes_on(mut subject: Subject) {
    let settings = Settings {
        waiting_seconds_max: u32::try_from(SECONDS_MAX).expect("small"),
        presence_seconds: 90,
        ..bounded(1, 1, 1)
    };
    subject.open(settings).await;
    subject.enter_silently(visitor(1)).await;
    subject.enter_silently(visitor(2)).await;
    subject.enter_silently(visitor(3)).await;
    let place = place_before(&subject, 10_000);
    let second = live_record(&subject, 9, Fact::waiting(place.visit(), Turn::Second)).await;
    adopt(
        &subject,
        9,
        Some(second),
        AdoptBasis::UnknownAt(subject.clock.now_ms()),
    )
    .await;
    subject.advance_seconds(SECONDS_MAX);
    let tick = subject.tick().await;
    assert_eq!((tick.overlong_waits, tick.waiting), (2, 1));
    let view = subject.view().await;
    assert_eq!((view.in_line(), view.absent), (1, 0));
    let fact = subject.line.check_in(&subject.queue, visitor(9)).await;
    fact.expect("the line answers");
    assert_eq!(subject.view().await.absent, 0);
}

pub(crate) async fn a_restored_wait_has_the_whole_time_again(mut subject: Subject) {
    subject.open(limited()).await;
    subject.line_up([1, 2]).await;
    let mut changes = Vec::new();
    for number in [1, 2] {
        changes.extend(subject.enter(visitor(number)).await.change);
    }
    subject.advance_seconds(2 * SECONDS_MAX);
    let restored = subject.sibling();
    let settings = configuration(&limited());
    let entries = restored_entries(&changes);
    let put = restored
        .line
        .restore(&restored.queue, &settings, 0, entries)
        .await;
    put.expect("restored");
    assert_eq!(restored.tick().await.overlong_waits, 0);
    restored.advance_seconds(SECONDS_MAX);
    assert_eq!(restored.tick().await.overlong_waits, 2);
}

pub(crate) async fn no_wait_is_too_old_while_the_clocks_disagree(mut subject: Subject) {
    open_with_two_waits(&mut subject, limited()).await;
    subject.clock.set_server_error_ms(7_200_000);
    assert_eq!(subject.tick().await.overlong_waits, 0);
    assert_eq!(subject.state(visitor(2)).await, EntryState::Waiting);
}
