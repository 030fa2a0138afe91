//! What the guides tell people to type is typed, as far as it needs no account of AWS. A runner on a free port takes
//! the place of a deployment, and [`session`] has stand-ins for the programs that need an account.

mod answers;
mod commands;
mod deploying;
mod page;
mod session;
mod tickets;
mod tour;

use std::{path::Path, process::Command};

use tempfile::TempDir;
use vestibule_tests::runner::Runner;

/// A runner whose folder is `.vestibule` in a temporary folder, as after `make run` in a clone.
fn start_runner() -> (Runner, TempDir) {
    let clone = tempfile::tempdir().expect("a folder");
    let runner = Runner::start(&clone.path().join(".vestibule"), &["--demo-visitors", "0"]);
    (runner.expect("the runner starts"), clone)
}

/// The root of the repository.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a parent")
}

/// What a command of the scripts' shell prints. It installs a missing tool, as the scripts do.
fn installed(command: &str) -> String {
    let script = format!("source infra/tools.sh; {command}");
    let output = Command::new("bash")
        .args(["-c", &script])
        .current_dir(root())
        .output()
        .expect("bash can be started");
    assert!(output.status.success(), "{command}: {output:?}");
    String::from_utf8(output.stdout)
        .expect("text")
        .trim_end()
        .to_owned()
}
