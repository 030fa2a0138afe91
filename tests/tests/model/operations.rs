//! The operations on a queue.

use proptest::{collection::vec, option, prelude::*, strategy::Union};
use vestibule_domain::{
    consumption::UseId,
    draw::{DrawSeed, DrawnOrder},
    id::Salt,
    lane::Lane,
    load::LoadReport,
};
use vestibule_line::{Arrival, CheckOrder, FallbackTickOrder, LeaveReason};

use crate::{
    adopt_operations::{Adoption, adoption},
    checked_line::CHANGE_KINDS,
    clock_readings::{passed_micros, server_offset_ms},
    crowded_lanes, recovered_queues,
    recovery_operations::{Recovery, recovery},
    settings_operations::{Setting, setting, switch},
    silent_visitors,
};

/// The number of visitors.
pub(crate) const VISITORS: u64 = 6;

/// An operation. It names a visitor by number.
#[derive(Debug, Clone)]
pub(crate) enum Operation {
    /// With an order that a draw gives, or without one.
    Enter(u64, Arrival, Option<DrawnOrder>, Lane),
    Status(u64),
    /// Many entries are asked for at once.
    StatusMany(Vec<u64>),
    CheckIn(u64),
    Promote {
        max_entries: u64,
        is_promoter: bool,
        /// The tick that the caller has seen, relative to the last one: the number and the time in milliseconds.
        seen_tick: Option<(i64, i64)>,
        has_changed_server: bool,
    },
    /// An operator moves an entry to a lane.
    MoveToLane(u64, Lane),
    /// An operator promotes one entry, beyond the pace if the flag is set.
    PromoteEntry(u64, bool),
    /// A request takes the turn for a fallback tick.
    TakeFallbackTick(FallbackTickOrder),
    /// The idle promoter removes its heartbeat.
    ParkPromoter,
    Claim(u64),
    /// A visitor closes the page.
    MarkClosing(u64, VisitSelector),
    /// A request shows that a page of the visitor is open.
    RemoveClosingMark(u64),
    Leave(u64, VisitSelector, LeaveReason),
    /// An operator asks which of all visitors are present, and evicts these, or only those who have not polled.
    Evict {
        visits: Vec<(u64, VisitSelector)>,
        spares_checked_in: bool,
    },
    Validate {
        visitor: u64,
        visit: VisitSelector,
        claims: bool,
        consumes: bool,
        /// The number of the use under which the entry is consumed.
        use_number: Option<u8>,
        /// The end of the visitor's pass of an earlier epoch, relative to the given time. May be negative.
        pass_ms_from_now: Option<i64>,
    },
    Extend {
        visitor: u64,
        visit: VisitSelector,
        seconds: u32,
        /// Relative to the given time. May be negative.
        latest_end_ms_from_now: i64,
    },
    /// The backup has this many of the oldest records, and these ends.
    Acknowledge {
        records: usize,
        ended: Vec<(u64, EndOrder)>,
    },
    /// The backup did not accept a change of this kind.
    AppendToJournal(u64, usize),
    /// The backup accepted only a part of the record of this number. Of each three changes it accepted the
    /// first, did not try the second and rejected the third.
    Requeue {
        record: usize,
        tries: u32,
        wait_ms: u64,
    },
    /// The backup keeps rejecting the record of this number, which becomes a dead letter.
    DeadLetter(usize),
    /// The backup accepted this many dead letters.
    AcknowledgeDeadLetters(usize),
    /// An entry is compared with its record.
    Adopt(Adoption),
    /// All pages are read.
    ReadPages,
    /// A promoter asks for the turn to run the consistency check.
    TakeCheck(CheckOrder),
    /// The consistency check has finished this many shards.
    RecordCheckProgress(u8),
    /// A poll is to be held if fewer than `below` are, for the time of the lease.
    TakeHold {
        visitor: u64,
        below: u64,
        lease_ms: u64,
    },
    /// These polls are released.
    ReleaseHolds(Vec<u64>),
    /// A visitor calls an API that the authorizer protects.
    TakeCall(u64),
    /// The protected service reports its load.
    RecordLoad(LoadReport),
    AdvanceClockMicros(u64),
    SetClockBackMicros(u64),
    /// The clock of the server is set this many milliseconds ahead of the callers' clocks.
    SetServerOffsetMs(i64),
    /// A promoter sets the right offset of the clock, or one that is wrong by this much.
    AdjustClock {
        error_ms: i64,
    },
    ChangeSetting(Setting),
    /// An operator gives a switch while the backup is away.
    Switch(Setting),
    /// The backup has all switches.
    SettleSwitches,
    /// The time between two reports, and the same for an idle queue.
    TakeReport {
        every_ms: u64,
        idle_ms: u64,
    },
    /// The backup is to have the tally, if none was taken for this time. `is_stored` is whether the caller succeeds.
    TakeTally {
        every_ms: u64,
        is_stored: bool,
    },
    /// An operator reads the report.
    ReadTally,
    /// A promoter raises the watermark, and has read the fence that the backup has, or a later one.
    RaiseWatermark {
        is_fence_ahead: bool,
    },
    /// An operator asks the server whether it gives what the line needs.
    AskServer,
    /// Something happens to the whole queue.
    Recover(Recovery),
}

