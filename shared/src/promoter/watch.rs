//! Keeping the line's time right: a promoter sees whether its own clock is steady, and where the server's is not, has the
//! line count with an offset.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::{Instant, timeout};
use tracing::info;

use crate::{
    domain::{
        clock::{Clocks, NOISE_MS},
        id::QueueId,
    },
    line::{
        Adjusted, Line, LineError,
        memory::{Clock, system_clock},
    },
};

/// In so many ticks, one after the other, the server must be as far off before anything is done.
const TICKS: u32 = 3;
/// So long after a jump of its own clock a promoter believes the server rather than itself.
const DISTRUST: Duration = Duration::from_mins(1);

/// An adjustment that takes longer is given up.
const ADJUST_TIMEOUT: Duration = Duration::from_secs(5);

/// What one promoter knows of clocks.
pub(super) struct Watch {
    wall: Clock,
    own: Mutex<Own>,
    differences: Mutex<HashMap<QueueId, Difference>>,
}

/// The promoter's own clock at the last look, beside the one that nobody can set.
struct Own {
    wall_us: u64,
    at: Instant,
    jumped_at: Option<Instant>,
}

/// How far the server was off in the last ticks.
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

    /// Looks at the clock anew: a function may have been frozen, and what passed meanwhile tells nothing.
    pub(super) fn begin(&self) {
        let mut own = lock(&self.own);
        (own.wall_us, own.at) = ((self.wall)(), Instant::now());
    }

    /// Forgets the queues that are gone.
    pub(super) fn listed(&self, queues: &[QueueId]) {
        lock(&self.differences).retain(|queue, _| queues.contains(queue));
    }

    /// After each tick: sets the offset where it is time to; an error says what is wrong with the clocks.
    pub(super) async fn keep(&self, line: &dyn Line, queue: &QueueId, clocks: Clocks) -> Result<(), String> {
        let is_steady = self.is_steady();
        let Some(difference) = self.note(queue, clocks) else {
            return Ok(());
        };
        let apart =
            "the server's clock and this promoter's are apart: nothing expires and nobody is promoted";
        if difference < TICKS {
            return Err(apart.to_owned());
        }
        if !is_steady {
            return Err(format!(
                "{apart}; this promoter's own has jumped, so it sets nothing"
            ));
        }
        let offset_ms = clocks.wanted_offset_ms();
        let adjusted = timeout(ADJUST_TIMEOUT, line.adjust(queue, offset_ms)).await;
        match adjusted.unwrap_or_else(|_| Err(LineError::Unavailable("no answer".to_owned()))) {
            Ok(Adjusted::Adjusted) => {
                info!(
                    event = "line.clock_adjusted",
                    %queue,
                    offset_ms,
                    "added an offset to the server's clock, because two other clocks contradict it"
                );
                Ok(())
            }
            Ok(Adjusted::Doubtful) => Err(format!("{apart}; nothing tells which of them is right")),
            // Where the line lost the queue, the next tick says so.
            Ok(Adjusted::Agree) | Err(LineError::Unknown) => Ok(()),
            Err(error) => Err(format!("{apart}; no offset can be set: {error}")),
        }
    }

    /// Takes down how far the server is off; in how many ticks by now. `None` where the clocks agree.
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

    /// Whether the own clock has gone as fast as time lately.
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
    // Every change above is whole before anything could panic.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
