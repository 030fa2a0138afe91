//! Sequences in which a crowd waits in several lanes, so that many stand between an entry and its turn, while operators move
//! entries and change settings.

use proptest::{collection::vec, prelude::*};
use vestibule_domain::{lane::Lane, settings::Entrance};
use vestibule_line::{Arrival, LeaveReason};

use crate::{
    operations::{Operation, VisitSelector, begin_with, tick},
    settings_operations::{Setting, setting},
};

const CROWD: u64 = 40;

/// A paced queue with a few slots, and far more visitors than in other sequences.
pub(crate) fn sequence() -> impl Strategy<Value = Vec<Operation>> {
    let opening = [
        Setting::Capacity(4),
        Setting::IntervalSeconds(1),
        Setting::FastTrack(false),
        Setting::LaneShare(20),
    ];
    begin_with(opening, vec(operation(), 150..=300))
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        20 => (visitor(), lane()).prop_map(|(id, lane)| Operation::Enter(id, Arrival::Ordinary, None, lane)),
        20 => visitor().prop_map(Operation::CheckIn),
        12 => Just(tick()),
        8 => (1_u64..4).prop_map(|seconds| Operation::AdvanceClockMicros(seconds * 1_000_000)),
        4 => (visitor(), lane()).prop_map(|(id, lane)| Operation::MoveToLane(id, lane)),
        4 => visitor().prop_map(Operation::Claim),
        2 => visitor().prop_map(|id| Operation::Leave(id, VisitSelector::None, LeaveReason::Leave)),
        2 => visitor().prop_map(|id| Operation::Leave(id, VisitSelector::None, LeaveReason::Complete)),
        2 => setting().prop_map(Operation::ChangeSetting),
        // Settings that keep visitors out end soon.
        2 => Just(Operation::ChangeSetting(Setting::Entrance(Entrance::Open))),
        1 => Just(Operation::ChangeSetting(Setting::Paused(false))),
        4 => Just(Operation::Acknowledge { records: 12, ended: Vec::new() }),
    ]
}

fn visitor() -> impl Strategy<Value = u64> {
    1..=CROWD
}

fn lane() -> impl Strategy<Value = Lane> {
    prop_oneof![3 => Just(4), 2 => Just(1), 1 => Just(6)]
        .prop_map(|number| Lane::new(number).expect("below 8"))
}
