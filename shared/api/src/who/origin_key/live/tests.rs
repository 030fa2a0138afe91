use std::{
    future::{pending, ready},
    io::{self, Write},
    sync::atomic::{AtomicUsize, Ordering},
};

use serde_json::Value;
use tokio::{
    sync::oneshot,
    task::yield_now,
    time::{advance, sleep},
};

use super::*;

/// Collects the metrics that are written.
#[derive(Clone, Default)]
struct WrittenMetrics(Arc<Mutex<Vec<u8>>>);

impl Write for WrittenMetrics {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        lock(&self.0).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl WrittenMetrics {
    /// Whether each reading failed, in their order.
    fn failures(&self) -> Vec<bool> {
        let text = String::from_utf8(lock(&self.0).clone()).expect("text");
        let documents = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        documents
            .map(|document| document["OriginKeyFailures"] == 1)
            .collect()
    }
}

fn key(secret: &str) -> OriginKey {
    OriginKey::new(secret).expect("long enough")
}

/// Reads these keys one after the other, and then waits without end.
struct Readings {
    live: LiveOriginKey,
    begun: Arc<AtomicUsize>,
    metrics: WrittenMetrics,
    start: Instant,
}

impl Readings {
    async fn of(keys: impl Into<Vec<Option<&'static str>>>) -> Self {
        let (keys, begun, metrics) = (
            keys.into(),
            Arc::<AtomicUsize>::default(),
            WrittenMetrics::default(),
        );
        let count = begun.clone();
        let read: OriginKeyRead = Box::new(move || match keys.get(count.fetch_add(1, Ordering::SeqCst)) {
            Some(Some(secret)) => Box::pin(ready(Ok(key(secret)))),
            Some(None) => Box::pin(ready(Err("AccessDeniedException".to_owned()))),
            None => Box::pin(pending()),
        });
        let start = Instant::now();
        let live = LiveOriginKey::load(read, Metrics::new("shop", metrics.clone())).await;
        Self {
            live,
            begun,
            metrics,
            start,
        }
    }

    /// A request comes this long after the start. Returns what the process knows when it is answered.
    async fn request_after(&self, seconds: u64) -> OriginKeyState {
        self.live
            .refresh_if_due_at(self.start + Duration::from_secs(seconds));
        yield_now().await;
        self.live.state()
    }

    fn begun(&self) -> usize {
        self.begun.load(Ordering::SeqCst)
    }
}

const FIRST: &str = "the-first-secret-of-the-shop";
const SECOND: &str = "the-second-secret-of-the-shop";

#[tokio::test(start_paused = true)]
async fn unreadable_key_is_read_again_after_a_minute() {
    let readings = Readings::of([None, None, Some(FIRST)]).await;
    for (seconds, begun) in [(1, 1), (59, 1), (61, 2), (62, 2)] {
        assert_eq!(readings.request_after(seconds).await, OriginKeyState::Unknown);
        assert_eq!(readings.begun(), begun, "after {seconds} s");
    }
    assert_eq!(
        readings.request_after(122).await,
        OriginKeyState::Known(key(FIRST))
    );
    assert_eq!(readings.metrics.failures(), [true, true, false]);
}

#[tokio::test(start_paused = true)]
async fn changed_key_is_taken_over_and_kept_in_an_outage() {
    let readings = Readings::of([Some(FIRST), Some(SECOND), None]).await;
    assert_eq!(readings.request_after(1).await, OriginKeyState::Known(key(FIRST)));
    assert_eq!(
        readings.request_after(61).await,
        OriginKeyState::Known(key(SECOND))
    );
    assert_eq!(
        readings.request_after(122).await,
        OriginKeyState::Known(key(SECOND))
    );
    assert_eq!(readings.metrics.failures(), [false, false, true]);
}

#[tokio::test(start_paused = true)]
async fn slow_reading_runs_once_and_ends() {
    let readings = Readings::of([Some(FIRST)]).await;
    for seconds in 61..=63 {
        assert_eq!(
            readings.request_after(seconds).await,
            OriginKeyState::Known(key(FIRST))
        );
    }
    readings.request_after(200).await;
    assert_eq!(readings.begun(), 2, "one reading at a time");
    sleep(READ_TIMEOUT + READ_TIMEOUT_STEP).await;
    assert_eq!(readings.metrics.failures(), [false, true]);
    readings.request_after(201).await;
    assert_eq!(readings.begun(), 3);
}

#[tokio::test(start_paused = true)]
async fn start_waits_for_the_key_at_most_two_seconds() {
    let start = tokio::time::Instant::now();
    let readings = Readings::of([]).await;
    assert_eq!(start.elapsed(), READ_TIMEOUT);
    assert_eq!(readings.live.state(), OriginKeyState::Unknown);
}

#[tokio::test(start_paused = true)]
async fn frozen_process_still_gets_its_answer() {
    let (answer, answered) = oneshot::channel();
    let reading = tokio::spawn(within_running_time(READ_TIMEOUT, answered));
    for _ in 0..5 {
        yield_now().await;
        advance(Duration::from_hours(1)).await;
    }
    answer.send(key(FIRST)).expect("the reading goes on");
    assert_eq!(reading.await.expect("no panic"), Some(Ok(key(FIRST))));
}

#[test]
fn key_is_never_shown() {
    let shown = format!("{:?}", OriginKeyState::Known(key(FIRST)));
    assert_eq!(shown, "Known(OriginKey(***))");
}
