//! Tests of the one-process runner as a process: failed starts, restarts, what it serves, and how it ends.

// The limit of a process's files is changed by a program of Linux.
#[cfg(target_os = "linux")]
mod full_disk;
mod planned_restart;
mod requests;
mod restart;
mod restart_scene;
mod rotation;
mod shutdown;
mod sources;
mod startup;
mod tickets;
mod waiting_page;

use tempfile::TempDir;
use vestibule_tests::runner::Runner;

const QUEUE: &str = "q";

fn temporary_folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

fn start_runner(dir: &TempDir) -> Runner {
    Runner::start(dir.path(), &["--demo-visitors", "0"]).expect("the runner starts")
}
