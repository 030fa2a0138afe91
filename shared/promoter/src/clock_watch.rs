//! Keeps the line time right. Each promoter checks that its own clock is steady. If the server's
//! clock is wrong, the promoter has the line add an offset to it. See
//! `docs/adr/0003-clocks-and-pace.md`.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::{Instant, timeout};
use tracing::info;
use vestibule_domain::{
    clock::{CLOCK_NOISE_MS, ClockDifference},
    id::QueueId,
};
use vestibule_line::{AdjustClockOutcome, Line, LineError};
use vestibule_telemetry::clock::{Clock, system_clock};

/// The server's clock must be off by the same amount in this many consecutive ticks before the
/// promoter adjusts it.
const ADJUST_AFTER_TICKS: u32 = 3;
/// For this long after a jump of its own clock, a promoter does not adjust the server's clock.
const DISTRUST_AFTER_JUMP: Duration = Duration::from_mins(1);

/// The promoter aborts an adjustment that takes longer.
const ADJUST_TIMEOUT: Duration = Duration::from_secs(5);

/// What one promoter knows about its own clock and the clocks of the servers.
pub(super) struct ClockWatch {
    wall: Clock,
    own_clock: Mutex<OwnClock>,
    differences: Mutex<HashMap<QueueId, RepeatedDifference>>,
}

/// The last reading of the promoter's own clock, next to a reading of the monotonic clock, which
/// cannot be set.
struct OwnClock {
    wall_us: u64,
    at: Instant,
    jumped_at: Option<Instant>,
}

/// How far the server's clock was off in the last ticks, and in how many consecutive ticks.
struct RepeatedDifference {
    wanted_ms: i64,
    ticks: u32,
}

impl ClockWatch {
    pub(super) fn new() -> Self {
        Self::with_clock(system_clock())
    }

    pub(super) fn with_clock(wall: Clock) -> Self {
        let own = OwnClock {
            wall_us: wall(),
            at: Instant::now(),
            jumped_at: None,
        };
        Self {
            wall,
            own_clock: Mutex::new(own),
            differences: Mutex::default(),
        }
    }

    /// Reads the clocks again at the start of a run. Lambda may have frozen the function since the last
    /// reading, so the difference to that reading says nothing about the clock.
    pub(super) fn begin_run(&self) {
        let mut own = lock(&self.own_clock);
        (own.wall_us, own.at) = ((self.wall)(), Instant::now());
    }

    /// The time of the promoter's own clock, in Unix milliseconds.
    pub(super) fn now_ms(&self) -> u64 {
        (self.wall)() / 1_000
    }

    /// Drops the state of queues that the listing lacks.
    pub(super) fn retain_queues(&self, queues: &HashSet<QueueId>) {
        lock(&self.differences).retain(|queue, _| queues.contains(queue));
    }

    /// Runs after each tick, and adjusts the server's clock if the conditions are met.
    ///
    /// # Errors
    /// The text says which clock problem remains.
    pub(super) async fn adjust_if_needed(
        &self,
        line: &Line,
        queue: &QueueId,
        clocks: ClockDifference,
    ) -> Result<(), String> {
        let is_steady = self.sample_own_clock();
        if clocks.apart && !clocks.is_server_off() {
            lock(&self.differences).remove(queue);
            return Err(
                "the time of the queue is ahead of the server's clock and of the promoter's clock, so no entry expires \
                 or is promoted until they reach it; both clocks were wrong before"
                    .to_owned(),
            );
        }
        let Some(difference) = self.count_difference(queue, clocks) else {
            return Ok(());
        };
        let apart =
            "the server's clock and the promoter's clock disagree, so no entry expires or is promoted";
        if difference < ADJUST_AFTER_TICKS {
            return Err(apart.to_owned());
        }
        if !is_steady {
            return Err(format!(
                "{apart}; the promoter's own clock has jumped, so it does not adjust the server's clock"
            ));
        }
        let offset_ms = clocks.wanted_offset_ms();
        let adjusted = timeout(ADJUST_TIMEOUT, line.adjust_clock(queue, offset_ms)).await;
        match adjusted.unwrap_or_else(|_| {
            Err(LineError::Unavailable(
                "the line did not answer in time".to_owned(),
            ))
        }) {
            Ok(AdjustClockOutcome::Applied) => {
                info!(
                    event = "line.clock_adjusted",
                    %queue,
                    offset_ms,
                    "added an offset to the server's clock, because two other clocks contradict it"
                );
                Ok(())
            }
            Ok(AdjustClockOutcome::NotConfirmed) => {
                Err(format!("{apart}; no third clock says which of the two is right"))
            }
            // If the line has lost the queue, the next tick reports it.
            Ok(AdjustClockOutcome::ClocksAgree) | Err(LineError::QueueNotFound) => Ok(()),
            Err(error) => Err(format!("{apart}; the offset could not be set: {error}")),
        }
    }

    /// Records how far the server's clock is off. Returns in how many consecutive ticks it has been
    /// off by the same amount, or `None` if the clocks agree.
    fn count_difference(&self, queue: &QueueId, clocks: ClockDifference) -> Option<u32> {
        let mut differences = lock(&self.differences);
        if !clocks.apart {
            differences.remove(queue);
            return None;
        }
        let wanted_ms = clocks.wanted_offset_ms();
        let difference = differences
            .entry(queue.clone())
            .and_modify(|deviation| {
                let same = deviation.wanted_ms.abs_diff(wanted_ms) <= CLOCK_NOISE_MS;
                deviation.ticks = if same { deviation.ticks + 1 } else { 1 };
                deviation.wanted_ms = wanted_ms;
            })
            .or_insert(RepeatedDifference { wanted_ms, ticks: 1 });
        Some(difference.ticks)
    }

    /// Whether the promoter's own clock has kept pace with the monotonic clock for the last
    /// [`DISTRUST_AFTER_JUMP`].
    fn sample_own_clock(&self) -> bool {
        let mut own = lock(&self.own_clock);
        let (wall_us, at) = ((self.wall)(), Instant::now());
        let passed_us = u64::try_from(at.duration_since(own.at).as_micros()).unwrap_or(u64::MAX);
        if wall_us.abs_diff(own.wall_us.saturating_add(passed_us)) > CLOCK_NOISE_MS * 1_000 {
            own.jumped_at = Some(at);
        }
        (own.wall_us, own.at) = (wall_us, at);
        own.jumped_at
            .is_none_or(|jumped_at| at.duration_since(jumped_at) >= DISTRUST_AFTER_JUMP)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Every change under the lock is complete before anything could panic, so the data of a
    // poisoned mutex is consistent.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