impl Operation {
    /// Whether the line does not have what the backup and the journal have after this.
    pub(crate) fn departs_from_backup(&self) -> bool {
        match self {
            Self::Adopt(_) | Self::AppendToJournal(..) | Self::DeadLetter(_) => true,
            Self::Acknowledge { ended, .. } => !ended.is_empty(),
            _ => false,
        }
    }
}

/// Which visit an operation names. The number is known only when the operation runs.
#[derive(Debug, Clone, Copy)]
pub(crate) enum VisitSelector {
    None,
    Current,
    Other,
}

/// How the end that the backup has compares with the one that the line knows.
#[derive(Debug, Clone, Copy)]
pub(crate) enum EndOrder {
    Earlier,
    Same,
    Later,
}

/// A sequence of operations. Some are short, so that a failure is found in few steps.
pub(crate) fn sequence() -> impl Strategy<Value = Vec<Operation>> {
    prop_oneof![
        6 => vec(operation(), 1..=210),
        2 => silent_visitors::sequence(),
        1 => recovered_queues::sequence(),
        1 => crowded_lanes::sequence()
    ]
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        8 => (visitor(), arrival(), prop_oneof![3 => Just(false), 1 => Just(true)], lane()).prop_map(
            |(id, arrival, is_drawn, lane)| Operation::Enter(id, arrival, is_drawn.then(|| draw(id)), lane)
        ),
        2 => visitor().prop_map(Operation::Status),
        1 => vec(visitor(), 0..4).prop_map(Operation::StatusMany),
        6 => visitor().prop_map(Operation::CheckIn),
        6 => promote(),
        2 => (visitor(), lane()).prop_map(|(id, lane)| Operation::MoveToLane(id, lane)),
        1 => (visitor(), any::<bool>()).prop_map(|(id, over_pace)| Operation::PromoteEntry(id, over_pace)),
        2 => (1_u64..6_000, 1_u64..2_000).prop_map(|(promoter_down_after_ms, every_ms)| {
            Operation::TakeFallbackTick(FallbackTickOrder { promoter_down_after_ms, every_ms })
        }),
        1 => Just(Operation::ParkPromoter),
        4 => visitor().prop_map(Operation::Claim),
        3 => (visitor(), visit_selector()).prop_map(|(id, visit)| Operation::MarkClosing(id, visit)),
        1 => visitor().prop_map(Operation::RemoveClosingMark),
        2 => (visitor(), visit_selector(), leave_reason())
            .prop_map(|(id, visit, reason)| Operation::Leave(id, visit, reason)),
        2 => (vec((visitor(), visit_selector()), 0..4), any::<bool>())
            .prop_map(|(visits, spares_checked_in)| Operation::Evict { visits, spares_checked_in }),
        3 => validate(),
        2 => extend(),
        3 => (0_usize..12, vec((visitor(), end_order()), 0..4))
            .prop_map(|(records, ended)| Operation::Acknowledge { records, ended }),
        1 => (visitor(), 0_usize..CHANGE_KINDS).prop_map(|(id, kind)| Operation::AppendToJournal(id, kind)),
        2 => (0_usize..4, 1_u32..11, 0_u64..60_000).prop_map(|(record, tries, wait_ms)| {
            Operation::Requeue { record, tries, wait_ms }
        }),
        1 => (0_usize..4).prop_map(Operation::DeadLetter),
        1 => (0_usize..3).prop_map(Operation::AcknowledgeDeadLetters),
        8 => adoption().prop_map(Operation::Adopt),
        1 => Just(Operation::ReadPages),
        2 => take_check(),
        1 => prop_oneof![1_u8..64, Just(64)].prop_map(Operation::RecordCheckProgress),
        2 => (visitor(), 0_u64..4, 1_u64..40_000).prop_map(|(visitor, below, lease_ms)| {
            Operation::TakeHold { visitor, below, lease_ms }
        }),
        1 => vec(visitor(), 1..3).prop_map(Operation::ReleaseHolds),
        2 => visitor().prop_map(Operation::TakeCall),
        1 => load().prop_map(Operation::RecordLoad),
        6 => passed_micros().prop_map(Operation::AdvanceClockMicros),
        1 => passed_micros().prop_map(Operation::SetClockBackMicros),
        2 => server_offset_ms().prop_map(Operation::SetServerOffsetMs),
        3 => prop_oneof![4 => Just(0_i64), 1 => -2_000_i64..2_000]
            .prop_map(|error_ms| Operation::AdjustClock { error_ms }),
        2 => setting().prop_map(Operation::ChangeSetting),
        1 => switch().prop_map(Operation::Switch),
        2 => Just(Operation::SettleSwitches),
        2 => (1_u64..40_000, 1_u64..200_000)
            .prop_map(|(every_ms, idle_ms)| Operation::TakeReport { every_ms, idle_ms }),
        2 => take_tally(),
        1 => Just(Operation::ReadTally),
        2 => raise_watermark(),
        1 => Just(Operation::AskServer),
        3 => recovery().prop_map(Operation::Recover),
    ]
}

