//! A clock that stands still until a test moves it, or lets it run, and a server's clock beside it that may be wrong.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;
use vestibule_clock::Clock;

/// When a [`HandClock`] starts: 2026-09-01T00:00:00Z and a bit, in Unix microseconds.
const START_US: u64 = 1_788_220_800_123_456;

/// The right time, and how far the server's clock is off.
#[derive(Debug, Clone)]
pub struct HandClock {
    now_us: Arc<AtomicU64>,
    server_off_ms: Arc<AtomicI64>,
    runs_since: Arc<OnceLock<Instant>>,
}

impl HandClock {
    /// A clock at a moment of no meaning.
    pub fn new() -> Self {
        Self {
            now_us: Arc::new(AtomicU64::new(START_US)),
            server_off_ms: Arc::default(),
            runs_since: Arc::default(),
        }
    }

    /// Unix microseconds.
    pub fn now_us(&self) -> u64 {
        let ran = self.runs_since.get().map_or(0, |since| micros(since.elapsed()));
        self.now_us.load(Ordering::SeqCst) + ran
    }

    /// From now on it runs by itself, as the runtime's time does, which a test may have paused.
    pub fn run(&self) {
        self.runs_since.get_or_init(Instant::now);
    }

    /// Unix milliseconds.
    pub fn now_ms(&self) -> u64 {
        self.now_us() / 1_000
    }

    /// Time passes.
    pub fn pass(&self, time: Duration) {
        self.now_us.fetch_add(micros(time), Ordering::SeqCst);
    }

    /// All clocks are set back.
    pub fn go_back(&self, time: Duration) {
        self.now_us.fetch_sub(micros(time), Ordering::SeqCst);
    }

    /// All clocks are set.
    pub fn set_ms(&self, now_ms: u64) {
        self.now_us.store(now_ms * 1_000, Ordering::SeqCst);
    }

    /// The server's clock is set: so far ahead of the right time, below 0 behind it.
    pub fn set_server_off(&self, ms: i64) {
        self.server_off_ms.store(ms, Ordering::SeqCst);
    }

    /// For a caller or a line to go by.
    pub fn as_clock(&self) -> Clock {
        self.off_by(0)
    }

    /// For a caller whose clock is wrong by so much.
    pub fn off_by(&self, ms: i64) -> Clock {
        let clock = self.clone();
        Arc::new(move || clock.now_us().saturating_add_signed(ms * 1_000))
    }

    /// For a server to go by.
    pub fn as_server(&self) -> Clock {
        let clock = self.clone();
        Arc::new(move || {
            let off_ms = clock.server_off_ms.load(Ordering::SeqCst);
            clock.now_us().saturating_add_signed(off_ms * 1_000)
        })
    }
}

impl Default for HandClock {
    fn default() -> Self {
        Self::new()
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).expect("tests do not last that long")
}
