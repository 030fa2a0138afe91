//! Frequent measurements, collected per queue and written together. A document is written when it is full, or
//! with the first measurement that arrives 10 s after the previous document. No background task runs beside
//! the calls. Samples are therefore lost if Lambda freezes the process and never calls it again.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use serde_json::json;
use vestibule_domain::id::QueueId;

use super::{
    emf::{Metrics, VALUES_MAX},
    metrics::Metric,
};

/// The time between two documents of a queue, unless a document fills up sooner.
const EVERY: Duration = Duration::from_secs(10);

/// Collects durations in milliseconds.
#[derive(Debug)]
pub struct Durations {
    metric: Metric,
    metrics: Metrics,
    queues: Mutex<HashMap<QueueId, Gathered<Vec<f64>>>>,
}

impl Durations {
    /// A collection without samples. It writes `metric` to `metrics`.
    pub fn new(metric: Metric, metrics: Metrics) -> Self {
        Self {
            metric,
            metrics,
            queues: Mutex::default(),
        }
    }

    /// The start time of a measurement; `None` if metrics are not written.
    pub fn begin(&self) -> Option<Instant> {
        self.metrics.is_on().then(Instant::now)
    }

    /// Records how long a call took. A queue is recorded from its first successful call on, so that callers
    /// cannot create metrics with invented queue names.
    pub fn end(&self, queue: &QueueId, begun: Option<Instant>, success: bool) {
        let Some(begun) = begun else { return };
        let now = Instant::now();
        let full = self.gather(queue, now - begun, now, success);
        if let Some(values) = full {
            self.metrics.write(queue, [(self.metric, json!(values))]);
        }
    }

    fn gather(&self, queue: &QueueId, took: Duration, now: Instant, success: bool) -> Option<Vec<f64>> {
        let mut queues = lock(&self.queues);
        if success && !queues.contains_key(queue) {
            queues.insert(queue.clone(), Gathered::default());
        }
        let gathered = queues.get_mut(queue)?;
        // Two decimals of a millisecond are precise enough for every reader.
        gathered
            .what
            .push((took.as_secs_f64() * 100_000.0).round() / 100.0);
        let due = gathered.what.len() >= VALUES_MAX || gathered.is_due(now);
        due.then(|| gathered.take(now))
    }
}

/// Counts how often something starts, and the most that run at once.
#[derive(Debug)]
pub struct Tally {
    times: Metric,
    at_once: Metric,
    metrics: Metrics,
    queues: Mutex<HashMap<QueueId, Gathered<Begun>>>,
}

/// How often something started, and the most that ran at once.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Begun {
    times: u64,
    at_once: u64,
}

impl Tally {
    /// A collection without samples. It writes the number of starts to `times` and the maximum to `at_once`.
    pub fn new(times: Metric, at_once: Metric, metrics: Metrics) -> Self {
        Self {
            times,
            at_once,
            metrics,
            queues: Mutex::default(),
        }
    }

    /// Counts one start, after which `at_once` are running. The caller must know that the queue exists.
    pub fn count(&self, queue: &QueueId, at_once: u64) {
        if !self.metrics.is_on() {
            return;
        }
        if let Some(begun) = self.gather(queue, at_once, Instant::now()) {
            let measured = [
                (self.times, json!(begun.times)),
                (self.at_once, json!(begun.at_once)),
            ];
            self.metrics.write(queue, measured);
        }
    }

    fn gather(&self, queue: &QueueId, at_once: u64, now: Instant) -> Option<Begun> {
        let mut queues = lock(&self.queues);
        let gathered = queues.entry(queue.clone()).or_default();
        gathered.what.times += 1;
        gathered.what.at_once = gathered.what.at_once.max(at_once);
        gathered.is_due(now).then(|| gathered.take(now))
    }
}

/// The samples of one queue since they were last written.
#[derive(Debug, Default)]
struct Gathered<T> {
    what: T,
    written: Option<Instant>,
}

impl<T: Default> Gathered<T> {
    fn is_due(&self, now: Instant) -> bool {
        self.written
            .is_none_or(|written| now.saturating_duration_since(written) >= EVERY)
    }

    fn take(&mut self, now: Instant) -> T {
        self.written = Some(now);
        std::mem::take(&mut self.what)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code panics while it holds the lock with a half-finished change.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::{
        super::metrics::{HELD_AT_ONCE, HELD_POLLS, REDIS_ROUND_TRIP},
        *,
    };

    fn queue(name: &str) -> QueueId {
        name.parse().expect("a queue id")
    }

    #[test]
    fn durations_are_written_when_full_and_every_10_seconds() {
        let durations = Durations::new(REDIS_ROUND_TRIP, Metrics::none());
        let (start, q) = (Instant::now(), queue("q"));
        let at = |seconds| start + Duration::from_secs(seconds);
        let took = Duration::from_micros(1_234);
        let first = durations.gather(&q, took, start, true);
        assert_eq!(
            first,
            Some(vec![1.23]),
            "the first sample is written at once, so that the metric exists"
        );
        assert_eq!(durations.gather(&q, took, at(9), true), None);
        let second = durations.gather(&q, Duration::from_millis(500), at(10), false);
        assert_eq!(second, Some(vec![1.23, 500.0]), "a failed call counts as well");
        for _ in 0..VALUES_MAX - 1 {
            assert_eq!(durations.gather(&q, took, at(11), true), None);
        }
        let full = durations.gather(&q, took, at(11), true).expect("full");
        assert_eq!(full.len(), VALUES_MAX);
        assert_eq!(durations.gather(&q, took, at(20), true), None);
    }

    #[test]
    fn a_name_that_was_made_up_makes_no_metrics() {
        let durations = Durations::new(REDIS_ROUND_TRIP, Metrics::none());
        let now = Instant::now();
        assert_eq!(
            durations.gather(&queue("made-up"), Duration::ZERO, now, false),
            None
        );
        assert!(lock(&durations.queues).is_empty());
        assert!(durations.gather(&queue("q"), Duration::ZERO, now, true).is_some());
    }

    #[test]
    fn a_tally_loses_none_and_keeps_the_highest() {
        let tally = Tally::new(HELD_POLLS, HELD_AT_ONCE, Metrics::none());
        let (start, q) = (Instant::now(), queue("q"));
        let (mut written, mut highest) = (0, Vec::new());
        for second in 0..=60 {
            let begun = tally.gather(&q, 60 - second, start + Duration::from_secs(second));
            written += begun.map_or(0, |begun| begun.times);
            highest.extend(begun.map(|begun| begun.at_once));
        }
        assert_eq!(written, 61);
        assert_eq!(
            highest,
            [60, 59, 49, 39, 29, 19, 9],
            "the maximum starts anew after each document"
        );
    }
}
