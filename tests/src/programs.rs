//! Builds the programs under test, so that no test runs an outdated one.

use std::{env, path::PathBuf, process::Command};

/// Builds the programs of the workspace and returns the folder that holds them. The tests are built with the same
/// features, so only what has changed is compiled.
///
/// # Panics
/// If the build fails.
pub(crate) fn build_programs() -> PathBuf {
    let status = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--workspace", "--locked", "--bins"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()
        .expect("cargo can be started");
    assert!(status.success(), "the programs do not build");
    // The path of this test is target/debug/deps/name-hash.
    let test = env::current_exe().expect("a test knows its own path");
    test.ancestors()
        .nth(2)
        .expect("it lies in a target folder")
        .to_owned()
}
