//! Presence: visitors who check in are promoted in turn, and silent ones cost the others nothing.

use vestibule_domain::{
    entry_status::EntryStatus,
    lane::{Lane, LaneProgress, WINDOW_ENTRIES_MIN, lane_top},
    pace::LimitedBy,
    settings::Settings,
    state::EntryState,
};
use vestibule_line::{EntryLookup, JoinKind, Promotion};
use vestibule_tests::lines::{Subject, configuration, fresh_queue, visitor};

use crate::{
    restore::restored_entries,
    settings::{bounded, in_turn},
};

/// `presence_seconds` and `call_seconds` of these tests, as the defaults have them.
pub(crate) const PRESENCE_SECONDS: u64 = 90;
pub(crate) const CALL_SECONDS: u64 = 30;

/// Ticks once a second for this long, while these visitors poll every ten seconds. Returns how many were promoted.
pub(crate) async fn run_seconds(subject: &Subject, seconds: u64, pollers: &[u64]) -> u64 {
    let mut promoted = 0;
    for second in 0..seconds {
        if second % 10 == 0 {
            for number in pollers {
                check_in(subject, *number).await;
            }
        }
        subject.advance_seconds(1);
        promoted += subject.tick().await.promoted;
    }
    promoted
}

/// The visitor polls. Returns the position of a waiting one.
pub(crate) async fn check_in(subject: &Subject, number: u64) -> Option<u64> {
    let checked_in = subject.line.check_in(&subject.queue, visitor(number)).await;
    match checked_in.expect("an answer").lookup {
        EntryLookup::Found(EntryStatus::Waiting { position, .. }) => Some(position),
        _ => None,
    }
}

pub(crate) async fn lane(subject: &Subject) -> LaneProgress {
    let progress = subject
        .line
        .lane_progress(&subject.queue, Lane::DEFAULT.number())
        .await;
    progress.expect("an answer")
}

/// How many are called, present and absent.
pub(crate) async fn counts(subject: &Subject) -> (u64, u64, u64) {
    let view = subject.view().await;
    (view.called, view.present, view.absent)
}

/// Fills the queue, lets these visitors wait for so long that only polls keep them present, and then makes room.
pub(crate) async fn wait_in_full_queue(subject: &mut Subject, waiting: u64, pollers: &[u64], seconds: u64) {
    let long_sessions = Settings {
        session_seconds: 7_200,
        session_max_seconds: 7_200,
        ..bounded(1, 10, 1)
    };
    subject.open(long_sessions).await;
    subject.enter(visitor(1_000)).await;
    subject.line_up_silently(1..=waiting).await;
    assert_eq!(
        run_seconds(subject, seconds, pollers).await,
        0,
        "the queue is full"
    );
}

pub(crate) async fn make_room(subject: &mut Subject) -> Promotion {
    subject
        .change_settings(|settings| settings.capacity = 1_000)
        .await;
    subject.tick().await
}

pub(crate) async fn a_visitor_who_polls_is_promoted_in_turn(mut subject: Subject) {
    wait_in_full_queue(&mut subject, 8, &[1, 2, 3, 4, 5, 6, 7, 8], 200).await;
    assert_eq!(counts(&subject).await, (8, 8, 0));
    assert_eq!(make_room(&mut subject).await.promoted, 8);
}

pub(crate) async fn silence_at_the_head_holds_the_line_for_the_call_time_only(mut subject: Subject) {
    subject.open(in_turn(bounded(100, 10, 1))).await;
    subject.line_up(1..=3).await;
    subject.change_settings(|settings| settings.paused = true).await;
    subject
        .change_settings(|settings| settings.presence_seconds = 90)
        .await;
    subject.tick().await;
    subject.change_settings(|settings| settings.paused = false).await;
    // No visitor has checked in since presence was switched on. Visitor 2 does.
    subject.tick().await;
    check_in(&subject, 2).await;
    let tick = subject.tick().await;
    assert_eq!((tick.promoted, tick.limited_by), (0, LimitedBy::Presence));
    assert_eq!(run_seconds(&subject, CALL_SECONDS - 1, &[]).await, 0);
    assert_eq!(
        run_seconds(&subject, 1, &[]).await,
        1,
        "visitor 1 counts as absent"
    );
    assert_eq!(subject.state(visitor(2)).await, EntryState::Ready);
}

