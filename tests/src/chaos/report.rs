//! The result of a run as text.

use std::{
    collections::BTreeSet,
    fmt::{self, Write},
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use super::checker::{Findings, Violation};

/// The result of a run.
#[derive(Debug)]
pub struct Outcome {
    /// All observations of the run.
    pub findings: Findings,
    /// The violations that the checker found.
    pub violations: Vec<Violation>,
    /// The duration of the run.
    pub duration: Duration,
}

impl Outcome {
    /// Whether all guarantees held.
    pub fn is_ok(&self) -> bool {
        self.violations.is_empty()
    }

    /// Writes the plan and the evidence to a file in the folder and returns its path.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write_evidence(&self, folder: &Path) -> io::Result<PathBuf> {
        fs::create_dir_all(folder)?;
        let path = folder.join(format!("seed-{}.txt", self.findings.plan.seed));
        fs::write(&path, self.format_evidence())?;
        Ok(path)
    }

    /// The plan, the command that replays it, the violations, and all requests and answers of the visitors
    /// concerned.
    pub fn format_evidence(&self) -> String {
        let findings = &self.findings;
        let mut text = format!(
            "{self}\nreplay: make chaos SEED={}\n\n{}\n",
            findings.plan.seed, findings.plan
        );
        let mut line =
            |what: &dyn fmt::Display| writeln!(text, "{what}").expect("writing to a string does not fail");
        line(&"faults:");
        for period in &findings.fault_periods {
            line(&format_args!(
                "  {} to {}  {:?}",
                period.from_ms, period.until_ms, period.fault
            ));
        }
        for Violation {
            guarantee,
            visitors,
            what,
        } in &self.violations
        {
            line(&format_args!("\nVIOLATED: {guarantee} {visitors:?}\n  {what}"));
        }
        for difference in &findings.differences {
            line(&format_args!(
                "\ndifference at {}: {} {}",
                difference.at_ms, difference.id, difference.what
            ));
        }
        let concerned: BTreeSet<_> = self
            .violations
            .iter()
            .flat_map(|violation| &violation.visitors)
            .collect();
        for visitor in concerned {
            line(&format_args!(
                "\nvisitor {visitor}, token {:?}",
                findings.token(*visitor)
            ));
            for call in findings.calls_of(*visitor) {
                line(&format_args!("  {call}"));
            }
            for (_, record) in findings.records.range((*visitor, 0)..(visitor + 1, 0)) {
                line(&format_args!("  in the table: {record:?}"));
            }
        }
        text
    }
}

/// One line.
impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let findings = &self.findings;
        write!(
            f,
            "seed {:>4}: {:<8} {:>2} faults, {} visitors, {:>5} answers, {} differences, {:.1} s",
            findings.plan.seed,
            match self.violations.len() {
                0 => "ok,".to_owned(),
                count => format!("{count} failed,"),
            },
            findings.fault_periods.len(),
            findings.plan.visitors.len(),
            findings.answers(),
            findings.differences.len(),
            self.duration.as_secs_f32(),
        )
    }
}
