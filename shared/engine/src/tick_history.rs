//! What a process remembers of the ticks of each queue, and of the servers that it left. A line
//! that contradicts it went back, for example in a failover to a replica that missed the last
//! changes. `docs/adr/0017-a-line-that-went-back.md` has the reasons.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use vestibule_domain::id::QueueId;
use vestibule_line::{LineHistory, TickMark};

/// How many queues are remembered. A process serves few queues.
const QUEUES_MAX: usize = 1_000;

/// The latest tick of each queue that a process has seen, in its own ticks and in the views of the
/// queue.
#[derive(Debug, Default)]
pub struct TickHistory(Mutex<HashMap<QueueId, SeenTick>>);

#[derive(Debug, Clone, Copy)]
struct SeenTick {
    mark: TickMark,
    /// How often the process had left a server when it last ticked the queue; `None` if it has not
    /// ticked it.
    departures: Option<u64>,
}

impl TickHistory {
    /// Remembers the tick that a view shows. An earlier tick than the remembered one replaces it
    /// only in a later epoch: the next tick is to tell the line of the loss.
    pub fn record_view(&self, queue: &QueueId, shown: TickMark) {
        let mut seen = self.lock();
        match seen.get_mut(queue) {
            Some(tick) if (shown.epoch, shown.ticks) > (tick.mark.epoch, tick.mark.ticks) => {
                tick.mark = shown;
            }
            Some(_) => {}
            None => {
                if seen.len() >= QUEUES_MAX {
                    // Without the memory of a loss the periodic check finds it.
                    seen.clear();
                }
                let departures = None;
                seen.insert(
                    queue.clone(),
                    SeenTick {
                        mark: shown,
                        departures,
                    },
                );
            }
        }
    }

    /// What the next tick of the queue tells the line. `departures` is how often the process has
    /// left a server so far.
    pub(super) fn read(&self, queue: &QueueId, departures: u64) -> LineHistory {
        let seen = self.lock().get(queue).copied();
        LineHistory {
            last_tick: seen.map(|seen| seen.mark),
            has_changed_server: seen
                .and_then(|seen| seen.departures)
                .is_some_and(|before| before != departures),
        }
    }

    /// Remembers the tick that this process made. The line has compared what was remembered before.
    /// `departures` is from before the tick: if the process left a server during the tick, the next
    /// one says so.
    pub(super) fn record_tick(&self, queue: &QueueId, mark: TickMark, departures: u64) {
        let departures = Some(departures);
        self.lock().insert(queue.clone(), SeenTick { mark, departures });
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<QueueId, SeenTick>> {
        // Every change under the lock is complete before anything could panic, so the map is consistent.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn view_of_a_line_that_went_back_is_not_remembered() {
        let (history, queue) = (TickHistory::default(), "q".parse().expect("a queue id"));
        let mark = |epoch, ticks| TickMark {
            epoch,
            ticks,
            at_ms: 1_000 * ticks,
        };
        let remembered = || history.read(&queue, 0).last_tick;
        assert_eq!(remembered(), None);
        for (shown, expected) in [
            (mark(1, 7), mark(1, 7)),
            (mark(1, 9), mark(1, 9)),
            (mark(1, 8), mark(1, 9)),
            (mark(2, 1), mark(2, 1)),
            (mark(1, 9), mark(2, 1)),
        ] {
            history.record_view(&queue, shown);
            assert_eq!(remembered(), Some(expected), "after {shown:?}");
        }
        history.record_tick(&queue, mark(1, 4), 0);
        assert_eq!(
            remembered(),
            Some(mark(1, 4)),
            "the line has compared the later one"
        );
    }

    #[test]
    fn tick_after_leaving_a_server_says_so_once() {
        let (history, queue) = (TickHistory::default(), "q".parse().expect("a queue id"));
        let tick = |ticks| TickMark {
            epoch: 1,
            ticks,
            at_ms: ticks,
        };
        history.record_view(&queue, tick(1));
        assert!(
            !history.read(&queue, 3).has_changed_server,
            "the first tick of the process"
        );
        history.record_tick(&queue, tick(2), 3);
        assert!(!history.read(&queue, 3).has_changed_server);
        assert!(history.read(&queue, 4).has_changed_server);
        history.record_view(&queue, tick(3));
        assert!(
            history.read(&queue, 4).has_changed_server,
            "a view tells the line nothing"
        );
        history.record_tick(&queue, tick(4), 4);
        assert!(!history.read(&queue, 4).has_changed_server);
    }
}
