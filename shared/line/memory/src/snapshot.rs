//! The complete contents of a queue in memory, for the test that compares them with those in Redis.

use std::collections::BTreeMap;

use vestibule_domain::{
    change::{Change, Event},
    estimate::Window,
    id::{EntryId, QueueId},
    score::DeadlineScore,
};
use vestibule_line::LineError;

use super::{MemoryLine, queue::Queue};

/// The state of a queue under its Redis field names, without its configuration and its journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The waiting entries with their raw scores, in order.
    pub waiting: Vec<(EntryId, u64)>,
    /// The ready entries with their raw scores, in order. Entries with equal scores are ordered by id.
    pub ready: Vec<(EntryId, u64)>,
    /// The active entries with their raw scores, in order. Entries with equal scores are ordered by id.
    pub active: Vec<(EntryId, u64)>,
    /// The unacknowledged ends by id: epoch, version, visit, way of ending and time.
    pub ended: Vec<(EntryId, String)>,
    /// All numbers of the state.
    pub state: BTreeMap<String, i64>,
}

impl MemoryLine {
    /// Returns the contents of a queue.
    ///
    /// # Errors
    /// [`LineError::Unknown`] if the line does not have the queue.
    pub fn snapshot(&self, queue: &QueueId) -> Result<Snapshot, LineError> {
        self.with(queue, |queue, _| queue.snapshot())
    }
}

impl Queue {
    fn snapshot(&self) -> Snapshot {
        let mut ended: Vec<_> = self.ended.values().map(|end| (end.id, written(end))).collect();
        ended.sort_unstable();
        let timed = |(score, id): (DeadlineScore, EntryId)| (id, score.raw());
        Snapshot {
            waiting: self.waiting.iter().map(|(score, id)| (id, score.raw())).collect(),
            ready: self.ready.iter().map(timed).collect(),
            active: self.active.iter().map(timed).collect(),
            ended,
            state: self.numbers(),
        }
    }

    fn numbers(&self) -> BTreeMap<String, i64> {
        let numbers = [
            ("v", self.v),
            ("last_order", self.last_order),
            ("credit", self.bucket.credit),
            ("credit_at_ms", self.bucket.at_ms),
            ("paused_at_ms", self.paused_at_ms),
            ("paused_ms", self.paused_ms),
            ("claim_floor_ms", self.claim_floor_ms),
            ("claim_floor_until_ms", self.claim_floor_until_ms),
            ("counted_at_ms", self.averages.counted_at_ms),
            ("taken_seconds", self.averages.taken_seconds),
            ("waiting_seconds", self.averages.waiting_seconds),
            ("line_since_ms", self.averages.line_since_ms),
            ("moving_since_ms", self.averages.moving_since_ms),
            ("promoted_through", self.promoted_through),
            ("heartbeat_ms", self.heartbeat_ms),
            ("driven_at_ms", self.driven_at_ms),
            ("entered", self.totals.entered),
            ("fast_tracked", self.totals.fast_tracked),
            ("promoted", self.totals.promoted),
            ("claimed", self.totals.claimed),
            ("completed", self.totals.completed),
            ("left", self.totals.left),
            ("expired", self.totals.expired),
            ("no_shows", self.totals.no_shows),
            ("fence", self.fence),
            ("fence_v", self.fence_v),
        ]
        .into_iter()
        .chain(self.unreported.numbers())
        .chain(self.checks.numbers())
        .map(|(name, number)| (name, i64::try_from(number).expect("the number is below 2^53")));
        let windows = [("short", self.averages.short), ("long", self.averages.long)];
        let testified = self.testified_ms.map(|ms| ("testified_ms", ms));
        numbers
            .chain([("offset_ms", self.offset_ms)])
            .chain(testified)
            .map(|(name, number)| (name.to_owned(), number))
            .chain(
                windows
                    .into_iter()
                    .flat_map(|(name, window)| window_numbers(name, window)),
            )
            .collect()
    }
}

/// The numbers of an averaging window. A mark that has not been set has none.
fn window_numbers(name: &str, window: Window) -> Vec<(String, i64)> {
    let signed = |number: u64| i64::try_from(number).expect("the number is below 2^53");
    let marks = [
        (name.to_owned(), window.mark),
        (format!("{name}_before"), window.before),
    ];
    let begun = marks.into_iter().filter(|(_, counted)| counted.at_ms > 0);
    begun
        .flat_map(|(mark, counted)| {
            [
                ("at_ms", signed(counted.at_ms)),
                ("served", signed(counted.served)),
                ("gone", counted.gone),
                ("expired", signed(counted.expired)),
                ("no_shows", signed(counted.no_shows)),
                ("left", counted.left),
                ("taken_seconds", signed(counted.taken_seconds)),
                ("waiting_seconds", signed(counted.waiting_seconds)),
            ]
            .map(|(of, number)| (format!("{mark}_{of}"), number))
        })
        .collect()
}

fn written(end: &Change) -> String {
    let how = match end.event {
        Event::Ended { how, .. } => how.name(),
        event => event.state().name(),
    };
    let (version, visit) = (end.version, end.event.visit().number());
    format!("{} {} {visit} {how} {}", version.epoch, version.v, end.at_ms)
}
