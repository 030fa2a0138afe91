//! Keeps the line time right. Each promoter checks that its own clock is steady. If the server's clock is
//! wrong, the promoter has the line add an offset to it. See `docs/decisions/line-clock.md`.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::{Instant, timeout};
use tracing::info;
use vestibule_clock::{Clock, system_clock};
use vestibule_domain::{
    clock::{Clocks, NOISE_MS},
    id::QueueId,
};
use vestibule_line::{Adjusted, Line, LineError};

/// The server's clock must be off by the same amount in this many consecutive ticks before the promoter adjusts
/// it.
const TICKS: u32 = 3;
/// For this long after a jump of its own clock, a promoter does not adjust the server's clock.
const DISTRUST: Duration = Duration::from_mins(1);

/// The promoter aborts an adjustment that takes longer.
const ADJUST_TIMEOUT: Duration = Duration::from_secs(5);

/// What one promoter knows about its own clock and the clocks of the servers.
pub(super) struct Watch {
    wall: Clock,
    own: Mutex<Own>,
    differences: Mutex<HashMap<QueueId, Difference>>,
}

/// The last reading of the promoter's own clock, next to a reading of the monotonic clock, which cannot be set.
struct Own {
    wall_us: u64,
    at: Instant,
    jumped_at: Option<Instant>,
}

/// How far the server's clock was off in the last ticks, and in how many consecutive ticks.
struct Difference {
    wanted_ms: i64,
    ticks: u32,
}

impl Watch {
    pub(super) fn new() -> Self {
        Self::by(system_clock())
    }

    pub(super) fn by(wall: Clock) -> Self {
        let own = Own {
            wall_us: wall(),
            at: Instant::now(),
            jumped_at: None,
        };
        Self {
            wall,
            own: Mutex::new(own),
            differences: Mutex::default(),
        }
    }

    /// Reads the clocks again at the start of a run. Lambda may have frozen the function since the last
    /// reading, so the difference to that reading says nothing about the clock.
    pub(super) fn begin(&self) {
        let mut own = lock(&self.own);
        (own.wall_us, own.at) = ((self.wall)(), Instant::now());
    }

    /// Drops the state of queues that the listing lacks.
    pub(super) fn listed(&self, queues: &[QueueId]) {
        lock(&self.differences).retain(|queue, _| queues.contains(queue));
    }

    /// Runs after each tick, and adjusts the server's clock if the conditions are met.
    ///
    /// # Errors
    /// The text says which clock problem remains.
    pub(super) async fn keep(&self, line: &dyn Line, queue: &QueueId, clocks: Clocks) -> Result<(), String> {
        let is_steady = self.is_steady();
        let Some(difference) = self.note(queue, clocks) else {
            return Ok(());
        };
        let apart =
            "the server's clock and the promoter's clock disagree, so no entry expires or is promoted";
        if difference < TICKS {
            return Err(apart.to_owned());
        }
        if !is_steady {
            return Err(format!(
                "{apart}; the promoter's own clock has jumped, so it does not adjust the server's clock"
            ));
        }
        let offset_ms = clocks.wanted_offset_ms();
        let adjusted = timeout(ADJUST_TIMEOUT, line.adjust(queue, offset_ms)).await;
        match adjusted.unwrap_or_else(|_| {
            Err(LineError::Unavailable(
                "the line did not answer in time".to_owned(),
            ))
        }) {
            Ok(Adjusted::Adjusted) => {
                info!(
                    event = "line.clock_adjusted",
                    %queue,
                    offset_ms,
                    "added an offset to the server's clock, because two other clocks contradict it"
                );
                Ok(())
            }
            Ok(Adjusted::Doubtful) => Err(format!("{apart}; no third clock says which of the two is right")),
            // If the line has lost the queue, the next tick reports it.
            Ok(Adjusted::Agree) | Err(LineError::Unknown) => Ok(()),
            Err(error) => Err(format!("{apart}; the offset could not be set: {error}")),
        }
    }

    /// Records how far the server's clock is off. Returns in how many consecutive ticks it has been off by the
    /// same amount, or `None` if the clocks agree.
    fn note(&self, queue: &QueueId, clocks: Clocks) -> Option<u32> {
        let mut differences = lock(&self.differences);
        if !clocks.apart {
            differences.remove(queue);
            return None;
        }
        let wanted_ms = clocks.wanted_offset_ms();
        let difference = differences
            .entry(queue.clone())
            .and_modify(|known| {
                let same = known.wanted_ms.abs_diff(wanted_ms) <= NOISE_MS;
                known.ticks = if same { known.ticks + 1 } else { 1 };
                known.wanted_ms = wanted_ms;
            })
            .or_insert(Difference { wanted_ms, ticks: 1 });
        Some(difference.ticks)
    }

    /// Whether the promoter's own clock has kept pace with the monotonic clock for the last [`DISTRUST`].
    fn is_steady(&self) -> bool {
        let mut own = lock(&self.own);
        let (wall_us, at) = ((self.wall)(), Instant::now());
        let passed_us = u64::try_from(at.duration_since(own.at).as_micros()).unwrap_or(u64::MAX);
        if wall_us.abs_diff(own.wall_us.saturating_add(passed_us)) > NOISE_MS * 1_000 {
            own.jumped_at = Some(at);
        }
        (own.wall_us, own.at) = (wall_us, at);
        own.jumped_at
            .is_none_or(|jumped_at| at.duration_since(jumped_at) >= DISTRUST)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Every change under the lock is complete before anything could panic, so the data of a poisoned mutex is
    // consistent.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
