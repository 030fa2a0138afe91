//! Frequent measurements, collected per queue and written together. A document is written when it
//! is full, or with the first measurement that arrives 10 s after the previous document. No
//! background task runs beside the calls. Samples are therefore lost if Lambda freezes the process
//! and never calls it again.

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
const WRITE_INTERVAL: Duration = Duration::from_secs(10);

/// Collects durations in milliseconds.
#[derive(Debug)]
pub struct DurationSamples {
    metric: Metric,
    metrics: Metrics,
    queues: Mutex<HashMap<QueueId, QueueSamples<Vec<f64>>>>,
}

impl DurationSamples {
    /// A collection without samples. It writes `metric` to `metrics`.
    pub fn new(metric: Metric, metrics: Metrics) -> Self {
        Self {
            metric,
            metrics,
            queues: Mutex::default(),
        }
    }

    /// The start time of a measurement; `None` if metrics are not written.
    pub fn start_measurement(&self) -> Option<Instant> {
        self.metrics.is_enabled().then(Instant::now)
    }

    /// Records how long a call took. A queue is recorded from its first successful call on, so that
    /// callers cannot create metrics with invented queue names.
    pub fn record_measurement(&self, queue: &QueueId, begun: Option<Instant>, success: bool) {
        let Some(begun) = begun else { return };
        let now = Instant::now();
        let full = self.add_sample(queue, now - begun, now, success);
        if let Some(values) = full {
            self.metrics.write(queue, [(self.metric, json!(values))]);
        }
    }

    fn add_sample(&self, queue: &QueueId, took: Duration, now: Instant, success: bool) -> Option<Vec<f64>> {
        let mut queues = lock(&self.queues);
        if success && !queues.contains_key(queue) {
            queues.insert(queue.clone(), QueueSamples::default());
        }
        let gathered = queues.get_mut(queue)?;
        // Two decimals of a millisecond are precise enough for every reader.
        gathered
            .samples
            .push((took.as_secs_f64() * 100_000.0).round() / 100.0);
        let due = gathered.samples.len() >= VALUES_MAX || gathered.is_due(now);
        due.then(|| gathered.take_samples(now))
    }
}

/// Counts how often something starts, and the most that run at once.
#[derive(Debug)]
pub struct StartCounter {
    times: Metric,
    at_once: Metric,
    metrics: Metrics,
    queues: Mutex<HashMap<QueueId, QueueSamples<StartCounts>>>,
}

/// How often something started, and the most that ran at once.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct StartCounts {
    times: u64,
    at_once: u64,
}

impl StartCounter {
    /// A collection without samples. It writes the number of starts to `times` and the maximum to
    /// `at_once`.
    pub fn new(times: Metric, at_once: Metric, metrics: Metrics) -> Self {
        Self {
            times,
            at_once,
            metrics,
            queues: Mutex::default(),
        }
    }

    /// Counts one start, after which `at_once` are running. The caller must know that the queue exists.
    pub fn count_start(&self, queue: &QueueId, at_once: u64) {
        if !self.metrics.is_enabled() {
            return;
        }
        if let Some(begun) = self.add_start(queue, at_once, Instant::now()) {
            let measured = [
                (self.times, json!(begun.times)),
                (self.at_once, json!(begun.at_once)),
            ];
            self.metrics.write(queue, measured);
        }
    }

    fn add_start(&self, queue: &QueueId, at_once: u64, now: Instant) -> Option<StartCounts> {
        let mut queues = lock(&self.queues);
        let gathered = queues.entry(queue.clone()).or_default();
        gathered.samples.times += 1;
        gathered.samples.at_once = gathered.samples.at_once.max(at_once);
        gathered.is_due(now).then(|| gathered.take_samples(now))
    }
}

/// Counts two kinds of outcomes of the whole deployment, and always writes both: an alarm can then compare
/// them.
#[derive(Debug)]
pub struct OutcomeCounter {
    names: [Metric; 2],
    metrics: Metrics,
    counts: Mutex<QueueSamples<[u64; 2]>>,
}

impl OutcomeCounter {
    /// A counter without samples. It writes the first outcome to `first`, and the second to `second`.
    pub fn new(first: Metric, second: Metric, metrics: Metrics) -> Self {
        Self {
            names: [first, second],
            metrics,
            counts: Mutex::default(),
        }
    }

