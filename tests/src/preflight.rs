//! The preflight of a deployed stack as a child process.

// A panic in the harness fails the test.
#![allow(clippy::missing_panics_doc)]

use std::{path::PathBuf, process::Command, sync::OnceLock};

use serde_json::Value;
use vestibule_domain::preflight::{Finding, Outcome};

use crate::{programs::build_programs, stack_console::AWS_VARIABLES};

/// What a preflight printed.
#[derive(Debug)]
pub struct PreflightRun {
    /// The exit status.
    pub code: i32,
    /// What it wrote to standard output.
    pub printed: String,
    /// What it wrote to standard error.
    pub errors: String,
}

impl PreflightRun {
    /// Runs the preflight of a stack with these variables of AWS and no others.
    pub fn of_stack(stack: &str, variables: &[(&str, &str)], arguments: &[&str]) -> Self {
        static BINARY: OnceLock<PathBuf> = OnceLock::new();
        let mut program = Command::new(BINARY.get_or_init(find_binary));
        for variable in AWS_VARIABLES {
            program.env_remove(variable);
        }
        program
            .arg(stack)
            .args(arguments)
            .env_remove("VISITOR_TOKEN")
            .env("AWS_CONFIG_FILE", "/dev/null")
            .env("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
            .env("AWS_EC2_METADATA_DISABLED", "true")
            .envs(variables.iter().copied());
        let output = program.output().expect("the preflight can be started");
        Self {
            code: output.status.code().expect("an exit status"),
            printed: String::from_utf8(output.stdout).expect("text"),
            errors: String::from_utf8(output.stderr).expect("text"),
        }
    }

    /// The findings that it printed as JSON.
    pub fn findings(&self) -> Vec<Finding> {
        let mut printed: Value =
            serde_json::from_str(&self.printed).unwrap_or_else(|error| panic!("{error}: {self:?}"));
        serde_json::from_value(printed["findings"].take()).expect("findings")
    }

    /// The checks with this outcome, among those that it printed as JSON.
    pub fn checks_with(&self, outcome: Outcome) -> Vec<String> {
        let findings = self.findings().into_iter();
        let findings = findings.filter(|finding| finding.outcome == outcome);
        findings.map(|finding| finding.check).collect()
    }
}

/// The program: `VESTIBULE_PREFLIGHT_BIN`, or the one built beside this test.
fn find_binary() -> PathBuf {
    match std::env::var_os("VESTIBULE_PREFLIGHT_BIN") {
        Some(path) => path.into(),
        None => build_programs().join("vestibule-preflight"),
    }
}
