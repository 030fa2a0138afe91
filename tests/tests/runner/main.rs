//! The one-process runner from outside: what stops a start, what survives a restart, what it serves to whom, how it ends.

mod ending;
mod kept;
mod served;
mod starting;

use tempfile::TempDir;
use vestibule_tests::runner::Runner;

const QUEUE: &str = "q";

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

fn start(dir: &TempDir) -> Runner {
    Runner::start(dir.path(), &["--demo-visitors", "0"]).expect("it starts")
}