pub(crate) async fn entering_is_no_check_in(mut subject: Subject) {
    wait_in_full_queue(&mut subject, 5, &[], 60).await;
    assert_eq!(counts(&subject).await, (5, 0, 0), "they never polled");
    assert_eq!(
        subject.enter_silently(visitor(3)).await.kind,
        JoinKind::Kept,
        "entering again is none either"
    );
    assert_eq!(make_room(&mut subject).await.promoted, 0);
    check_in(&subject, 4).await;
    assert_eq!(subject.tick().await.promoted, 1);
    assert_eq!(subject.state(visitor(4)).await, EntryState::Ready);
}

/// One client enters 200 visitors that never poll. Ten who poll come behind them.
pub(crate) async fn visitors_who_never_poll_get_no_slot(mut subject: Subject) {
    let settings = Settings {
        fast_track: false,
        ..bounded(20, 20, 1)
    };
    subject.open(settings).await;
    subject.tick().await;
    let (fakes, honest): (Vec<u64>, Vec<u64>) = ((1..=200).collect(), (201..=210).collect());
    for number in &fakes {
        subject.enter_silently(visitor(*number)).await;
    }
    for number in &honest {
        subject.enter(visitor(*number)).await;
    }
    let mut seconds = 0;
    while subject.view().await.totals.promoted < 10 {
        seconds += 1;
        run_seconds(&subject, 1, &[]).await;
        assert!(seconds <= 4, "without the 200 they wait for one second");
    }
    for number in honest {
        assert_eq!(subject.state(visitor(number)).await, EntryState::Ready);
    }
    assert_eq!(run_seconds(&subject, 100, &[]).await, 0, "no slot for a fake");
    assert_eq!(counts(&subject).await, (0, 0, 200));
}

/// A visitor whose first poll is late is passed by, and is the first in line with it.
pub(crate) async fn a_late_first_poll_keeps_the_place(mut subject: Subject) {
    subject.open(bounded(3, 1, 1)).await;
    subject.line_up_silently([1]).await;
    subject.line_up([2, 3, 4]).await;
    assert_eq!(
        run_seconds(&subject, 2, &[]).await,
        0,
        "the first one may be on the way"
    );
    assert_eq!(run_seconds(&subject, 1, &[]).await, 1);
    assert_eq!(subject.state(visitor(2)).await, EntryState::Ready);
    assert_eq!(check_in(&subject, 1).await, Some(1));
    assert_eq!(run_seconds(&subject, 1, &[]).await, 1);
    assert_eq!(subject.state(visitor(1)).await, EntryState::Ready);
}

/// The first tick after a gap, as of a promoter that was killed, moves the presence clock on by seconds at once.
pub(crate) async fn a_gap_of_ticks_passes_no_newcomer_by(mut subject: Subject) {
    let settings = Settings {
        fast_track: false,
        ..bounded(3, 1, 1)
    };
    subject.open(settings).await;
    subject.tick().await;
    subject.advance_seconds(5);
    subject.enter_silently(visitor(1)).await;
    subject.enter(visitor(2)).await;
    subject.advance_ms(500);
    assert_eq!(
        subject.tick().await.promoted,
        0,
        "the first one may be on the way"
    );
    assert_eq!(check_in(&subject, 1).await, Some(1));
    assert_eq!(run_seconds(&subject, 1, &[]).await, 1);
    assert_eq!(subject.state(visitor(1)).await, EntryState::Ready);
}

pub(crate) async fn a_lookup_by_a_stranger_is_no_check_in(mut subject: Subject) {
    wait_in_full_queue(&mut subject, 3, &[], CALL_SECONDS + 1).await;
    let told = subject.line.look_up(&subject.queue, visitor(2)).await;
    assert_eq!(counts(&subject).await, (3, 0, 0), "none has polled");
    let own = subject.line.check_in(&subject.queue, visitor(2)).await;
    assert_eq!(counts(&subject).await, (3, 1, 0));
    assert_eq!(told.expect("an answer"), own.expect("an answer"));
}

pub(crate) async fn a_full_queue_passes_no_entry_over(mut subject: Subject) {
    wait_in_full_queue(&mut subject, 40, &[], 1_000).await;
    assert_eq!(counts(&subject).await, (40, 0, 0));
    assert_eq!(lane(&subject).await.gone_ahead, 0);
}

