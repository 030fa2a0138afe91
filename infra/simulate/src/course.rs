//! The course of one scenario, of both crowds: as text, and as CSV.

use std::{fmt::Write as _, fs, io, path::Path};

use crate::{
    outcome::Sample,
    world::{FIXED_MS, SAMPLE_MS},
};

/// Both runs of one scenario with one seed.
#[derive(Debug, Clone, Copy)]
pub struct Course<'a> {
    /// The scenario.
    pub name: &'static str,
    /// With clients that keep to what they are told.
    pub paced: &'a [Sample],
    /// With clients that poll every three seconds.
    pub fixed: &'a [Sample],
}

impl Course<'_> {
    /// Admission over time, as text: a line each so many samples.
    pub fn rows(&self) -> String {
        let mut rows = format!(
            "{:>7} {:>9} {:>7} {:>9} {:>9} {:>6} {:>9}\n",
            "second", "waiting", "ready", "active", "served/s", "held", "polls/s"
        );
        let step = self.paced.len().div_ceil(12).max(1);
        for sample in self.paced.iter().step_by(step) {
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

    /// Writes `NAME.csv` in that folder.
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
        add("paced", self.paced, &|sample| per_second(sample.polls));
        add("fixed", self.fixed, &fixed_polls_per_second);
        fs::write(folder.join(format!("{}.csv", self.name)), text)
    }
}

/// Of a count between two samples.
#[allow(clippy::cast_precision_loss)]
pub fn per_second(count: u64) -> f64 {
    count as f64 * 1_000.0 / SAMPLE_MS as f64
}

/// Everybody who waits, each three seconds.
#[allow(clippy::cast_precision_loss)]
pub fn fixed_polls_per_second(sample: &Sample) -> f64 {
    sample.waiting as f64 * 1_000.0 / FIXED_MS as f64
}
