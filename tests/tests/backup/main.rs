//! The backups: what holds for both, what holds for each, and what carries changes to them and back.

/// Runs each case on both backups.
macro_rules! on_both {
    ($($case:ident)*) => {
        mod on_file {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                let directory = tempfile::tempdir().expect("a directory");
                let backup = super::FileBackup::open(directory.path().join("store")).expect("a store");
                super::$case(&backup).await;
            })*
        }
        mod on_dynamodb {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                super::$case(&super::servers::dynamodb_backup().await).await;
            })*
        }
    };
}

mod conformance;
mod dynamodb;
mod file;
mod journey;
mod leases;
mod looks;
mod picky;
mod place;
mod scene;
mod stuck;
mod throttled;
