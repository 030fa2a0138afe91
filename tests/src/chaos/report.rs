//! What came of a run, in words.

use std::{
    collections::BTreeSet,
    fmt::{self, Write},
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use super::checker::{Findings, Violation};

/// What came of a run.
#[derive(Debug)]
pub struct Outcome {
    /// All that is known of it.
    pub findings: Findings,
    /// What must not be.
    pub violations: Vec<Violation>,
    /// How long it took.
    pub took: Duration,
}

impl Outcome {
    /// Whether every guarantee held.
    pub fn is_ok(&self) -> bool {
        self.violations.is_empty()
    }

    /// Writes the plan and the evidence into a folder; where.
    ///
    /// # Errors
    /// The file system's.
    pub fn write(&self, folder: &Path) -> io::Result<PathBuf> {
        fs::create_dir_all(folder)?;
        let path = folder.join(format!("seed-{}.txt", self.findings.plan.seed));
        fs::write(&path, self.evidence())?;
        Ok(path)
    }

    /// The plan, the command that replays it, what was violated, and all that whoever is concerned asked and heard.
    pub fn evidence(&self) -> String {
        let findings = &self.findings;
        let mut text = format!(
            "{self}\nreplay: make chaos SEED={}\n\n{}\n",
            findings.plan.seed, findings.plan
        );
        let mut line = |what: &dyn fmt::Display| writeln!(text, "{what}").expect("a string takes all");
        line(&"what struck:");
        for struck in &findings.struck {
            line(&format_args!(
                "  {} to {}  {:?}",
                struck.from_ms, struck.until_ms, struck.fault
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
            for call in findings.story(*visitor) {
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
                n => format!("{n} WRONG,"),
            },
            findings.struck.len(),
            findings.plan.visitors.len(),
            findings.answers(),
            findings.differences.len(),
            self.took.as_secs_f32(),
        )
    }
}
