//! Counts the requests of a rehearsal: how long each took, and what was refused.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde::Serialize;

use crate::{operation::Operation, percentile::percentile};

/// Counts requests. Every visitor writes into the same ledger.
#[derive(Debug, Default)]
pub(crate) struct Ledger(Mutex<Entries>);

#[derive(Debug, Default)]
struct Entries {
    by_operation: BTreeMap<Operation, OperationEntries>,
    /// The longest time that a request waited for a free connection.
    longest_queueing: Duration,
}

#[derive(Debug, Default)]
struct OperationEntries {
    latencies_us: Vec<u32>,
    failures: BTreeMap<String, u64>,
}

/// What the requests of one operation came to. Times are in milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct OperationFigures {
    /// What was asked.
    pub(crate) operation: Operation,
    /// How many requests were sent.
    pub(crate) requests: u64,
    /// The latency of half of the requests, of 90 % and of 99 %, and the longest.
    pub(crate) p50_ms: f64,
    pub(crate) p90_ms: f64,
    pub(crate) p99_ms: f64,
    pub(crate) max_ms: f64,
    /// The sum of all latencies, in seconds.
    pub(crate) total_seconds: f64,
    /// How many were refused or got no answer, by code.
    pub(crate) failures: BTreeMap<String, u64>,
}

/// The sums of a ledger, for the progress.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LedgerSums {
    /// How many requests were sent.
    pub(crate) requests: u64,
    /// How many failed.
    pub(crate) failures: u64,
}

impl Ledger {
    /// Records a request that was answered, or failed with this code, after `latency`.
    pub(crate) fn record(&self, operation: Operation, latency: Duration, code: Option<&str>) {
        let mut entries = self.lock();
        let of_operation = entries.by_operation.entry(operation).or_default();
        of_operation
            .latencies_us
            .push(u32::try_from(latency.as_micros()).unwrap_or(u32::MAX));
        if let Some(code) = code.filter(|code| operation.is_failure(code)) {
            *of_operation.failures.entry(code.to_owned()).or_default() += 1;
        }
    }

    /// Records how long a request waited for a free connection.
    pub(crate) fn record_queueing(&self, duration: Duration) {
        let mut entries = self.lock();
        entries.longest_queueing = entries.longest_queueing.max(duration);
    }

    /// The longest time that a request waited for a free connection.
    pub(crate) fn longest_queueing(&self) -> Duration {
        self.lock().longest_queueing
    }

    /// The sums so far.
    pub(crate) fn sums(&self) -> LedgerSums {
        let entries = self.lock();
        let mut sums = LedgerSums::default();
        for of_operation in entries.by_operation.values() {
            sums.requests += of_operation.latencies_us.len() as u64;
            sums.failures += of_operation.failures.values().sum::<u64>();
        }
        sums
    }

    /// The figures of each operation that was used.
    pub(crate) fn figures(&self) -> Vec<OperationFigures> {
        let mut entries = self.lock();
        entries
            .by_operation
            .iter_mut()
            .map(|(operation, of_operation)| of_operation.figures(*operation))
            .collect()
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        // A count is complete whatever panicked beside it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OperationEntries {
    fn figures(&mut self, operation: Operation) -> OperationFigures {
        self.latencies_us.sort_unstable();
        let at_percent = |percent| {
            let latency_us = percentile(&self.latencies_us, percent).unwrap_or_default();
            f64::from(latency_us) / 1_000.0
        };
        OperationFigures {
            operation,
            requests: self.latencies_us.len() as u64,
            p50_ms: at_percent(50),
            p90_ms: at_percent(90),
            p99_ms: at_percent(99),
            max_ms: at_percent(100),
            total_seconds: self.latencies_us.iter().map(|us| f64::from(*us)).sum::<f64>() / 1e6,
            failures: self.failures.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_of_one_operation_each() {
        let ledger = Ledger::default();
        for ms in 1..=100 {
            ledger.record(Operation::Poll, Duration::from_millis(ms), None);
        }
        ledger.record(Operation::Enter, Duration::from_millis(7), Some("queue-full"));
        let figures = ledger.figures();
        let names: Vec<_> = figures.iter().map(|figure| figure.operation).collect();
        assert_eq!(names, [Operation::Enter, Operation::Poll]);
        let polls = &figures[1];
        assert_eq!((polls.requests, polls.failures.len()), (100, 0));
        let all = [polls.p50_ms, polls.p90_ms, polls.p99_ms, polls.max_ms].map(f64::round);
        assert_eq!(all.map(|ms| format!("{ms}")), ["50", "90", "99", "100"]);
        assert_eq!(figures[0].failures["queue-full"], 1);
        assert_eq!(
            ledger.sums(),
            LedgerSums {
                requests: 101,
                failures: 1
            }
        );
    }

    #[test]
    fn an_entry_that_has_ended_is_no_failure_of_a_look() {
        let ledger = Ledger::default();
        ledger.record(Operation::Look, Duration::ZERO, Some("expired"));
        ledger.record(Operation::Poll, Duration::ZERO, Some("expired"));
        assert_eq!(ledger.sums().failures, 1);
    }
}
