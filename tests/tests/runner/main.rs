//! The one-process runner from outside: what stops a start, what survives a restart, what it serves to whom, how it ends.

mod ending;
mod kept;
mod served;
mod starting;

use std::time::Duration;

use tempfile::TempDir;
use tokio::time::{sleep, timeout};
use vestibule_tests::runner::Runner;

const QUEUE: &str = "q";

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

fn start(dir: &TempDir) -> Runner {
    Runner::start(dir.path(), &["--crowd", "0"]).expect("it starts")
}

async fn within(bound: Duration, mut condition: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !condition().await {
            sleep(Duration::from_millis(100)).await;
        }
    };
    timeout(bound, waiting).await.expect("it comes about in time");
}
