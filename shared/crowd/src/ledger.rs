//! Counts the requests of a crowd: how long each took, and what was refused.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde::Serialize;

use crate::{act::Act, checks::percentile};

/// Counts requests. Every visitor writes into the same ledger.
#[derive(Debug, Default)]
pub struct Ledger(Mutex<Entries>);

#[derive(Debug, Default)]
struct Entries {
    by_act: BTreeMap<Act, ActEntries>,
    /// The longest time that a request waited for a free connection.
    longest_queueing: Duration,
}

#[derive(Debug, Default)]
struct ActEntries {
    latencies_us: Vec<u32>,
    failures: BTreeMap<String, u64>,
}

/// What the requests of one act came to. Times are in milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ActFigures {
    /// What was asked.
    #[serde(rename = "operation")]
    pub act: Act,
    /// How many requests were sent.
    pub requests: u64,
    /// The latency of half of the requests.
    pub p50_ms: f64,
    /// That of 90 %.
    pub p90_ms: f64,
    /// That of 99 %.
    pub p99_ms: f64,
    /// The longest.
    pub max_ms: f64,
    /// The sum of all latencies, in seconds.
    pub total_seconds: f64,
    /// How many were refused or got no answer, by code.
    pub failures: BTreeMap<String, u64>,
}

/// The sums of a ledger, for the progress.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LedgerSums {
    /// How many requests were sent.
    pub requests: u64,
    /// How many failed.
    pub failures: u64,
}

/// Whether an answer with this code is a failure. The visitor who looks after a silent entry expects that it has ended.
fn is_failure(act: Act, code: &str) -> bool {
    act != Act::Look || code != "expired"
}

impl Ledger {
    /// Records a request that was answered, or failed with this code, after `latency`.
    pub fn record(&self, act: Act, latency: Duration, code: Option<&str>) {
        // Polls are counted together, for however long the server may hold them.
        let act = match act {
            Act::HeldPoll { .. } => Act::HeldPoll { seconds: 0 },
            other => other,
        };
        let mut entries = self.lock();
        let of_act = entries.by_act.entry(act).or_default();
        of_act
            .latencies_us
            .push(u32::try_from(latency.as_micros()).unwrap_or(u32::MAX));
        if let Some(code) = code.filter(|code| is_failure(act, code)) {
            *of_act.failures.entry(code.to_owned()).or_default() += 1;
        }
    }

    /// Records how long a request waited for a free connection.
    pub fn record_queueing(&self, duration: Duration) {
        let mut entries = self.lock();
        entries.longest_queueing = entries.longest_queueing.max(duration);
    }

    /// The longest time that a request waited for a free connection.
    pub fn longest_queueing(&self) -> Duration {
        self.lock().longest_queueing
    }

    /// The sums so far.
    pub fn sums(&self) -> LedgerSums {
        let entries = self.lock();
        let mut sums = LedgerSums::default();
        for of_act in entries.by_act.values() {
            sums.requests += of_act.latencies_us.len() as u64;
            sums.failures += of_act.failures.values().sum::<u64>();
        }
        sums
    }

    /// The figures of each act that was used.
    pub fn figures(&self) -> Vec<ActFigures> {
        let mut entries = self.lock();
        entries
            .by_act
            .iter_mut()
            .map(|(act, of_act)| of_act.figures(*act))
            .collect()
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        // A count is complete whatever panicked beside it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ActEntries {
    fn figures(&mut self, act: Act) -> ActFigures {
        self.latencies_us.sort_unstable();
        let at_percent = |percent| {
            let latency_us = percentile(&self.latencies_us, percent).unwrap_or_default();
            f64::from(latency_us) / 1_000.0
        };
        ActFigures {
            act,
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
    fn figures_are_of_one_act_each() {
        let ledger = Ledger::default();
        for ms in 1..=100 {
            ledger.record(Act::Poll, Duration::from_millis(ms), None);
        }
        ledger.record(Act::Enter, Duration::from_millis(7), Some("queue-full"));
        let figures = ledger.figures();
        let names: Vec<_> = figures.iter().map(|figure| figure.act).collect();
        assert_eq!(names, [Act::Enter, Act::Poll]);
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
    fn held_polls_are_one_act_with_a_plain_name() {
        let ledger = Ledger::default();
        for seconds in [5, 20] {
            ledger.record(Act::HeldPoll { seconds }, Duration::from_secs(1), None);
        }
        let figures = serde_json::to_value(ledger.figures()).expect("JSON");
        assert_eq!(figures.as_array().map(Vec::len), Some(1));
        assert_eq!(
            (&figures[0]["operation"], &figures[0]["requests"]),
            (&"held_poll".into(), &2.into())
        );
    }

    #[test]
    fn an_entry_that_has_ended_is_no_failure_of_a_look() {
        let ledger = Ledger::default();
        ledger.record(Act::Look, Duration::ZERO, Some("expired"));
        ledger.record(Act::Poll, Duration::ZERO, Some("expired"));
        assert_eq!(ledger.sums().failures, 1);
    }
}
