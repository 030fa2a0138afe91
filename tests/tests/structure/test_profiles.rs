//! Each test is part of exactly one of `make test`, `make test-long` and `make test-longest`.

use crate::read_file;

/// The clauses of the filter of a profile in `.config/nextest.toml`, one on each line, in order.
fn clauses(profile: &str) -> Vec<String> {
    let config = read_file(".config/nextest.toml");
    let (_, profile_text) = config
        .split_once(&format!("[profile.{profile}]\ndefault-filter = \"\"\""))
        .unwrap_or_else(|| panic!("the profile {profile} begins with its filter"));
    let (filter, _) = profile_text.split_once("\"\"\"").expect("the filter ends");
    let filter = filter
        .trim()
        .trim_start_matches("not (\n")
        .trim_end_matches("\n)");
    let mut clauses: Vec<_> = filter
        .lines()
        .map(|line| line.trim().trim_start_matches("or ").to_owned())
        .collect();
    clauses.sort();
    clauses
}

#[test]
fn what_the_default_profile_leaves_out_is_in_one_of_the_others() {
    let mut others = [clauses("long"), clauses("longest")].concat();
    others.sort();
    assert!(others.len() > 10, "the clauses of the long profiles: {others:?}");
    assert_eq!(clauses("default"), others);
}
