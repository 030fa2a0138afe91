//! Tests of the backups: rules for both, rules for each, and how changes reach a backup and return to a line.

/// Runs each case on both backups.
macro_rules! on_both_backups {
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
mod damaged_items;
mod dead_letters;
mod dynamodb;
mod dynamodb_service;
mod faulty_backup;
mod faulty_scene;
mod file;
mod file_scene;
mod leases;
mod round_trip;
mod throttling;
mod unwritten_claim;
