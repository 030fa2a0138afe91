//! The protected service of the closed loop.

use std::collections::{BTreeMap, VecDeque};

use rand::{RngExt, rngs::StdRng};
use vestibule_domain::id::EntryId;

use super::SLOW;

/// How long visitors stay, on average, in seconds.
const SESSION_SECONDS_MEAN: f64 = 120.0;
/// The requests of each visitor per second.
const REQUESTS_PER_SECOND: f64 = 0.2;
/// The requests that the service answers per second.
const CAPACITY_PER_SECOND: f64 = 200.0;
/// The latency of a service without load, in milliseconds.
const LATENCY_MS_MIN: f64 = 50.0;
/// The latency of an overloaded service: its requests time out, in milliseconds.
const LATENCY_MS_TIMEOUT: f64 = 5_000.0;
/// Over how many seconds the service measures the latency that it reports.
const MEASURED_SECONDS: usize = 5;

/// The service, and the visitors who are in.
#[derive(Debug, Default)]
pub struct Service {
    /// The visitors by the second at which they are done.
    visitors: BTreeMap<u32, Vec<EntryId>>,
    active: u32,
    /// The latencies of the last seconds, in milliseconds.
    latencies_ms: VecDeque<f64>,
}

impl Service {
    /// Lets a visitor in, for an exponential time.
    pub fn let_in(&mut self, id: EntryId, second: u32, rng: &mut StdRng) {
        let stay_seconds = -(1.0 - rng.random::<f64>()).ln() * SESSION_SECONDS_MEAN;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let stay_seconds = stay_seconds.max(1.0) as u32;
        self.visitors.entry(second + stay_seconds).or_default().push(id);
        self.active += 1;
    }

    /// Takes the visitors out who are done.
    pub fn take_done(&mut self, second: u32) -> Vec<EntryId> {
        let later = self.visitors.split_off(&(second + 1));
        let done: Vec<_> = std::mem::replace(&mut self.visitors, later)
            .into_values()
            .flatten()
            .collect();
        self.active -= u32::try_from(done.len()).unwrap_or(self.active);
        done
    }

    /// Serves for a second. Returns the latency in milliseconds: that of a queue with one server, random arrivals and
    /// random work (M/M/1), `1 / (1 - load)` times the one without load.
    pub fn serve(&mut self, second: u32) -> u32 {
        let capacity = if SLOW.contains(&second) {
            CAPACITY_PER_SECOND / 2.0
        } else {
            CAPACITY_PER_SECOND
        };
        let load = f64::from(self.active) * REQUESTS_PER_SECOND / capacity;
        let latency_ms = if load < 1.0 {
            (LATENCY_MS_MIN / (1.0 - load)).min(LATENCY_MS_TIMEOUT)
        } else {
            LATENCY_MS_TIMEOUT
        };
        self.latencies_ms.push_back(latency_ms);
        if self.latencies_ms.len() > MEASURED_SECONDS {
            self.latencies_ms.pop_front();
        }
        round(latency_ms)
    }

    /// The latency that the service reports: the mean of the last seconds, in milliseconds.
    #[allow(clippy::cast_precision_loss)]
    pub fn measured_latency_ms(&self) -> u32 {
        let count = self.latencies_ms.len().max(1) as f64;
        round(self.latencies_ms.iter().sum::<f64>() / count)
    }

    /// The requests per second that the service receives.
    pub fn requests_per_second(&self) -> u32 {
        round(f64::from(self.active) * REQUESTS_PER_SECOND)
    }

    /// How many visitors are in.
    pub fn active(&self) -> u32 {
        self.active
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn round(number: f64) -> u32 {
    number.round() as u32
}
