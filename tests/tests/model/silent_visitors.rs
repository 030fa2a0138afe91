//! Sequences in which visitors are often silent, so that absences of different lengths meet the limits, and visitors who
//! close the page leave.

use proptest::{collection::vec, prelude::*};
use vestibule_domain::lane::Lane;
use vestibule_line::{Arrival, LeaveReason};

use crate::{
    operations::{Operation, VisitSelector, begin_with, tick, visitor},
    settings_operations::Setting,
};

/// A tick every few seconds, few polls, and low limits.
pub(crate) fn sequence() -> impl Strategy<Value = Vec<Operation>> {
    let opening = [
        Setting::Capacity(1),
        Setting::PresenceSeconds(4),
        Setting::CallSeconds(2),
        Setting::LeaveOnClose(true),
    ];
    begin_with(opening, vec(operation(), 100..=210))
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        5 => visitor().prop_map(|id| Operation::Enter(id, Arrival::Ordinary, None, Lane::DEFAULT)),
        2 => visitor().prop_map(Operation::CheckIn),
        9 => Just(tick()),
        9 => (1_u64..6).prop_map(|seconds| Operation::AdvanceClockMicros(seconds * 1_000_000)),
        1 => visitor().prop_map(|id| Operation::Leave(id, VisitSelector::None, LeaveReason::Leave)),
        2 => visitor().prop_map(|id| Operation::MarkClosing(id, VisitSelector::None)),
        1 => visitor().prop_map(Operation::RemoveClosingMark),
        2 => Just(Operation::TakeReport { every_ms: 1, idle_ms: 1 }),
        1 => Just(Operation::Acknowledge { records: 12, ended: Vec::new() }),
        2 => (0_u32..4).prop_map(|entries| Operation::ChangeSetting(Setting::AbsentLimit(entries))),
        1 => prop_oneof![2 => Just(0), 1 => 2_u32..5]
            .prop_map(|entries| Operation::ChangeSetting(Setting::QueueLimit(entries))),
        2 => (1_u32..7).prop_map(|slots| Operation::ChangeSetting(Setting::Capacity(slots))),
    ]
}
