//! What visitors of a late lane are told of their wait, and how long they wait.

use vestibule_domain::{estimate::Estimate, settings::Settings, state::EntryState};
use vestibule_tests::lines::{Subject, visitor};

use crate::{
    lane_order::line_up_in,
    settings::{bounded, in_turn},
};

/// How many entries are promoted each second.
const BATCH: u32 = 2;
const LATE_LANE: u8 = 4;

/// A line of 20 in the late lane, and one of 60 in lane 0.
async fn open_two_lanes(subject: &mut Subject, lane_share: u32) {
    let settings = in_turn(bounded(1_000_000, BATCH, 1));
    subject
        .open(Settings {
            lane_share,
            ..settings
        })
        .await;
    line_up_in(subject, LATE_LANE, 1..21).await;
    line_up_in(subject, 0, 101..161).await;
    subject.tick().await;
}

async fn told_in_late_lane(subject: &Subject, position: u64) -> Estimate {
    let view = subject.view().await;
    let (forecast, loads) = (view.forecast(), view.lane_loads());
    view.estimate_in_lane(&forecast, &loads, LATE_LANE, position)
        .expect("an estimate")
}

/// Ticks each second until the visitor is promoted, and returns how many seconds that took. Before each tick
/// `newcomers` enter lane 0.
async fn wait_seconds(subject: &Subject, number: u64, newcomers: u64) -> u64 {
    for seconds in 1..200 {
        for newcomer in 0..newcomers {
            subject
                .enter_lane(visitor(10_000 + 10 * seconds + newcomer), 0)
                .await;
        }
        subject.advance_seconds(1);
        subject.tick().await;
        if subject.state(visitor(number)).await == EntryState::Ready {
            return seconds;
        }
    }
    panic!("visitor {number} was not promoted")
}

pub(crate) async fn a_late_lane_is_told_the_wait_behind_earlier_ones(first: Subject) {
    for (lane_share, least) in [(10, 20), (0, 30)] {
        let mut subject = first.sibling();
        open_two_lanes(&mut subject, lane_share).await;
        let told = told_in_late_lane(&subject, 5).await;
        let waited = wait_seconds(&subject, 5, 0).await;
        assert!(waited >= least, "behind lane 0: {waited} s");
        assert!(
            (told.low..=told.high).contains(&waited),
            "told {told:?}, and it took {waited} s"
        );
    }
}

pub(crate) async fn arrivals_in_an_earlier_lane_do_not_outlast_the_estimate(mut subject: Subject) {
    open_two_lanes(&mut subject, 10).await;
    // As many newcomers as turns: lane 0 never ends.
    wait_seconds(&subject, 3, BATCH.into()).await;
    let told = told_in_late_lane(&subject, 5).await;
    let waited = wait_seconds(&subject, 8, BATCH.into()).await;
    assert!(waited >= 20, "each tenth turn: {waited} s");
    assert!(waited <= told.high, "told {told:?}, and it took {waited} s");
}
