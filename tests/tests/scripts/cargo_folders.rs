//! The scripts find what cargo builds, wherever its settings put that.

use std::{fs, process::Command};

use tempfile::TempDir;

use crate::{
    repository_root,
    stubs::{Run, find_program},
};

/// A small crate with the scripts of the repository, below a folder that can have settings of cargo.
struct Checkout {
    folder: TempDir,
}

impl Checkout {
    fn new(settings: &str) -> Self {
        let folder = TempDir::new().expect("a folder");
        let path = folder.path().canonicalize().expect("a path");
        for name in [".cargo", "checkout", "checkout/infra", "checkout/src"] {
            fs::create_dir(path.join(name)).expect("a folder");
        }
        fs::write(path.join(".cargo/config.toml"), settings).expect("the settings");
        let manifest =
            "[package]\nname = \"small\"\nversion = \"1.0.0\"\nedition = \"2024\"\nrust-version = \"1.95\"\n";
        fs::write(path.join("checkout/Cargo.toml"), manifest).expect("the manifest");
        fs::write(path.join("checkout/src/main.rs"), "fn main() {}\n").expect("a program");
        let root = repository_root();
        for entry in fs::read_dir(root.join("infra")).expect("a folder") {
            let script = entry.expect("a file").path();
            if script.extension().is_some_and(|extension| extension == "sh") {
                let name = script.file_name().expect("a name");
                fs::copy(&script, path.join("checkout/infra").join(name)).expect("a copy");
            }
        }
        fs::copy(
            root.join("rust-toolchain.toml"),
            path.join("checkout/rust-toolchain.toml"),
        )
        .expect("a copy");
        Checkout { folder }
    }

    fn source(&self, lines: &str, variables: &[(&str, &str)]) -> Run {
        let mut command = Command::new(find_program("bash"));
        command
            .args([
                "-c",
                &format!("set -euo pipefail\nsource infra/tools.sh\n{lines}"),
            ])
            .current_dir(self.folder.path().join("checkout"));
        for name in [
            "CARGO_TARGET_DIR",
            "CARGO_BUILD_TARGET",
            "CARGO_BUILD_TARGET_DIR",
            "VESTIBULE_CARGO_TARGET",
            "VESTIBULE_CARGO_TRIPLE",
        ] {
            command.env_remove(name);
        }
        Run::from(command.envs(variables.iter().copied()).output().expect("bash"))
    }

    fn path(&self, name: &str) -> String {
        let path = self.folder.path().canonicalize().expect("a path").join(name);
        path.to_string_lossy().into_owned()
    }
}

/// Builds the program, and prints where the scripts look for it.
const BUILD: &str = "need_cargo; cargo build --quiet; test -x \"$(cargo_target)/debug/small\"; cargo_target";

#[test]
fn without_settings_the_output_is_in_target() {
    let checkout = Checkout::new("");
    let run = checkout.source(BUILD, &[]);
    assert_eq!(
        run.stdout.trim_end(),
        checkout.path("checkout/target"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_target_dir_of_the_user_is_where_programs_are_found() {
    let checkout = Checkout::new("[build]\ntarget-dir = \"else where\"\n");
    let run = checkout.source(BUILD, &[]);
    assert_eq!(
        run.stdout.trim_end(),
        checkout.path("else where"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_variable_for_the_output_is_where_programs_are_found() {
    for name in ["CARGO_BUILD_TARGET_DIR", "CARGO_TARGET_DIR"] {
        let checkout = Checkout::new("");
        let wanted = checkout.path("by-variable");
        let run = checkout.source(BUILD, &[(name, &wanted)]);
        assert_eq!(run.stdout.trim_end(), wanted, "{name}: {}", run.stderr);
    }
}

/// A triple that does not run here, so that the scripts have to choose another one.
#[test]
fn a_foreign_triple_of_the_user_builds_for_this_machine() {
    let checkout = Checkout::new("[build]\ntarget = \"wasm32-unknown-unknown\"\n");
    let run = checkout.source(
        &format!("{BUILD}; cargo_output; \"$(cargo_target)/debug/small\""),
        &[],
    );
    assert!(run.is_success, "{}", run.stderr);
    let lines: Vec<_> = run.stdout.lines().collect();
    assert_eq!(lines[1], checkout.path("checkout/target"));
    assert!(lines[0].starts_with(&format!("{}/", lines[1])), "{lines:?}");
}
