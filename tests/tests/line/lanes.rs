//! How far the line has moved, as visitors far from the head learn it: who is called, and how many have gone ahead.

use vestibule_domain::{
    fact::{Fact, Turn},
    lane::{Lane, LaneProgress, WINDOW_ENTRIES_MIN, lane_top},
    score::WaitScore,
    settings::Settings,
};
use vestibule_tests::lines::{Subject, visitor};

use crate::{
    adopt::{adopt_as_unknown, live_record},
    settings::{bounded, in_turn},
};

async fn first_lane(subject: &Subject) -> LaneProgress {
    let view = subject.view().await;
    let [(4, progress)] = view.lanes[..] else {
        panic!("one lane: {:?}", view.lanes);
    };
    let read = subject
        .line
        .lane_progress(&subject.queue, Lane::DEFAULT.number())
        .await
        .expect("read");
    assert_eq!(read, progress, "both ways of reading say the same");
    progress
}

async fn place_of(subject: &Subject, number: u64) -> WaitScore {
    subject.place(visitor(number)).await
}

pub(crate) async fn only_visitors_near_the_head_are_called(mut subject: Subject) {
    subject.open(in_turn(bounded(10_000, 10, 10))).await;
    let before = first_lane(&subject).await;
    assert_eq!(
        before,
        LaneProgress::new(Lane::DEFAULT.number()),
        "every visitor of a new queue is called"
    );
    subject.line_up(1..=1_200).await;
    let place = place_of(&subject, 600).await;
    let position = subject.position(visitor(600)).await;

    assert_eq!(subject.tick().await.promoted, 10);
    let first = first_lane(&subject).await;
    assert_eq!(first.gone_ahead, 10);
    let last_called = place_of(&subject, 10 + WINDOW_ENTRIES_MIN).await;
    assert_eq!(first.check_in_through, last_called.raw());
    assert!(first.passed_through < place_of(&subject, 11).await.raw());
    assert!(
        place.raw() > first.check_in_through,
        "visitor 600 is far from the head"
    );

    // The position follows from the entries that have gone ahead, without a request about the entry.
    for _ in 0..12 {
        subject.advance_seconds(10);
        subject.tick().await;
    }
    let later = first_lane(&subject).await;
    let gone_ahead = u64::try_from(later.gone_ahead).expect("entries went ahead");
    assert!(gone_ahead > 120, "ten in each interval: {gone_ahead}");
    assert_eq!(
        subject.position(visitor(600)).await,
        position - gone_ahead,
        "position and entries gone ahead agree"
    );
    assert!(place.raw() <= later.check_in_through, "visitor 600 is called now");
}

pub(crate) async fn a_fast_line_calls_visitors_earlier(mut subject: Subject) {
    let settings = Settings {
        check_in_seconds: 30,
        polls_per_second_max: 100,
        ..bounded(10_000_000, 60, 1)
    };
    subject.open(settings).await;
    subject.line_up(1..=4_000).await;
    subject.tick().await;
    let at_pace = first_lane(&subject).await;
    assert_eq!(
        at_pace.check_in_through,
        place_of(&subject, 60 + 1_800).await.raw(),
        "30 s at 60 a second"
    );

    // At most as many as may poll: 100 polls a second, one in 30 s each.
    subject.change_settings(|settings| settings.batch = 1_000).await;
    subject.tick().await;
    let first = first_lane(&subject).await;
    let ahead = u64::try_from(first.gone_ahead).expect("entries went ahead");
    assert_eq!(
        first.check_in_through,
        place_of(&subject, ahead + 3_000).await.raw()
    );

    // While nothing moves, few are called.
    subject.change_settings(|settings| settings.paused = true).await;
    for _ in 0..60 {
        subject.advance_seconds(1);
        subject.tick().await;
    }
    let paused = first_lane(&subject).await;
    assert_eq!(
        paused.check_in_through,
        place_of(&subject, ahead + WINDOW_ENTRIES_MIN).await.raw()
    );
}

pub(crate) async fn an_entry_that_comes_back_counts_for_those_behind(mut subject: Subject) {
    subject.open(in_turn(bounded(100, 1, 1))).await;
    subject.line_up(1..=5).await;
    subject.tick().await;
    let first = first_lane(&subject).await;
    assert_eq!(
        (first.gone_ahead, first.check_in_through),
        (1, lane_top(Lane::DEFAULT.number()))
    );
    let old_place = WaitScore::next(0, subject.clock.now_ms() - 60_000);
    let waiting = Fact::waiting(old_place.visit(), Turn::First);
    let record = live_record(&subject, 9, waiting).await;
    adopt_as_unknown(&subject, 9, record).await;
    assert_eq!(first_lane(&subject).await.gone_ahead, 0);
    assert_eq!(subject.position(visitor(2)).await, 2);
    subject.advance_seconds(1);
    subject.tick().await;
    assert_eq!(first_lane(&subject).await.gone_ahead, 1);
    assert_eq!(subject.position(visitor(2)).await, 1);
}
