//! What an attack did to the honest visitors.

use vestibule_crowd::{act::Act, checks::percentile, record::VisitRecord};

use super::{
    Admission, Attack, BATCH, INTERVAL_SECONDS, attacker::Traffic, honest::RequestTimes, meter::Reading,
};

/// What an attack did to the honest visitors.
#[derive(Debug)]
pub struct AttackResult {
    pub(super) admission: Admission,
    pub(super) attack: Option<Attack>,
    /// The honest visitors who were in line before.
    pub(super) in_line: HonestVisits,
    /// The honest visitors who came meanwhile.
    pub(super) newcomers: HonestVisits,
    pub(super) traffic: Traffic,
    /// The requests of the honest visitors.
    pub(super) times: RequestTimes,
    pub(super) readings: Vec<Reading>,
}

/// Some honest visitors.
#[derive(Debug)]
pub(super) struct HonestVisits {
    /// The visits that came to their end.
    visits: Vec<VisitRecord>,
    /// Visitors whose turn had not come when the run ended.
    unserved: usize,
}

impl HonestVisits {
    pub(super) fn new(visits: Vec<Option<VisitRecord>>) -> Self {
        Self {
            unserved: visits.iter().filter(|visit| visit.is_none()).count(),
            visits: visits.into_iter().flatten().collect(),
        }
    }
}

/// How many entries were let in while entries waited all the time, and how many the pace allows.
#[derive(Debug, Clone, Copy)]
pub struct Promotions {
    /// Entries that were let in.
    pub counted: u64,
    /// What the pace lets in, in this time.
    pub by_pace: u64,
    /// The same, without the time by which ticks came late. A tick lets in one batch at most, however late it comes. It is
    /// too low if the readings are so rare that several ticks fall between two of them.
    pub by_ticks: u64,
}

impl AttackResult {
    /// Honest visitors whose turn had not come when the run ended.
    pub fn unserved(&self) -> usize {
        self.in_line.unserved + self.newcomers.unserved
    }

    /// Those of them who were in line before the attack.
    pub fn unserved_in_line(&self) -> usize {
        self.in_line.unserved
    }

    /// Visits of which the protected service was not told that the visitor may act.
    pub fn failed_validates(&self) -> usize {
        self.visits().filter(|visit| visit.validations == 0).count()
    }

    fn visits(&self) -> impl Iterator<Item = &VisitRecord> {
        self.in_line.visits.iter().chain(&self.newcomers.visits)
    }

    /// Requests of the attacker that were refused, with 403, 429 or 5xx.
    pub fn refused(&self) -> u64 {
        self.traffic.refused
    }

    /// Requests per second that the attacker sent.
    pub fn requests_per_second(&self) -> f64 {
        self.traffic.requests_per_second
    }

    /// The promotions from the first to the last reading that shows a line longer than two batches.
    ///
    /// # Panics
    /// Panics if there never was such a line.
    pub fn promotions(&self) -> Promotions {
        let in_line: Vec<_> = self
            .readings
            .iter()
            .filter(|reading| reading.waiting > 2 * BATCH)
            .collect();
        let steps: Vec<_> = in_line
            .windows(2)
            .filter(|pair| pair[1].let_in > pair[0].let_in)
            .map(|pair| pair[1])
            .collect();
        let (Some(first), Some(last)) = (steps.first(), steps.last()) else {
            panic!("no entry was promoted from a line of more than two batches");
        };
        let interval_ms = INTERVAL_SECONDS * 1_000;
        let ticks = steps
            .windows(2)
            .map(|pair| (pair[1].at_ms - pair[0].at_ms).min(interval_ms));
        Promotions {
            counted: last.let_in - first.let_in,
            by_pace: (last.at_ms - first.at_ms) * BATCH / interval_ms,
            by_ticks: ticks.sum::<u64>() * BATCH / interval_ms,
        }
    }

    /// For each honest visitor the entries that were let in between entering and the own turn, as a multiple of the honest
    /// visitors who were ahead. Both begin with one batch, in which the order of the turns is not seen. The largest is
    /// last.
    pub fn waits_in_promotions(&self) -> Vec<f64> {
        self.waits_of(self.visits())
    }

    /// The same of those who were in line before the attack.
    pub fn waits_in_promotions_of_line(&self) -> Vec<f64> {
        self.waits_of(self.in_line.visits.iter())
    }

