//! What is printed and written of two runs of one crowd: paced, and with a fixed poll.

use std::{fmt::Write as _, fs, io, path::Path};

use crate::{
    scenario::Scenario,
    told::{Held, WAITS_SECONDS},
    world::{Outcome, Sample},
};

/// A wait of half an hour, and a minute to each side.
const HALF_HOUR_MS: std::ops::Range<u64> = 29 * 60_000..31 * 60_000;

/// How one crowd fared.
#[derive(Debug, Clone, Copy)]
pub struct Figures {
    /// Polls a visitor.
    pub polls_mean: f64,
    /// Of one in a hundred more.
    pub polls_p99: u32,
    /// Polls a visitor who waited for half an hour, of those who keep to what they are told; `None` where nobody did.
    pub polls_half_hour: Option<f64>,
    /// The most of them.
    pub polls_half_hour_max: u32,
    /// Seconds a visitor is held.
    pub held_seconds: f64,
    /// The mean wait of those whose turn came, in seconds.
    pub wait_mean_seconds: f64,
    /// The longest, in seconds.
    pub wait_max_seconds: f64,
}

impl Figures {
    /// Counts a run.
    #[allow(clippy::cast_precision_loss)]
    pub fn of(outcome: &Outcome) -> Self {
        let fates = &outcome.fates;
        let visitors = fates.len().max(1) as f64;
        let mut polls: Vec<u32> = fates.iter().map(|fate| fate.polls).collect();
        polls.sort_unstable();
        let half_hour: Vec<u32> = fates
            .iter()
            .zip(&outcome.keepers)
            .filter(|(fate, keeps)| **keeps && fate.waited_ms.is_some_and(|ms| HALF_HOUR_MS.contains(&ms)))
            .map(|(fate, _)| fate.polls)
            .collect();
        let waits: Vec<u64> = fates.iter().filter_map(|fate| fate.waited_ms).collect();
        let sum = |numbers: &[u32]| numbers.iter().map(|number| u64::from(*number)).sum::<u64>() as f64;
        Self {
            polls_mean: sum(&polls) / visitors,
            polls_p99: polls.get(polls.len() * 99 / 100).copied().unwrap_or(0),
            polls_half_hour: (!half_hour.is_empty()).then(|| sum(&half_hour) / half_hour.len() as f64),
            polls_half_hour_max: half_hour.iter().copied().max().unwrap_or(0),
            held_seconds: fates.iter().map(|fate| u64::from(fate.held_ms)).sum::<u64>() as f64
                / visitors
                / 1_000.0,
            wait_mean_seconds: waits.iter().sum::<u64>() as f64 / waits.len().max(1) as f64 / 1_000.0,
            wait_max_seconds: waits.iter().max().copied().unwrap_or(0) as f64 / 1_000.0,
        }
    }
}

/// Both runs of one scenario.
#[derive(Debug)]
pub struct Both {
    /// What was run.
    pub scenario: Scenario,
    /// With clients that keep to what they are told.
    pub paced: Outcome,
    /// With clients that poll every three seconds.
    pub fixed: Outcome,
}

impl Both {
    /// The rows of the table: one for each crowd.
    pub fn rows(&self) -> String {
        let mut rows = String::new();
        for (clients, outcome) in [("paced", &self.paced), ("fixed-3s", &self.fixed)] {
            let figures = Figures::of(outcome);
            let half_hour = figures
                .polls_half_hour
                .map_or("-".to_owned(), |polls| format!("{polls:.1}"));
            let _ = writeln!(
                rows,
                "{:<10} {clients:<9} {:>9} {:>8.0} {:>8.0} {:>8.1} {:>6} {half_hour:>10} {:>8.2} {:>8} {:>7} {:>9} {:>9}",
                self.scenario.name,
                self.scenario.visitors,
                figures.wait_mean_seconds,
                figures.wait_max_seconds,
                figures.polls_mean,
                figures.polls_p99,
                figures.held_seconds,
                outcome.held_max,
                outcome.lost_turns,
                outcome.no_shows,
                outcome.overshoot,
            );
        }
        rows
    }

