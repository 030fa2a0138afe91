//! The clocks of presence and claims stand still while no visitor can be expected to check in: during an outage of the
//! front door, and during a pause.

use vestibule_domain::{pace::LimitedBy, state::EntryState};
use vestibule_tests::lines::{Subject, visitor};

use crate::{
    presence::{PRESENCE_SECONDS, check_in, counts, make_room, run_seconds, wait_in_full_queue},
    settings::bounded,
};

pub(crate) async fn an_outage_of_the_front_door_makes_no_visitor_absent(mut subject: Subject) {
    let all: Vec<u64> = (1..=60).collect();
    wait_in_full_queue(&mut subject, 60, &all, 60).await;
    // Six visitors a second polled. For eleven minutes no request comes.
    assert_eq!(run_seconds(&subject, 660, &[]).await, 0);
    assert_eq!(counts(&subject).await, (60, 60, 0));
    check_in(&subject, 1).await;
    assert_eq!(make_room(&mut subject).await.promoted, 10, "one batch");
    assert_eq!(run_seconds(&subject, 5, &[]).await, 50);
    assert_eq!(counts(&subject).await, (0, 0, 0), "no entry was passed over");
}

pub(crate) async fn a_look_from_far_shows_that_the_front_door_is_up(mut subject: Subject) {
    let pollers: Vec<u64> = (1..=60).collect();
    wait_in_full_queue(&mut subject, 800, &pollers, 60).await;
    run_seconds(&subject, 2 * PRESENCE_SECONDS, &[]).await;
    assert_eq!(
        subject.view().await.present,
        60,
        "it looks as if no request came through"
    );
    // Visitor 700 is not called yet, and looks after the entry now and then, until the window has grown.
    run_seconds(&subject, 2 * PRESENCE_SECONDS, &[700]).await;
    let present = subject.view().await.present;
    assert_eq!(present, 1, "visitors who stopped polling delay no other visitor");
}

pub(crate) async fn an_outage_of_the_front_door_ends_no_turn(mut subject: Subject) {
    let all: Vec<u64> = (1..=60).collect();
    wait_in_full_queue(&mut subject, 60, &all, 60).await;
    run_seconds(&subject, 20, &[]).await;
    assert_eq!(
        make_room(&mut subject).await.promoted,
        10,
        "the line tries one batch"
    );
    let tick = subject.tick().await;
    assert_eq!((tick.promoted, tick.limited_by), (0, LimitedBy::Presence));
    // For eleven minutes no request comes. Then a visitor whose time to claim is a minute claims.
    assert_eq!(run_seconds(&subject, 660, &[]).await, 0);
    assert_eq!(subject.view().await.totals.no_shows, 0);
    subject.claim(visitor(1)).await;
    assert_eq!(run_seconds(&subject, 5, &[]).await, 50);
    for number in 2..=10 {
        subject.claim(visitor(number)).await;
    }
}

pub(crate) async fn claims_show_that_the_front_door_is_up(mut subject: Subject) {
    let all: Vec<u64> = (1..=60).collect();
    wait_in_full_queue(&mut subject, 60, &all, 61).await;
    subject
        .change_settings(|settings| (settings.capacity, settings.batch) = (1_000, 1))
        .await;
    // The others hold their polls. The first visitor does not claim.
    for number in 1..=30 {
        subject.advance_seconds(1);
        assert_eq!(subject.tick().await.promoted, 1, "visitor {number}");
        if number > 1 {
            subject.claim(visitor(number)).await;
        }
    }
}

/// A poll is held for 20 s. So all present visitors may be silent for that long while the front door is up.
pub(crate) async fn held_polls_stop_no_claim_clock(mut subject: Subject) {
    const HOLD_SECONDS: u64 = 20;
    const CLAIM_SECONDS: u64 = 60;
    let all: Vec<u64> = (1..=60).collect();
    wait_in_full_queue(&mut subject, 60, &all, 60).await;
    for number in &all {
        check_in(&subject, *number).await;
    }
    subject.change_settings(|settings| settings.capacity = 2).await;
    assert_eq!(subject.tick().await.promoted, 1);
    // Visitor 1 does not claim.
    for second in 1..=CLAIM_SECONDS {
        if second % HOLD_SECONDS == 0 {
            for number in &all {
                check_in(&subject, *number).await;
            }
        }
        assert_eq!(subject.view().await.totals.no_shows, 0, "second {second}");
        run_seconds(&subject, 1, &[]).await;
    }
    assert_eq!(subject.view().await.totals.no_shows, 1);
    assert_eq!(subject.state(visitor(2)).await, EntryState::Ready);
}

pub(crate) async fn a_pause_makes_no_visitor_absent(mut subject: Subject) {
    subject.open(bounded(1_000, 10, 1)).await;
    // So few polls in ten seconds that silence does not look like an outage.
    for first in [1, 6, 11] {
        subject.line_up(first..first + 5).await;
        subject.change_settings(|settings| settings.paused = true).await;
        run_seconds(&subject, 10, &[]).await;
        subject.change_settings(|settings| settings.paused = false).await;
    }
    subject.change_settings(|settings| settings.paused = true).await;
    run_seconds(&subject, 2 * PRESENCE_SECONDS, &[]).await;
    assert_eq!(counts(&subject).await, (15, 15, 0));
    subject.change_settings(|settings| settings.paused = false).await;
    assert_eq!(subject.tick().await.promoted, 10);
    assert_eq!(run_seconds(&subject, 1, &[]).await, 5);
}
