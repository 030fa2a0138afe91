use std::{fs, path::Path};

use super::*;

/// The names and sources of all scripts.
fn scripts() -> Vec<(String, &'static str)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("lua");
    let folders = ["visit", "tick", "presence", "journal", "recovery", "operator"];
    let files = folders.map(|folder| fs::read_dir(root.join(folder)).expect("a folder"));
    let sources = files.into_iter().flatten().map(|file| {
        let path = file.expect("a file").path();
        let source = fs::read_to_string(&path).expect("a script");
        let name = path.file_stem().expect("a name").to_string_lossy();
        (name.into_owned(), &*source.leak())
    });
    sources.collect()
}

/// The names of the local variables that a script reads from `KEYS` or `ARGV`, in order.
fn read_locals(source: &str, table: &str) -> Vec<String> {
    let mut names = Vec::new();
    for line in source.lines().filter(|line| line.starts_with("local ")) {
        let Some((left, right)) = line.trim_start_matches("local ").split_once(" = ") else {
            continue;
        };
        for (name, value) in left.split(", ").zip(right.split(", ")) {
            let number = value.trim_start_matches("tonumber(").trim_end_matches(')');
            if number == format!("{table}[{}]", names.len() + 1) {
                names.push(name.to_owned());
            }
        }
    }
    names
}

#[test]
fn script_headers_match_keys_and_arguments() {
    for (_, source) in scripts() {
        assert!(
            source.starts_with("#!lua"),
            "a script must begin with `#!lua`, so that a cluster refuses a key of another slot"
        );
        let body = source
            .split_once('\n')
            .expect("a script has more than one line")
            .1;
        assert_eq!(read_header(body, "KEYS"), read_locals(source, "KEYS"), "{source}");
        let args: Vec<_> = read_header(body, "ARGV")
            .into_iter()
            .filter(|name| *name != "...")
            .collect();
        assert_eq!(args, read_locals(source, "ARGV"), "{source}");
        assert!(body.contains("-- Output: {'"), "{source}");
        let includes = read_header(body, "include");
        for include in &includes {
            assert!(INCLUDES.iter().any(|(name, _)| name == include), "{include}");
        }
        for (name, code) in INCLUDES {
            let functions = code
                .lines()
                .filter_map(|line| line.strip_prefix("local function "));
            for function in functions.filter_map(|rest| rest.split('(').next()) {
                let is_called = body.contains(&format!("{function}("));
                assert!(
                    !is_called || includes.contains(name),
                    "{function} is of {name}: {source}"
                );
            }
        }
    }
}

/// A full server runs all scripts but those that add an entry. What a brake, a claim or an end does must not wait for memory.
#[test]
fn only_scripts_that_add_entries_need_free_memory() {
    let adds_entries = ["append_to_line", "enter", "restore"];
    for (name, source) in scripts() {
        let (kind, _) = source.split_once('\n').expect("a script has more than one line");
        let flags = if adds_entries.contains(&&*name) {
            vec!["#!lua"]
        } else {
            vec!["#!lua flags=allow-oom", "#!lua flags=no-writes"]
        };
        assert!(flags.contains(&kind), "{name}: {kind}");
    }
}
