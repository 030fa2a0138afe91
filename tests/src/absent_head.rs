//! A line in Redis with many absent entries at its head, and a clock that the caller moves.

// A harness panics where a test is to fail.
#![allow(clippy::missing_panics_doc)]

use std::time::Duration;

use vestibule_domain::{
    change::{Change, Event, Version},
    id::{EntryId, QueueId},
    record::{EntryRecord, PutRules},
    score::WaitScore,
    settings::Settings,
};
use vestibule_line::{Arrival, EnterOutcome, Line, Promotion};

use crate::{
    entries::now_ms,
    lines::{ManualClock, configuration, fresh_queue, tick_order, visitor},
};

/// So many ticks pass over any number of entries that the callers use. A tick is a second.
const TICKS_MAX: u32 = 900;
/// More than the number of absent entries, so that the numbers of later visitors are free.
const LATER_VISITORS: u64 = 10_000_000;

/// A queue with absent entries at the head of its line, and with free slots.
pub struct AbsentHead {
    /// The line.
    pub line: Line,
    /// The queue.
    pub queue: QueueId,
    clock: ManualClock,
    settings: Settings,
    /// How many visitors have entered behind the absent ones.
    later: u64,
}

impl AbsentHead {
    /// Creates a queue with so many waiting entries, none of which checks in, and ticks until all of them have been passed
    /// over.
    pub async fn open(url: &str, absent: u64) -> Self {
        let clock = ManualClock::new();
        clock.set_ms(now_ms());
        let line = Line::connect_patiently(url).await.expect("the server answers");
        let line = line
            .with_given_time(clock.as_server_clock())
            .with_witness(clock.as_clock());
        let settings = Settings {
            capacity: 100_000,
            batch: 1_000,
            interval_seconds: 1,
            ..Settings::default()
        };
        let queue = fresh_queue();
        let records = waiting_records(absent, clock.now_ms() - 3_600_000);
        line.restore(&queue, &configuration(&settings), 0, records.iter().collect())
            .await
            .expect("the queue exists");
        let head = Self {
            line,
            queue,
            clock,
            settings,
            later: 0,
        };
        head.tick(0).await;
        for _ in 0..TICKS_MAX {
            if head
                .line
                .queue_view(&head.queue)
                .await
                .expect("the queue exists")
                .absent
                == absent
            {
                return head;
            }
            assert_eq!(head.tick(u64::MAX).await.promoted, 0, "no visitor is present");
        }
        panic!("{absent} entries were not passed over within {TICKS_MAX} ticks");
    }

    /// Moves the clock by a second and ticks. The tick promotes so many entries at most.
    pub async fn tick(&self, entries_max: u64) -> Promotion {
        self.clock.advance(Duration::from_secs(1));
        self.line
            .promote(&self.queue, tick_order(entries_max))
            .await
            .expect("the queue exists")
    }

    /// Puts so many present visitors in line behind the absent entries. The queue is paused meanwhile, because it would
    /// let them in at once.
    pub async fn add_present_visitors(&mut self, count: u64) {
        self.set_paused(true).await;
        for _ in 0..count {
            self.later += 1;
            let id = visitor(LATER_VISITORS + self.later);
            let entered = self
                .line
                .enter(&self.queue, id, Arrival::Ordinary)
                .await
                .expect("entered");
            assert!(matches!(entered, EnterOutcome::Joined { .. }), "{entered:?}");
            self.check_in(id).await;
        }
        self.set_paused(false).await;
    }

    /// One of the absent visitors, the `number`-th in line, checks in.
    pub async fn return_absent_visitor(&self, number: u64) {
        self.check_in(visitor(number)).await;
    }

    async fn check_in(&self, id: EntryId) {
        self.line
            .check_in(&self.queue, id)
            .await
            .expect("the queue exists");
    }

    async fn set_paused(&mut self, paused: bool) {
        self.settings.paused = paused;
        self.line
            .configure(&self.queue, &configuration(&self.settings), false)
            .await
            .expect("the queue exists");
    }
}

/// The records of visitors who joined one after the other.
fn waiting_records(count: u64, joined_at_ms: u64) -> Vec<EntryRecord> {
    let rules = PutRules {
        grace_seconds: 0,
        retain_hours: 24,
    };
    let mut last_order = 0;
    let record = |number: u64| {
        let place = WaitScore::next(last_order, joined_at_ms);
        last_order = place.order();
        let change = Change {
            id: visitor(number),
            version: Version { epoch: 1, v: 1 },
            at_ms: joined_at_ms,
            event: Event::Entered { place, after: None },
            source: None,
        };
        EntryRecord::of_change(&change, rules)
    };
    (1..=count).map(record).collect()
}
