//! The programs that are tested, built beside the test, so that no stale one is.

use std::{env, path::PathBuf, process::Command};

/// The folder that has the programs of this package once it is built.
///
/// # Panics
/// Where it does not build.
pub(crate) fn built(package: &str) -> PathBuf {
    let built = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--package", package])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()
        .expect("cargo can be started");
    assert!(built.success(), "{package} does not build");
    // This test is target/debug/deps/name-hash.
    let test = env::current_exe().expect("a test knows its own path");
    test.ancestors()
        .nth(2)
        .expect("it lies in a target folder")
        .to_owned()
}
