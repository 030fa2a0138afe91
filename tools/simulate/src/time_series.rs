//! The time series of one scenario, with paced and with fixed clients: as text, and as CSV.

use std::{fmt::Write as _, fs, io, path::Path};

use crate::{
    outcome::Sample,
    simulation::{FIXED_POLL_MS, SAMPLE_MS},
};

/// The samples of both runs of a scenario with one seed.
#[derive(Debug, Clone, Copy)]
pub struct TimeSeries<'a> {
    /// The name of the scenario.
    pub name: &'static str,
    /// The run with clients that follow `retry_after_ms`.
    pub paced: &'a [Sample],
    /// The run with clients that poll every three seconds.
    pub fixed: &'a [Sample],
}

impl TimeSeries<'_> {
    /// About twelve samples of the paced run as a text table.
    pub fn format_rows(&self) -> String {
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

    /// Writes all samples to `NAME.csv` in the folder.
    ///
    /// # Errors
    /// The file cannot be written.
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

/// A count of one sample interval as a rate per second.
#[allow(clippy::cast_precision_loss)]
pub fn per_second(count: u64) -> f64 {
    count as f64 * 1_000.0 / SAMPLE_MS as f64
}

/// The polls per second of fixed clients: each waiting visitor polls every three seconds.
#[allow(clippy::cast_precision_loss)]
pub fn fixed_polls_per_second(sample: &Sample) -> f64 {
    sample.waiting as f64 * 1_000.0 / FIXED_POLL_MS as f64
}
