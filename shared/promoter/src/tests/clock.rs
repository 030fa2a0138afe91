//! The server's clock or the promoter's own clock is set to a wrong time, in paused time.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use serde_json::json;
use tokio::time::{Instant, sleep};
use vestibule_domain::{id::QueueId, pace::LimitedBy, state::EntryState};
use vestibule_line::{Arrival, EntryLookup, Line, LineHistory, PromoteOrder};
use vestibule_telemetry::clock::{Clock, SteadyTime};
use vestibule_telemetry::{emf::Metrics, metrics::CLOCKS_APART};

use super::{Fixture, captured_metrics::CapturedMetrics, entry_id};
use crate::Promoter;

const HOUR_MS: i64 = 3_600_000;

/// A clock that follows tokio's time until a test sets it off.
#[derive(Clone)]
struct SettableClock {
    start: Instant,
    offset_ms: Arc<AtomicI64>,
}

impl SettableClock {
    fn new(start: Instant) -> Self {
        let offset_ms = Arc::default();
        Self { start, offset_ms }
    }

    fn set_offset_ms(&self, ms: i64) {
        self.offset_ms.store(ms, Ordering::SeqCst);
    }

    fn clock(&self) -> Clock {
        let this = self.clone();
        Arc::new(move || {
            let passed = Instant::now().duration_since(this.start).as_micros();
            let right_us = 1_800_000_000_000_000 + u64::try_from(passed).expect("a test is short");
            right_us.saturating_add_signed(this.offset_ms.load(Ordering::SeqCst) * 1_000)
        })
    }
}

/// A promoter, a server and visitors whose clocks agree, until a test sets the clock of the server
/// or the promoter.
struct ClockFixture {
    scene: Fixture,
    server: SettableClock,
    promoter: SettableClock,
    /// The clock by which the promoter compares.
    own: Clock,
    /// The line as visitors reach it.
    line: Line,
    written: CapturedMetrics,
}

impl ClockFixture {
    /// A process that serves alone: its only clock is the steady time of the one that the test sets.
    fn alone() -> Self {
        let machine = SettableClock::new(Instant::now());
        let (wall, start, time) = (machine.clock(), machine.start, SteadyTime::default());
        let steady: Clock = Arc::new(move || {
            let told = time.tell(
                Duration::from_micros(wall()),
                Instant::now().duration_since(start),
            );
            u64::try_from(told.as_micros()).expect("a time")
        });
        let line = Line::in_process_with_clock(steady.clone()).with_witness(steady.clone());
        Self {
            scene: Fixture::new(line.clone()),
            server: machine.clone(),
            promoter: machine,
            own: steady,
            line,
            written: CapturedMetrics::default(),
        }
    }

    fn new() -> Self {
        let start = Instant::now();
        let [server, promoter, visitors] = [(); 3].map(|()| SettableClock::new(start));
        let line = Line::in_process_with_clock(server.clock());
        Self {
            scene: Fixture::new(line.clone().with_witness(promoter.clock())),
            server,
            own: promoter.clock(),
            promoter,
            line: line.with_witness(visitors.clock()),
            written: CapturedMetrics::default(),
        }
    }

    /// Starts a queue with 200 visitors, a pace of one entry per second and sessions of 100 s, and
    /// runs a promoter for 20 s.
    async fn start_queue(&self) -> (QueueId, Arc<Promoter>) {
        let pace = json!({
            "capacity": 1_000, "batch": 1, "interval_seconds": 1, "session_seconds": 100, "claim_seconds": 600,
            "presence_seconds": 0,
        });
        let (queue, _) = self.scene.create_queue("q", pace).await;
        for visitor in 0..200 {
            let id = entry_id(&queue, &visitor.to_string());
            self.line
                .enter(&queue, id, Arrival::Ordinary)
                .await
                .expect("entered");
        }
        let promoter = Arc::into_inner(self.scene.promoter()).expect("no other reference to the promoter");
        let metrics = Metrics::new("shop", self.written.clone());
        let promoter = promoter.with_metrics(metrics).with_clock(self.own.clone());
        let promoter = Arc::new(promoter);
        run(&promoter, 20).await;
        let promoted = self.promoted(&queue).await;
        assert!((17..=21).contains(&promoted), "one a second: {promoted}");
        assert_eq!(self.written.last(CLOCKS_APART), 0);
        (queue, promoter)
    }

    async fn promoted(&self, queue: &QueueId) -> u64 {
        self.line.queue_view(queue).await.expect("seen").totals.promoted
    }
}

async fn run(promoter: &Arc<Promoter>, seconds: u64) {
    promoter.run(sleep(Duration::from_secs(seconds))).await;
}