    /// How the estimates held, by the length of the wait.
    #[allow(clippy::cast_precision_loss)]
    pub fn estimates(&self) -> String {
        let mut rows = String::new();
        let mut row = |wait: String, held: &Held| {
            if held.shown + held.unknown == 0 {
                return;
            }
            let unknown = held.unknown as f64 / (held.shown + held.unknown) as f64;
            let _ = writeln!(
                rows,
                "{:<10} {wait:<12} {:>10} {:>8.3} {:>9.3} {:>9.3} {:>8.3} {:>8.3}",
                self.scenario.name,
                held.shown,
                unknown,
                held.coverage(),
                held.sooner as f64 / held.shown.max(1) as f64,
                held.mean_error(),
                held.mean_width(),
            );
        };
        let mut from = 0;
        for (to, held) in WAITS_SECONDS.into_iter().zip(&self.paced.told.held) {
            let wait = if to == u64::MAX {
                format!("{from}s and more")
            } else {
                format!("{from}-{to}s")
            };
            row(wait, held);
            from = to;
        }
        row("all".to_owned(), &self.paced.told.all());
        rows
    }

    /// Admission over time, as text: a line each so many samples.
    pub fn course(&self) -> String {
        let samples = &self.paced.samples;
        let mut rows = String::new();
        for sample in samples.iter().step_by(samples.len().div_ceil(12).max(1)) {
            let _ = writeln!(
                rows,
                "{:>7} {:>9} {:>7} {:>9} {:>9.1} {:>6} {:>9.1}",
                sample.at_ms / 1_000,
                sample.waiting,
                sample.ready,
                sample.active,
                per_second(sample.served),
                sample.held,
                per_second(sample.polls),
            );
        }
        rows
    }

    /// The course of both runs as CSV.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn write_csv(&self, folder: &Path) -> io::Result<()> {
        let mut text =
            "clients,second,waiting,ready,active,served_per_second,held,polls_per_second\n".to_owned();
        let mut add = |clients: &str, samples: &[Sample], polls: &dyn Fn(&Sample) -> f64| {
            for sample in samples {
                let _ = writeln!(
                    text,
                    "{clients},{},{},{},{},{},{},{:.1}",
                    sample.at_ms / 1_000,
                    sample.waiting,
                    sample.ready,
                    sample.active,
                    per_second(sample.served),
                    sample.held,
                    polls(sample),
                );
            }
        };
        add("paced", &self.paced.samples, &|sample| per_second(sample.polls));
        add("fixed", &self.fixed.samples, &fixed_polls_per_second);
        fs::write(folder.join(format!("{}.csv", self.scenario.name)), text)
    }
}

/// The names of the columns of [`Both::rows`].
pub fn head_of_rows() -> String {
    format!(
        "{:<10} {:<9} {:>9} {:>8} {:>8} {:>8} {:>6} {:>10} {:>8} {:>8} {:>7} {:>9} {:>9}",
        "scenario",
        "clients",
        "visitors",
        "wait_s",
        "max_s",
        "polls",
        "p99",
        "polls_30m",
        "held_s",
        "held_max",
        "lost",
        "no_shows",
        "overshoot"
    )
}

/// The names of the columns of [`Both::estimates`].
pub fn head_of_estimates() -> String {
    format!(
        "{:<10} {:<12} {:>10} {:>8} {:>9} {:>9} {:>8} {:>8}",
        "scenario", "wait", "shown", "unknown", "coverage", "sooner", "error", "width"
    )
}

/// The names of the columns of [`Both::course`].
pub fn head_of_course() -> String {
    format!(
        "{:>7} {:>9} {:>7} {:>9} {:>9} {:>6} {:>9}",
        "second", "waiting", "ready", "active", "served/s", "held", "polls/s"
    )
}

/// Of a count between two samples.
#[allow(clippy::cast_precision_loss)]
pub fn per_second(count: u64) -> f64 {
    count as f64 * 1_000.0 / crate::world::SAMPLE_MS as f64
}

/// Everybody who waits, each three seconds.
#[allow(clippy::cast_precision_loss)]
pub fn fixed_polls_per_second(sample: &Sample) -> f64 {
    sample.waiting as f64 * 1_000.0 / crate::world::FIXED_MS as f64
}