/// The tick of a promoter that knows of nothing unusual.
pub(crate) fn tick() -> Operation {
    Operation::Promote {
        max_entries: u64::MAX,
        is_promoter: true,
        seen_tick: None,
        has_changed_server: false,
    }
}

/// Sequences that begin with these settings.
pub(crate) fn begin_with<const COUNT: usize>(
    opening: [Setting; COUNT],
    operations: impl Strategy<Value = Vec<Operation>>,
) -> impl Strategy<Value = Vec<Operation>> {
    operations.prop_map(move |operations| {
        let settings = opening.iter().cloned().map(Operation::ChangeSetting);
        settings.chain(operations).collect()
    })
}

pub(crate) fn take_tally() -> impl Strategy<Value = Operation> {
    (0_u64..20_000, any::<bool>())
        .prop_map(|(every_ms, is_stored)| Operation::TakeTally { every_ms, is_stored })
}

pub(crate) fn raise_watermark() -> impl Strategy<Value = Operation> {
    prop_oneof![4 => Just(false), 1 => Just(true)]
        .prop_map(|is_fence_ahead| Operation::RaiseWatermark { is_fence_ahead })
}

pub(crate) fn visitor() -> impl Strategy<Value = u64> {
    1..=VISITORS
}

/// The order of a visitor in the draw.
fn draw(number: u64) -> DrawnOrder {
    let seed = DrawSeed::of_salt(&Salt::new([7; 32]));
    seed.draw(vestibule_tests::lines::visitor(number))
}

