//! What may happen to a queue.

use proptest::{collection::vec, option, prelude::*, strategy::Union};
use vestibule_domain::{
    load::LoadReport,
    settings::{Entrance, ReEntry, Settings},
};
use vestibule_line::{CheckOrder, FallbackTickOrder, LeaveReason};

/// How many different visitors there are.
pub(crate) const VISITORS: u64 = 6;

/// One step. Visitors are named by number.
#[derive(Debug, Clone)]
pub(crate) enum Op {
    Enter(u64),
    Status(u64),
    Promote {
        asked: u64,
        heartbeat: bool,
    },
    /// Somebody who calls asks for a tick in the promoter's stead.
    TakeTick(FallbackTickOrder),
    /// The promoter takes its heartbeat back.
    Rest,
    Claim(u64),
    Leave(u64, Named, LeaveReason),
    Validate {
        visitor: u64,
        visit: Named,
        claims: bool,
        consumes: bool,
    },
    Extend {
        visitor: u64,
        visit: Named,
        seconds: u32,
        /// Before or after the given time.
        latest_end_ms_from_now: i64,
    },
    /// The backup has so many of the oldest records, and these ends.
    Settle {
        records: usize,
        ended: Vec<u64>,
        /// Of an end before the last one.
        late: bool,
    },
    /// The backup did not take a change: of this kind.
    Record(u64, usize),
    /// The backup did not take all of the record of that number: of every three changes it has the first, nobody tried the
    /// second, and it refuses the third.
    Defer {
        record: usize,
        tries: u32,
        wait_ms: u64,
    },
    /// The backup keeps refusing the record of that number.
    SetAside(usize),
    /// The backup has so many of those that were set aside.
    SettleAside(usize),
    /// The record of a visit that was seen goes back, sought before or not, or in place of the one that stands.
    Revive {
        visitor: u64,
        state: usize,
        sought: bool,
        instead: bool,
    },
    /// Every page is read.
    Pages,
    /// The backup shows another thing of an entry than the line.
    Mend {
        visitor: u64,
        /// One of all, or no record at all.
        state: usize,
        /// Of the visit that stands; else of an old one.
        same_visit: bool,
        /// Where the entry stood a moment ago, or never did.
        as_seen: bool,
        /// Before or after the given time.
        end_ms_from_now: i64,
    },
    /// Somebody asks for the check.
    TakeCheck(CheckOrder),
    /// A check has been through so many shards.
    NoteCheck(u8),
    /// A poll asks to be held where fewer are, for so long.
    Hold {
        visitor: u64,
        below: u64,
        lease_ms: u64,
    },
    /// These are held no more.
    Release(Vec<u64>),
    /// The protected service reports its load.
    Load(LoadReport),
    PassMicros(u64),
    GoBackMicros(u64),
    /// The server's clock is set: so many milliseconds ahead of the callers', or behind.
    ServerOffMillis(i64),
    /// A promoter sets the offset that it thinks right, or one that is so much beside it.
    Adjust {
        beside_ms: i64,
    },
    Set(Setting),
    /// Between two reports, and the same where nothing happens.
    Report {
        every_ms: u64,
        idle_ms: u64,
    },
}

/// Which visit an operation names; what that is shows when its time comes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Named {
    Any,
    Right,
    Wrong,
}

/// A change of settings.
#[derive(Debug, Clone)]
pub(crate) enum Setting {
    Capacity(u32),
    Batch(u32),
    IntervalSeconds(u32),
    ClaimSeconds(u32),
    SessionSeconds(u32),
    ReEntry(ReEntry),
    Entrance(Entrance),
    Paused(bool),
}

impl Setting {
    pub(crate) fn apply(&self, settings: &mut Settings) {
        match self {
            Self::Capacity(capacity) => settings.capacity = *capacity,
            Self::Batch(batch) => settings.batch = *batch,
            Self::IntervalSeconds(seconds) => settings.interval_seconds = *seconds,
            Self::ClaimSeconds(seconds) => settings.claim_seconds = *seconds,
            Self::SessionSeconds(seconds) => settings.session_seconds = *seconds,
            Self::ReEntry(re_entry) => settings.re_entry = *re_entry,
            Self::Entrance(entrance) => settings.entrance = *entrance,
            Self::Paused(paused) => settings.paused = *paused,
        }
    }
}