pub(crate) async fn silent_crowds_make_the_window_grow(mut subject: Subject) {
    subject.open(bounded(10, 1, 1)).await;
    subject.line_up_silently(1..=4_000).await;
    subject.tick().await;
    let called = async || subject.view().await.called;
    assert_eq!(called().await, WINDOW_ENTRIES_MIN);
    let mut passed_after = None;
    for second in 0..400_u64 {
        run_seconds(&subject, 1, &[4_000]).await;
        if subject.state(visitor(4_000)).await == EntryState::Ready {
            passed_after = Some(second);
            break;
        }
    }
    let seconds = passed_after.expect("the honest visitor had a turn");
    assert!(
        seconds <= 150,
        "500, 2,000 and 4,000 are judged in turn: {seconds} s"
    );
    assert_eq!(
        subject.view().await.absent,
        3_999 - subject.view().await.totals.promoted + 1
    );
}

pub(crate) async fn presence_can_be_switched_off_and_on(mut subject: Subject) {
    wait_in_full_queue(&mut subject, 12, &[12], CALL_SECONDS + 1).await;
    subject.change_settings(|settings| settings.capacity = 2).await;
    assert_eq!(subject.tick().await.promoted, 1);
    assert_eq!(counts(&subject).await, (0, 0, 11));
    let before = lane(&subject).await.gone_ahead;
    subject
        .change_settings(|settings| settings.presence_seconds = 0)
        .await;
    assert_eq!(subject.tick().await.promoted, 0);
    assert_eq!(subject.view().await.absent, 0);
    assert_eq!(
        lane(&subject).await.gone_ahead,
        before - 11,
        "they are in line again"
    );
    subject.change_settings(|settings| settings.capacity = 5).await;
    assert_eq!(subject.tick().await.promoted, 3, "in turn, present or not");
    assert_eq!(subject.state(visitor(3)).await, EntryState::Ready);
    subject
        .change_settings(|settings| settings.presence_seconds = 90)
        .await;
    subject.change_settings(|settings| settings.capacity = 100).await;
    assert_eq!(subject.tick().await.promoted, 0, "they are called first");
    check_in(&subject, 4).await;
    assert_eq!(subject.tick().await.promoted, 1);
}

pub(crate) async fn a_restored_line_calls_its_visitors_first(mut subject: Subject) {
    subject.open(bounded(100, 10, 1)).await;
    subject.change_settings(|settings| settings.paused = true).await;
    let mut changes = Vec::new();
    for number in 1..=4 {
        changes.push(subject.enter(visitor(number)).await.change.expect("new"));
        subject.advance_ms(1);
    }
    let mut restored = subject.open_sibling(bounded(100, 10, 1)).await;
    restored.queue = fresh_queue();
    let mut configuration = configuration(&restored.settings);
    configuration.epoch = 2;
    let outcome = restored
        .line
        .restore(&restored.queue, &configuration, 0, restored_entries(&changes))
        .await;
    outcome.expect("restored");
    restored.advance_seconds(2);
    let tick = restored.tick().await;
    assert_eq!((tick.promoted, tick.limited_by), (0, LimitedBy::Presence));
    assert_eq!(
        lane(&restored).await.check_in_through,
        lane_top(Lane::DEFAULT.number())
    );
    check_in(&restored, 1).await;
    assert_eq!(restored.tick().await.promoted, 1, "the head checked in");
    check_in(&restored, 3).await;
    assert_eq!(run_seconds(&restored, CALL_SECONDS - 3, &[]).await, 0);
    assert_eq!(
        run_seconds(&restored, 3, &[3]).await,
        1,
        "visitor 2 is passed over"
    );
}

pub(crate) async fn one_poll_checks_in_far_visitors_not_at_all(mut subject: Subject) {
    subject.open(bounded(1, 10, 1)).await;
    subject.enter(visitor(9_000)).await;
    subject.line_up_silently(1..=800).await;
    subject.tick().await;
    assert_eq!(check_in(&subject, 700).await, Some(700));
    let view = subject.view().await;
    assert_eq!((view.called, view.present), (WINDOW_ENTRIES_MIN, 0));
    check_in(&subject, 300).await;
    assert_eq!(subject.view().await.present, 1);
}
