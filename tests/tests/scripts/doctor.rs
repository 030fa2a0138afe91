//! What is missing is named at once, before anything is installed or compiled.

use crate::stubs::{Run, System};

/// The tools of `make test` that a system with Rust, a C compiler and git can lack.
const FIVE: [&str; 5] = ["Python 3.11", "Redis 7", "openssl", "nginx", "Chromium"];

fn assert_names_five(run: &Run, text: &str) {
    assert!(!run.is_success, "{text}");
    for tool in FIVE {
        let row = text.lines().find(|line| line.starts_with(tool));
        assert!(row.is_some_and(|row| row.contains("missing")), "{tool} in {text}");
    }
}

#[test]
fn five_missing_tools_are_named_at_once() {
    let fedora = System::bare().with_rust().with("git", "echo git version 2.47.3");
    // The path of nginx does not depend on PATH alone.
    let run = fedora.source("find_nginx() { return 1; }; require_for test; echo installing");
    assert_names_five(&run, &run.stderr);
    assert!(
        run.stdout.is_empty() && !run.stderr.contains("Rust"),
        "{}",
        run.stderr
    );
    let run = fedora.source("find_nginx() { return 1; }; print_tools test");
    assert_names_five(&run, &run.stdout);
}

#[test]
fn the_doctor_begins_with_rust_and_where_to_get_it() {
    let run = System::bare().script("doctor.sh", &[]);
    assert!(!run.is_success, "{}", run.stdout);
    let first = run.stdout.lines().nth(1).expect("a row");
    for text in ["Rust 1.95.0", "missing", "run check test", "https://rustup.rs"] {
        assert!(first.contains(text), "{text} in {first}");
    }
    assert!(!run.stderr.contains("command not found"), "{}", run.stderr);
}

#[test]
fn the_doctor_installs_nothing_and_trusts_the_scripts() {
    let debian = System::bare()
        .with_rust()
        .with("git", "echo git version 2.47.3")
        .with("sudo", r#"echo "$*" >>"$NOTE""#)
        .with("apt-get", r#"echo "$*" >>"$NOTE""#)
        .with("apt-cache", "");
    let run = debian.script("doctor.sh", &[]);
    assert!(run.is_success, "{}{}", run.stdout, run.stderr);
    assert!(
        run.stdout
            .contains("the scripts install it: apt-get install redis-server"),
        "{}",
        run.stdout
    );
    assert!(!debian.note().exists(), "apt-get ran");
}

#[test]
fn without_cargo_make_run_says_where_to_get_rust() {
    let run = System::bare()
        .with("cc", "echo 'cc (Stub) 12.2.0'")
        .script("run.sh", &[]);
    assert!(!run.is_success, "{}", run.stderr);
    assert!(
        run.stderr.contains("Rust 1.95.0") && run.stderr.contains("https://rustup.rs"),
        "{}",
        run.stderr
    );
    assert!(!run.stderr.contains("command not found"), "{}", run.stderr);
}

#[test]
fn a_rust_that_is_too_old_is_named_with_its_version() {
    let debian = System::bare().with("cargo", "echo 'cargo 1.63.0'");
    let run = debian.source("need_cargo");
    assert!(!run.is_success, "{}", run.stderr);
    for text in ["version 1.63.0", "Rust 1.95", "https://rustup.rs"] {
        assert!(run.stderr.contains(text), "{text} in {}", run.stderr);
    }
}
