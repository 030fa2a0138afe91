//! The closed loop of an adaptive pace: a service whose latency grows with its load reports that latency, and the real
//! rules of the line follow it by a virtual clock. The line never ends. For ten minutes the service has half of its
//! capacity.
//!
//! - [`service`]: the service, and the visitors who are in
//! - [`run`]: one run, second by second
//! - [`figures`]: what the runs show, in comparison with every constant pace; [`picture`]: the run as CSV and as a picture

pub mod figures;
pub mod picture;
pub mod run;
pub mod service;

use std::ops::Range;

use vestibule_domain::settings::{LoadMeasure, Settings};

/// The latency that the visitors of the service bear, in milliseconds.
pub const LATENCY_MS_MAX: u32 = 400;
/// The length of an interval, and of the time between two reports, in seconds.
pub const INTERVAL_SECONDS: u32 = 5;
/// The length of a run, in seconds.
pub const RUN_SECONDS: u32 = 2_400;
/// When the service has its whole capacity and as many visitors as it bears, in seconds of the run.
pub const STEADY: Range<u32> = 400..900;
/// When the service has half of its capacity.
pub const SLOW: Range<u32> = 900..1_500;
/// When the service has recovered, and as many visitors as it bears.
pub const RECOVERED: Range<u32> = 1_900..RUN_SECONDS;

/// A queue whose pace follows the latency of the service. Presence is off, because its visitors never sleep.
pub fn adaptive_settings() -> Settings {
    Settings {
        adaptive: true,
        load_measure: LoadMeasure::LatencyMs,
        load_low: LATENCY_MS_MAX / 2,
        load_high: LATENCY_MS_MAX,
        load_ttl_seconds: 15,
        batch_min: 5,
        batch_max: 55,
        ..constant_settings(1)
    }
}

/// The same queue with a constant pace.
pub fn constant_settings(batch: u32) -> Settings {
    Settings {
        batch,
        interval_seconds: INTERVAL_SECONDS,
        capacity: 1_000_000,
        session_seconds: 86_400,
        session_max_seconds: 86_400,
        presence_seconds: 0,
        ..Settings::default()
    }
}