/// A day at the line; short ones, too, so that what is found can be told in few steps.
pub(crate) fn sequence() -> impl Strategy<Value = Vec<Op>> {
    vec(op(), 1..=210)
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => visitor().prop_map(Op::Enter),
        2 => visitor().prop_map(Op::Status),
        6 => (asked(), any::<bool>()).prop_map(|(asked, heartbeat)| Op::Promote { asked, heartbeat }),
        2 => (1_u64..6_000, 1_u64..2_000).prop_map(|(promoter_down_after_ms, every_ms)| {
            Op::TakeTick(FallbackTickOrder { promoter_down_after_ms, every_ms })
        }),
        1 => Just(Op::Rest),
        4 => visitor().prop_map(Op::Claim),
        2 => (visitor(), named(), departure()).prop_map(|(id, visit, departure)| Op::Leave(id, visit, departure)),
        3 => validate(),
        2 => extend(),
        2 => (0_usize..12, vec(visitor(), 0..4), any::<bool>())
            .prop_map(|(records, ended, late)| Op::Settle { records, ended, late }),
        1 => (visitor(), 0_usize..10).prop_map(|(id, kind)| Op::Record(id, kind)),
        2 => (0_usize..4, 1_u32..11, 0_u64..60_000).prop_map(|(record, tries, wait_ms)| {
            Op::Defer { record, tries, wait_ms }
        }),
        1 => (0_usize..4).prop_map(Op::SetAside),
        1 => (0_usize..3).prop_map(Op::SettleAside),
        4 => (visitor(), 0_usize..3, any::<bool>(), any::<bool>()).prop_map(|(visitor, state, sought, instead)| {
            Op::Revive { visitor, state, sought, instead }
        }),
        1 => Just(Op::Pages),
        4 => mend(),
        1 => (1_u64..40_000, 1_u64..200_000, 1_u64..40_000).prop_map(|(every_ms, idle_ms, silent_ms)| {
            Op::TakeCheck(CheckOrder { every_ms, idle_ms, silent_ms })
        }),
        1 => prop_oneof![1_u8..64, Just(64)].prop_map(Op::NoteCheck),
        2 => (visitor(), 0_u64..4, 1_u64..40_000).prop_map(|(visitor, below, lease_ms)| {
            Op::Hold { visitor, below, lease_ms }
        }),
        1 => vec(visitor(), 1..3).prop_map(Op::Release),
        1 => load().prop_map(Op::Load),
        6 => passing().prop_map(Op::PassMicros),
        1 => passing().prop_map(Op::GoBackMicros),
        2 => server_off().prop_map(Op::ServerOffMillis),
        3 => prop_oneof![4 => Just(0_i64), 1 => -2_000_i64..2_000].prop_map(|beside_ms| Op::Adjust { beside_ms }),
        2 => setting().prop_map(Op::Set),
        2 => (1_u64..40_000, 1_u64..200_000).prop_map(|(every_ms, idle_ms)| Op::Report { every_ms, idle_ms }),
    ]
}

fn mend() -> impl Strategy<Value = Op> {
    (
        visitor(),
        0_usize..7,
        any::<bool>(),
        0_u8..8,
        -50_000_i64..200_000,
    )
        .prop_map(
            |(visitor, state, same_visit, as_seen, end_ms_from_now)| Op::Mend {
                visitor,
                state,
                same_visit,
                as_seen: as_seen > 0,
                end_ms_from_now,
            },
        )
}

fn visitor() -> impl Strategy<Value = u64> {
    1..=VISITORS
}

fn load() -> impl Strategy<Value = LoadReport> {
    (0_u32..5, option::of(0_u32..100), any::<bool>()).prop_map(|(tps, latency_ms, healthy)| LoadReport {
        tps,
        latency_ms,
        healthy,
    })
}

fn asked() -> impl Strategy<Value = u64> {
    prop_oneof![3 => Just(u64::MAX), 2 => 0_u64..5]
}

fn named() -> impl Strategy<Value = Named> {
    prop_oneof![2 => Just(Named::Any), 2 => Just(Named::Right), 1 => Just(Named::Wrong)]
}

fn departure() -> impl Strategy<Value = LeaveReason> {
    Union::new([LeaveReason::Leave, LeaveReason::Complete, LeaveReason::Evict].map(Just))
}

fn validate() -> impl Strategy<Value = Op> {
    (visitor(), named(), any::<bool>(), any::<bool>()).prop_map(|(visitor, visit, claims, consumes)| {
        Op::Validate {
            visitor,
            visit,
            claims,
            consumes,
        }
    })
}

fn extend() -> impl Strategy<Value = Op> {
    (visitor(), named(), 0_u32..200, -100_000_i64..300_000).prop_map(
        |(visitor, visit, seconds, latest_end_ms_from_now)| Op::Extend {
            visitor,
            visit,
            seconds,
            latest_end_ms_from_now,
        },
    )
}

/// From microseconds to hours, mostly where deadlines lie.
fn passing() -> impl Strategy<Value = u64> {
    prop_oneof![
        2 => 0_u64..1_000,
        2 => 1_000_u64..1_000_000,
        6 => 1_000_000_u64..20_000_000,
        // Deadlines to the very millisecond.
        2 => (1_u64..61).prop_map(|seconds| seconds * 1_000_000),
        2 => 20_000_000_u64..120_000_000,
        1 => 120_000_000_u64..8_000_000_000,
    ]
}

/// Right, about as wrong as is borne, wrong by an hour.
fn server_off() -> impl Strategy<Value = i64> {
    prop_oneof![
        3 => Just(0_i64),
        2 => -5_002_i64..5_002,
        1 => -20_000_i64..20_000,
        2 => prop_oneof![Just(3_600_000_i64), Just(-3_600_000)],
    ]
}

fn setting() -> impl Strategy<Value = Setting> {
    prop_oneof![
        1 => (1_u32..7).prop_map(Setting::Capacity),
        1 => (1_u32..7).prop_map(Setting::Batch),
        1 => (1_u32..30).prop_map(Setting::IntervalSeconds),
        1 => (10_u32..60).prop_map(Setting::ClaimSeconds),
        1 => (1_u32..120).prop_map(Setting::SessionSeconds),
        1 => Union::new([ReEntry::Keep, ReEntry::Requeue].map(Just)).prop_map(Setting::ReEntry),
        1 => Union::new([Entrance::Open, Entrance::Open, Entrance::Draining, Entrance::Closed].map(Just))
            .prop_map(Setting::Entrance),
        // Pauses end more often than they begin, so that something happens.
        4 => prop_oneof![1 => Just(true), 2 => Just(false)].prop_map(Setting::Paused),
    ]
}
