//! The console of operators: in the runner, and for a stack whose Lambda and `CloudFormation` are a server of the test.

mod fake_aws;
mod guard;
mod runner;
mod stack;

use tempfile::TempDir;
use vestibule_tests::runner::Runner;

const QUEUE: &str = "TIMEDEAL:123";

fn start_runner() -> (TempDir, Runner) {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let runner = Runner::start(dir.path(), &["--demo-visitors", "0"]).expect("the runner starts");
    (dir, runner)
}
