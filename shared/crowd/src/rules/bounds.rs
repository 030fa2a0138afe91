//! Bounds of what comes from the network: `web/client/src/bounds.ts`.

/// The shortest time between two requests, in milliseconds.
pub(super) const PAUSE_MS_MIN: f64 = 250.0;
/// The longest time between two requests, in milliseconds.
pub(super) const PAUSE_MS_MAX: f64 = 600_000.0;
/// The interval of polls in milliseconds, if the server sets none.
pub(super) const POLL_MS_DEFAULT: f64 = 2_000.0;
/// The longest time over which the clients of a large line spread a request, in milliseconds.
pub(super) const SPREAD_MS_MAX: f64 = 86_400_000.0;

/// A number within its bounds. JSON has no `NaN`, and one that arises from it becomes the lower bound.
pub(super) fn within(value: f64, min: f64, max: f64) -> f64 {
    value.max(min).min(max)
}

/// Positions, distances and durations are far below 2^53, and precise enough above.
#[allow(clippy::cast_precision_loss)]
pub(super) fn as_f64(number: u64) -> f64 {
    number as f64
}
