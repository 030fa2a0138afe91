//! Sequences in which the backup gets what the line decides, so that a restored queue is the one that was lost.

use proptest::{collection::vec, prelude::*};
use vestibule_line::{Arrival, LeaveReason};

use crate::{
    operations::{Operation, VisitSelector, lane, raise_watermark, take_tally, tick, visitor},
    recovery_operations::recovery,
    settings_operations::setting,
};

/// Clocks are right, each answer reaches the backup, and no record comes from elsewhere.
pub(crate) fn sequence() -> impl Strategy<Value = Vec<Operation>> {
    vec(operation(), 40..=210)
}

fn operation() -> impl Strategy<Value = Operation> {
    let arrival = prop_oneof![6 => Just(Arrival::Ordinary), 1 => Just(Arrival::Bypass)];
    let reason = prop_oneof![
        2 => Just(LeaveReason::Leave),
        1 => Just(LeaveReason::Complete),
        1 => Just(LeaveReason::Evict)
    ];
    let with_visit = || visitor().prop_map(|id| (id, VisitSelector::Current));
    prop_oneof![
        9 => (visitor(), arrival, lane()).prop_map(|(id, arrival, lane)| Operation::Enter(id, arrival, None, lane)),
        4 => visitor().prop_map(Operation::CheckIn),
        6 => Just(tick()),
        4 => visitor().prop_map(Operation::Claim),
        2 => (visitor(), lane()).prop_map(|(id, lane)| Operation::MoveToLane(id, lane)),
        1 => (visitor(), any::<bool>()).prop_map(|(id, over_pace)| Operation::PromoteEntry(id, over_pace)),
        2 => (visitor(), reason)
            .prop_map(|(id, reason)| Operation::Leave(id, VisitSelector::None, reason)),
        1 => vec(with_visit(), 0..3)
            .prop_map(|visits| Operation::Evict { visits, spares_checked_in: false }),
        1 => visitor().prop_map(|visitor| Operation::Extend {
            visitor,
            visit: VisitSelector::Current,
            seconds: 60,
            latest_end_ms_from_now: 300_000,
        }),
        2 => (0_usize..12).prop_map(|records| Operation::Acknowledge { records, ended: Vec::new() }),
        6 => (0_u64..20_000_000).prop_map(Operation::AdvanceClockMicros),
        3 => setting().prop_map(Operation::ChangeSetting),
        2 => take_tally(),
        1 => raise_watermark(),
        4 => recovery().prop_map(Operation::Recover),
    ]
}
