//! A clock that a test moves by hand or lets run, and beside it the clock of a server, which may be wrong.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;
use vestibule_telemetry::clock::Clock;

/// The time at which a [`ManualClock`] starts: shortly after 2026-09-01T00:00:00Z, in Unix microseconds.
const START_US: u64 = 1_788_220_800_123_456;

/// The correct time, and the error of the server's clock.
#[derive(Debug, Clone)]
pub struct ManualClock {
    now_us: Arc<AtomicU64>,
    server_error_ms: Arc<AtomicI64>,
    runs_since: Arc<OnceLock<Instant>>,
}

impl ManualClock {
    /// A clock at an arbitrary time.
    pub fn new() -> Self {
        Self {
            now_us: Arc::new(AtomicU64::new(START_US)),
            server_error_ms: Arc::default(),
            runs_since: Arc::default(),
        }
    }

    /// The correct time in Unix microseconds.
    pub fn now_us(&self) -> u64 {
        let ran = self
            .runs_since
            .get()
            .map_or(0, |since| to_micros(since.elapsed()));
        self.now_us.load(Ordering::SeqCst) + ran
    }

    /// Lets the clock run from now on at the speed of tokio's time, which a test may have paused.
    pub fn start_running(&self) {
        self.runs_since.get_or_init(Instant::now);
    }

    /// The correct time in Unix milliseconds.
    pub fn now_ms(&self) -> u64 {
        self.now_us() / 1_000
    }

    /// Moves all clocks forward.
    pub fn advance(&self, time: Duration) {
        self.now_us.fetch_add(to_micros(time), Ordering::SeqCst);
    }

    /// Sets all clocks back.
    pub fn set_back(&self, time: Duration) {
        self.now_us.fetch_sub(to_micros(time), Ordering::SeqCst);
    }

    /// Sets all clocks.
    pub fn set_ms(&self, now_ms: u64) {
        self.now_us.store(now_ms * 1_000, Ordering::SeqCst);
    }

    /// Sets the error of the server's clock: positive if it is ahead of the correct time.
    pub fn set_server_error_ms(&self, ms: i64) {
        self.server_error_ms.store(ms, Ordering::SeqCst);
    }

    /// The correct time as a clock for a caller or a line.
    pub fn as_clock(&self) -> Clock {
        self.as_clock_off_by_ms(0)
    }

    /// A clock for a caller that is wrong by this much.
    pub fn as_clock_off_by_ms(&self, ms: i64) -> Clock {
        let clock = self.clone();
        Arc::new(move || clock.now_us().saturating_add_signed(ms * 1_000))
    }

    /// The server's clock.
    pub fn as_server_clock(&self) -> Clock {
        let clock = self.clone();
        Arc::new(move || {
            let error_ms = clock.server_error_ms.load(Ordering::SeqCst);
            clock.now_us().saturating_add_signed(error_ms * 1_000)
        })
    }
}

impl Default for ManualClock {
    fn default() -> Self {
        Self::new()
    }
}

fn to_micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).expect("tests do not last that long")
}