    /// Counts one first outcome.
    pub fn count_first(&self) {
        self.count([1, 0]);
    }

    /// Counts one second outcome.
    pub fn count_second(&self) {
        self.count([0, 1]);
    }

    fn count(&self, added: [u64; 2]) {
        if !self.metrics.is_enabled() {
            return;
        }
        if let Some(counts) = self.add_counts(added, Instant::now()) {
            let measured = self.names.into_iter().zip(counts.map(|count| json!(count)));
            self.metrics.write_for_deployment(measured);
        }
    }

    fn add_counts(&self, added: [u64; 2], now: Instant) -> Option<[u64; 2]> {
        let mut counts = lock(&self.counts);
        for (count, added) in counts.samples.iter_mut().zip(added) {
            *count += added;
        }
        counts.is_due(now).then(|| counts.take_samples(now))
    }
}

/// The samples of one queue or of the deployment since they were last written.
#[derive(Debug, Default)]
struct QueueSamples<T> {
    samples: T,
    last_written_at: Option<Instant>,
}

impl<T: Default> QueueSamples<T> {
    fn is_due(&self, now: Instant) -> bool {
        self.last_written_at
            .is_none_or(|written| now.saturating_duration_since(written) >= WRITE_INTERVAL)
    }

    fn take_samples(&mut self, now: Instant) -> T {
        self.last_written_at = Some(now);
        std::mem::take(&mut self.samples)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code panics while it holds the lock with a half-finished change.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::{
        super::metrics::{
            HELD_POLLS, HELD_POLLS_MAX, IDENTITIES_FOUND, IDENTITIES_MISSING, REDIS_ROUND_TRIP,
        },
        *,
    };

    fn queue(name: &str) -> QueueId {
        name.parse().expect("a queue id")
    }

    #[test]
    fn durations_are_written_if_full_or_10_seconds_old() {
        let durations = DurationSamples::new(REDIS_ROUND_TRIP, Metrics::none());
        let (start, q) = (Instant::now(), queue("q"));
        let at = |seconds| start + Duration::from_secs(seconds);
        let took = Duration::from_micros(1_234);
        let first = durations.add_sample(&q, took, start, true);
        assert_eq!(
            first,
            Some(vec![1.23]),
            "the first sample is written at once, so that the metric exists"
        );
        assert_eq!(durations.add_sample(&q, took, at(9), true), None);
        let second = durations.add_sample(&q, Duration::from_millis(500), at(10), false);
        assert_eq!(second, Some(vec![1.23, 500.0]), "a failed call counts as well");
        for _ in 0..VALUES_MAX - 1 {
            assert_eq!(durations.add_sample(&q, took, at(11), true), None);
        }
        let full = durations.add_sample(&q, took, at(11), true).expect("full");
        assert_eq!(full.len(), VALUES_MAX);
        assert_eq!(durations.add_sample(&q, took, at(20), true), None);
    }

    #[test]
    fn an_invented_queue_name_creates_no_metrics() {
        let durations = DurationSamples::new(REDIS_ROUND_TRIP, Metrics::none());
        let now = Instant::now();
        assert_eq!(
            durations.add_sample(&queue("made-up"), Duration::ZERO, now, false),
            None
        );
        assert!(lock(&durations.queues).is_empty());
        assert!(
            durations
                .add_sample(&queue("q"), Duration::ZERO, now, true)
                .is_some()
        );
    }

    #[test]
    fn a_counter_loses_no_start_and_keeps_the_maximum() {
        let tally = StartCounter::new(HELD_POLLS, HELD_POLLS_MAX, Metrics::none());
        let (start, q) = (Instant::now(), queue("q"));
        let (mut written, mut highest) = (0, Vec::new());
        for second in 0..=60 {
            let begun = tally.add_start(&q, 60 - second, start + Duration::from_secs(second));
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

    #[test]
    fn an_outcome_counter_writes_both_counts_together() {
        let counter = OutcomeCounter::new(IDENTITIES_FOUND, IDENTITIES_MISSING, Metrics::none());
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(counter.add_counts([0, 1], start), Some([0, 1]), "at once");
        assert_eq!(counter.add_counts([1, 0], at(5)), None);
        assert_eq!(counter.add_counts([0, 1], at(10)), Some([1, 1]));
    }
}