/// Mostly the default lane, so that many sequences have no other one.
pub(crate) fn lane() -> impl Strategy<Value = Lane> {
    prop_oneof![12 => Just(4), 2 => Just(1), 1 => Just(6), 1 => Just(0)]
        .prop_map(|number| Lane::new(number).expect("below 8"))
}

fn arrival() -> impl Strategy<Value = Arrival> {
    prop_oneof![8 => Just(Arrival::Ordinary), 2 => Just(Arrival::Bypass), 1 => Just(Arrival::Returning)]
}

fn load() -> impl Strategy<Value = LoadReport> {
    (option::of(0_u32..5), option::of(0_u32..100), any::<bool>()).prop_map(|(tps, latency_ms, healthy)| {
        LoadReport {
            tps,
            latency_ms,
            healthy,
        }
    })
}

fn promote() -> impl Strategy<Value = Operation> {
    let seen_tick =
        prop_oneof![2 => Just(None), 2 => Just(Some((0, 0))), 1 => (-1_i64..2, -1_i64..2).prop_map(Some)];
    let has_changed_server = prop_oneof![9 => Just(false), 1 => Just(true)];
    (max_entries(), any::<bool>(), seen_tick, has_changed_server).prop_map(
        |(max_entries, is_promoter, seen_tick, has_changed_server)| Operation::Promote {
            max_entries,
            is_promoter,
            seen_tick,
            has_changed_server,
        },
    )
}

fn take_check() -> impl Strategy<Value = Operation> {
    let order = (1_u64..40_000, 1_u64..200_000, 1_u64..40_000, 1_u64..40_000);
    order.prop_map(|(every_ms, idle_ms, loss_ms, silent_ms)| {
        Operation::TakeCheck(CheckOrder {
            every_ms,
            idle_ms,
            loss_ms,
            silent_ms,
        })
    })
}

fn max_entries() -> impl Strategy<Value = u64> {
    prop_oneof![3 => Just(u64::MAX), 2 => 0_u64..5]
}

fn visit_selector() -> impl Strategy<Value = VisitSelector> {
    prop_oneof![2 => Just(VisitSelector::None), 2 => Just(VisitSelector::Current), 1 => Just(VisitSelector::Other)]
}

fn end_order() -> impl Strategy<Value = EndOrder> {
    prop_oneof![1 => Just(EndOrder::Earlier), 4 => Just(EndOrder::Same), 1 => Just(EndOrder::Later)]
}

fn leave_reason() -> impl Strategy<Value = LeaveReason> {
    Union::new([LeaveReason::Leave, LeaveReason::Complete, LeaveReason::Evict].map(Just))
}

fn validate() -> impl Strategy<Value = Operation> {
    let pass = prop_oneof![3 => Just(None), 1 => (-20_000_i64..100_000).prop_map(Some)];
    let use_number = option::of(0_u8..3);
    (
        visitor(),
        visit_selector(),
        any::<bool>(),
        any::<bool>(),
        use_number,
        pass,
    )
        .prop_map(
            |(visitor, visit, claims, consumes, use_number, pass_ms_from_now)| Operation::Validate {
                visitor,
                visit,
                claims,
                consumes,
                use_number,
                pass_ms_from_now,
            },
        )
}

fn extend() -> impl Strategy<Value = Operation> {
    (visitor(), visit_selector(), 0_u32..200, -100_000_i64..300_000).prop_map(
        |(visitor, visit, seconds, latest_end_ms_from_now)| Operation::Extend {
            visitor,
            visit,
            seconds,
            latest_end_ms_from_now,
        },
    )
}

/// The id of the use of this number.
pub(crate) fn use_id(number: u8) -> UseId {
    let text = format!("00000000-0000-4000-8000-{number:012x}");
    text.parse().expect("a UUID")
}
