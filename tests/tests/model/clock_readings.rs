//! Times that pass, and clocks that are wrong.

use proptest::prelude::*;

/// A time from microseconds to hours, mostly near the deadlines.
pub(crate) fn passed_micros() -> impl Strategy<Value = u64> {
    prop_oneof![
        2 => 0_u64..1_000,
        2 => 1_000_u64..1_000_000,
        6 => 1_000_000_u64..20_000_000,
        // Times on the exact millisecond of a deadline.
        2 => (1_u64..61).prop_map(|seconds| seconds * 1_000_000),
        2 => 20_000_000_u64..120_000_000,
        1 => 120_000_000_u64..8_000_000_000,
    ]
}

/// A right clock, one that is wrong by about the tolerance, or one that is wrong by an hour.
pub(crate) fn server_offset_ms() -> impl Strategy<Value = i64> {
    prop_oneof![
        3 => Just(0_i64),
        2 => -5_002_i64..5_002,
        1 => -20_000_i64..20_000,
        2 => prop_oneof![Just(3_600_000_i64), Just(-3_600_000)],
    ]
}
