//! Builds the programs under test, so that no test runs an outdated one.

use std::{env, path::PathBuf, process::Command};

/// Builds the programs of a package and returns the folder that holds them.
///
/// # Panics
/// If the build fails.
pub(crate) fn built(package: &str) -> PathBuf {
    let built = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--package", package])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()
        .expect("cargo can be started");
    assert!(built.success(), "{package} does not build");
    // The path of this test is target/debug/deps/name-hash.
    let test = env::current_exe().expect("a test knows its own path");
    test.ancestors()
        .nth(2)
        .expect("it lies in a target folder")
        .to_owned()
}
