//! The time of a run as visitors and the line see it.

/// The start of each run, in Unix milliseconds: 2026-09-01T00:00:00Z.
pub(crate) const START_MS: u64 = 1_788_220_800_000;

/// A time of the run in Unix milliseconds, as clients count it.
#[allow(clippy::cast_precision_loss)] // Far below 2^53.
pub(super) fn to_unix_ms(at_ms: u64) -> f64 {
    (START_MS + at_ms) as f64
}