#[tokio::test(start_paused = true)]
async fn server_clock_off_by_an_hour_is_corrected_in_seconds() {
    for off_ms in [HOUR_MS, -HOUR_MS] {
        let clocks = ClockFixture::new();
        let (queue, promoter) = clocks.start_queue().await;
        // The first visitor took the fast track, so that session ends 100 s after entering.
        let first = entry_id(&queue, "0");
        let before = clocks.promoted(&queue).await;
        clocks.server.set_offset_ms(off_ms);
        run(&promoter, 2).await;
        assert_eq!(
            clocks.promoted(&queue).await,
            before,
            "{off_ms}: promotion stopped"
        );
        assert_eq!(clocks.written.last(CLOCKS_APART), 1);
        run(&promoter, 8).await;
        let view = clocks.line.queue_view(&queue).await.expect("seen");
        assert_eq!((view.clocks.apart, view.clocks.offset_ms), (false, -off_ms));
        let promoted = view.totals.promoted - before;
        assert!(
            (3..=10).contains(&promoted),
            "{off_ms}: {promoted} in ten seconds, no burst and no standstill"
        );
        assert_eq!(clocks.written.last(CLOCKS_APART), 0);

        let lookup = clocks.line.status(&queue, first).await.expect("seen");
        assert!(
            matches!(lookup, EntryLookup::Found(status) if status.state() == EntryState::Active),
            "{lookup:?}"
        );
        run(&promoter, 75).await;
        let view = clocks.line.queue_view(&queue).await.expect("seen");
        assert_eq!(view.totals.expired, 1, "{off_ms}: the session ended on time");
    }
}

/// The clock of the machine jumps an hour ahead, for less and for more than the time after which it is believed, or back.
#[tokio::test(start_paused = true)]
async fn no_jump_of_its_only_clock_stops_a_process_that_serves_alone() {
    for (off_ms, seconds) in [(HOUR_MS, 30), (HOUR_MS, 90), (-HOUR_MS, 10)] {
        let clocks = ClockFixture::alone();
        let (queue, promoter) = clocks.start_queue().await;
        for (off_ms, seconds) in [(off_ms, seconds), (0, 20)] {
            let before = clocks.promoted(&queue).await;
            clocks.server.set_offset_ms(off_ms);
            run(&promoter, seconds).await;
            let promoted = clocks.promoted(&queue).await - before;
            assert!(
                promoted >= seconds / 2 - 2 && promoted <= seconds + 2,
                "{off_ms} for {seconds} s: {promoted}"
            );
            assert_eq!(clocks.written.last(CLOCKS_APART), 0);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn promoter_with_a_jumped_clock_adjusts_nothing() {
    for off_ms in [HOUR_MS, -HOUR_MS] {
        let clocks = ClockFixture::new();
        let (queue, promoter) = clocks.start_queue().await;
        let before = clocks.line.queue_view(&queue).await.expect("seen");
        let jump = async {
            sleep(Duration::from_millis(3_500)).await;
            clocks.promoter.set_offset_ms(off_ms);
            // A visitor enters through a process whose clock is wrong in the same way. That process
            // supports the wrong time, but the promoter distrusts its own clock.
            let wrong = clocks.line.clone().with_witness(clocks.promoter.clock());
            wrong
                .enter(&queue, entry_id(&queue, "wrong"), Arrival::Ordinary)
                .await
                .expect("entered");
        };
        tokio::join!(run(&promoter, 50), jump);
        let view = clocks.line.queue_view(&queue).await.expect("seen");
        assert_eq!((view.clocks.apart, view.clocks.offset_ms), (false, 0), "{off_ms}");
        assert_eq!(
            clocks.written.last(CLOCKS_APART),
            1,
            "the metric shows the problem"
        );

        // Another promoter continues at the pace, and no session has ended.
        let order = PromoteOrder {
            max_entries: 1_000,
            is_promoter: true,
            min_watermark: None,
            history: LineHistory::default(),
        };
        let other = clocks.line.promote(&queue, order).await.expect("promoted");
        assert_eq!(
            (other.promoted, other.limited_by),
            (1, LimitedBy::Pace),
            "{off_ms}"
        );
        assert_eq!((other.no_shows, other.expired), (0, 0));
        assert!(other.now_ms - before.now_ms < 60_000);

        // The run is longer than the time for which the promoter distrusts itself.
        run(&promoter, 70).await;
        let view = clocks.line.queue_view(&queue).await.expect("seen");
        assert_eq!(
            view.clocks.offset_ms, 0,
            "{off_ms}: no second clock supports the wrong time"
        );
        // The promoter's clock is corrected, and the clocks agree again.
        clocks.promoter.set_offset_ms(0);
        run(&promoter, 5).await;
        assert_eq!(clocks.written.last(CLOCKS_APART), 0);
    }
}
