//! The suites themselves: each test is in one place, and each suite says what it needs.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

/// The profiles of `.config/nextest.toml` that divide the tests. `sam-local` repeats a suite elsewhere.
const PLACES: [&str; 7] = [
    "default", "slice-1", "slice-2", "slice-3", "slice-4", "stack", "longest",
];

fn repository_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read_file(path: &str) -> String {
    let path = repository_root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The tests of the workspace, each with its suite, and whether a profile runs it.
fn list_tests(profile: &str) -> BTreeMap<String, bool> {
    let output = Command::new(env!("CARGO"))
        .args(["nextest", "list", "--workspace", "--locked", "--profile", profile])
        .args(["--message-format", "json", "--cargo-quiet"])
        .current_dir(repository_root())
        // The cases of a running API are not those of `make test`.
        .env_remove("TEST_API_URL")
        .output()
        .expect("cargo can be started");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let list: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let mut tests = BTreeMap::new();
    for (suite, listed) in list["rust-suites"].as_object().expect("suites") {
        for (test, case) in listed["testcases"].as_object().expect("test cases") {
            let matches = case["filter-match"]["status"] == "matches";
            tests.insert(format!("{suite} {test}"), matches);
        }
    }
    tests
}

#[test]
fn each_test_is_in_exactly_one_place() {
    let mut places: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for place in PLACES {
        for (test, is_there) in list_tests(place) {
            let found = places.entry(test).or_default();
            if is_there {
                found.push(place);
            }
        }
    }
    assert!(places.len() > 1_000, "{} tests", places.len());
    for place in PLACES {
        let is_empty = places.values().all(|found| !found.contains(&place));
        assert!(!is_empty, "{place} has no test");
    }
    let wrong: Vec<_> = places.iter().filter(|(_, found)| found.len() != 1).collect();
    assert!(wrong.is_empty(), "not in exactly one place: {wrong:#?}");
}

#[test]
fn each_suite_says_what_it_needs() {
    let listed: BTreeSet<String> = read_file("infra/suites.txt")
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| line.split_whitespace().next().expect("a name").to_owned())
        .collect();
    let programs: BTreeSet<String> = fs::read_dir(repository_root().join("tests/tests"))
        .expect("the folder of the suites")
        .map(|entry| entry.expect("an entry").path())
        .map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned())
        .collect();
    assert_eq!(listed, programs);
}

/// `infra/browser.sh` runs the tests named `@long`, those named `@night`, and all others, each part in one place.
#[test]
fn each_browser_test_is_in_exactly_one_place() {
    let scripted = read_file("tests/tests/scripted.rs");
    for part in ["&[]", "&[\"long\"]", "&[\"night\"]"] {
        let call = format!("run_script(\"browser.sh\", {part})");
        assert_eq!(scripted.matches(&call).count(), 1, "{call}");
    }
    let specs = fs::read_dir(repository_root().join("tests/browser/specs")).expect("the folder of the specs");
    for spec in specs {
        let path = spec.expect("an entry").path();
        let text = fs::read_to_string(&path).expect("text");
        let in_both = text
            .lines()
            .find(|line| line.contains("@long") && line.contains("@night"));
        assert_eq!(in_both, None, "{}", path.display());
    }
}
