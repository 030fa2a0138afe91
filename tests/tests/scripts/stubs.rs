//! A system of stub programs: a folder that is the whole `PATH` of a script.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::{Command, Output},
};

use tempfile::TempDir;

use crate::repository_root;

/// The programs that every system has. The stubs of a test come in addition.
const BASICS: [&str; 18] = [
    "awk", "bash", "cat", "cmp", "cut", "dirname", "env", "fold", "grep", "head", "id", "ln", "mkdir", "ps",
    "rm", "sed", "sleep", "tail",
];

/// A system with the basic programs and the stubs of a test.
pub(crate) struct System {
    folder: TempDir,
}

/// What a script did.
pub(crate) struct Run {
    pub(crate) is_success: bool,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl System {
    /// A system that is none of Linux's distributions and has no package manager.
    pub(crate) fn bare() -> Self {
        let system = System {
            folder: TempDir::new().expect("a folder"),
        };
        fs::create_dir(system.programs()).expect("a folder");
        for name in BASICS {
            symlink(find_program(name), system.programs().join(name)).expect("a link");
        }
        system.with("uname", "echo Stub")
    }

    /// Adds a program whose lines bash runs.
    pub(crate) fn with(self, name: &str, lines: &str) -> Self {
        let path = self.programs().join(name);
        fs::write(&path, format!("#!{}\n{lines}\n", find_program("bash").display())).expect("a program");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("permissions");
        self
    }

    /// Rust and a C compiler, as stubs that say their versions.
    pub(crate) fn with_rust(self) -> Self {
        self.with("cargo", "echo 'cargo 1.95.0 (stub)'")
            .with("cc", "echo 'cc (Stub) 12.2.0'")
    }

    /// A file in which a stub can leave something.
    pub(crate) fn note(&self) -> PathBuf {
        self.folder.path().join("note")
    }

    /// Runs lines of bash that have sourced `infra/tools.sh`.
    pub(crate) fn source(&self, lines: &str) -> Run {
        self.run(
            "bash",
            &[
                "-c",
                &format!("set -euo pipefail\nsource infra/tools.sh\n{lines}"),
            ],
        )
    }

    /// Runs a script of `infra`.
    pub(crate) fn script(&self, name: &str, arguments: &[&str]) -> Run {
        let script = repository_root().join("infra").join(name);
        self.run(&script.to_string_lossy(), arguments)
    }

    fn run(&self, program: &str, arguments: &[&str]) -> Run {
        let path = self.programs();
        let mut command = Command::new(if program == "bash" {
            path.join(program)
        } else {
            program.into()
        });
        command
            .args(arguments)
            .current_dir(repository_root())
            .env_clear()
            .env("PATH", &path)
            .env("NOTE", self.note())
            .env("HOME", self.folder.path());
        Run::from(command.output().expect("the script can be started"))
    }

    fn programs(&self) -> PathBuf {
        self.folder.path().join("programs")
    }
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        Run {
            is_success: output.status.success(),
            stdout: String::from_utf8(output.stdout).expect("text"),
            stderr: String::from_utf8(output.stderr).expect("text"),
        }
    }
}

/// Finds a program of this machine.
pub(crate) fn find_program(name: &str) -> PathBuf {
    let path = std::env::var("PATH").expect("a PATH");
    path.split(':')
        .map(|folder| Path::new(folder).join(name))
        .find(|program| program.is_file())
        .unwrap_or_else(|| panic!("{name} is not installed"))
}