    fn waits_of<'a>(&self, visits: impl Iterator<Item = &'a VisitRecord>) -> Vec<f64> {
        let turn = |visit: &VisitRecord| visit.joined_at_ms.zip(visit.promoted_at_ms);
        let mut waits: Vec<_> = visits
            .filter_map(turn)
            .filter(|(joined_at_ms, promoted_at_ms)| promoted_at_ms > joined_at_ms)
            .map(|(joined_at_ms, promoted_at_ms)| {
                let ahead = self
                    .visits()
                    .filter_map(turn)
                    .filter(|other| other.0 < joined_at_ms && other.1 > joined_at_ms);
                let let_in = self.let_in_before(promoted_at_ms) - self.let_in_at(joined_at_ms);
                as_float(let_in + BATCH) / as_float(ahead.count() as u64 + BATCH)
            })
            .collect();
        waits.sort_by(f64::total_cmp);
        waits
    }

    /// The total at the last reading before this time of the line.
    fn let_in_before(&self, at_ms: u64) -> u64 {
        let earlier = self.readings.iter().rev().find(|reading| reading.at_ms < at_ms);
        earlier.map_or(0, |reading| reading.let_in)
    }

    /// The total at the first reading from this time of the line on.
    fn let_in_at(&self, at_ms: u64) -> u64 {
        let reading = self.readings.iter().find(|reading| reading.at_ms >= at_ms);
        reading.map_or(0, |reading| reading.let_in)
    }

    /// Prints the figures, one `name=value` a line. Times are also printed as multiples of those without an attack.
    pub fn print(&self, without_attack: Option<&Self>) {
        let attack = self.attack.map_or("without_attack", Attack::name);
        let name = match self.admission {
            Admission::Anyone => attack.to_owned(),
            Admission::Ticket => format!("{attack}_with_tickets"),
        };
        let promotions = self.promotions();
        println!("{name}_attacker_rps={:.0}", self.traffic.requests_per_second);
        println!("{name}_attacker_refused={}", self.traffic.refused);
        println!("{name}_served={}", self.visits().count());
        println!("{name}_unserved={}", self.unserved());
        println!("{name}_unserved_in_line={}", self.unserved_in_line());
        println!("{name}_promotions={}", promotions.counted);
        println!("{name}_promotions_by_pace={}", promotions.by_pace);
        println!("{name}_failed_validates={}", self.failed_validates());
        println!("{name}_honest_refused={}", self.times.refused());
        for (figure, value) in self.times() {
            println!("{name}_{figure}={value:.1}");
            if let Some(without) = without_attack
                && let Some((_, base)) = without.times().into_iter().find(|(other, _)| *other == figure)
            {
                println!("{name}_{figure}_vs_without={:.2}", value / base);
            }
        }
        if let Some(longest) = self.waits_in_promotions().last() {
            println!("{name}_wait_in_promotions_max={longest:.2}");
        }
    }

    /// The wait from the first try to enter until the turn, and the latencies of the honest visitors.
    fn times(&self) -> Vec<(&'static str, f64)> {
        let waits = self.visits().filter_map(|visit| {
            let promoted_at_ms = as_float(visit.promoted_at_ms?);
            Some((promoted_at_ms - visit.arrived_at_ms).max(0.0) / 1_000.0)
        });
        let of = |meant: Act| self.times.sorted_ms(|act, ms| (act == meant).then_some(ms));
        let (enter, claim, validate) = (of(Act::Enter), of(Act::Claim), of(Act::Validate));
        let status = self.times.sorted_ms(answer_ms);
        vec![
            ("wait_mean_seconds", mean(&waits.collect::<Vec<_>>())),
            ("enter_median_ms", at_percent(&enter, 50)),
            ("enter_p99_ms", at_percent(&enter, 99)),
            ("status_median_ms", at_percent(&status, 50)),
            ("status_p99_ms", at_percent(&status, 99)),
            ("claim_median_ms", at_percent(&claim, 50)),
            ("claim_p99_ms", at_percent(&claim, 99)),
            ("validate_median_ms", at_percent(&validate, 50)),
            ("validate_p99_ms", at_percent(&validate, 99)),
        ]
    }
}

/// How long a poll was under way, beyond the time for which the server held it. `None` for another request, and for a poll
/// that ended sooner than the client offered to wait: how long the server held it is not known.
fn answer_ms(act: Act, latency_ms: f64) -> Option<f64> {
    match act {
        Act::Poll => Some(latency_ms),
        Act::HeldPoll { seconds } => {
            let beyond_ms = latency_ms - 1_000.0 * f64::from(seconds);
            (beyond_ms >= 0.0).then_some(beyond_ms)
        }
        _ => None,
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / as_float(values.len() as u64)
}

fn at_percent(sorted: &[f64], percent: usize) -> f64 {
    percentile(sorted, percent).unwrap_or(f64::NAN)
}

/// The numbers here are far below 2^52.
#[expect(clippy::cast_precision_loss, reason = "the numbers are small")]
fn as_float(number: u64) -> f64 {
    number as f64
}
