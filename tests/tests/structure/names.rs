//! No item, file, Lua local, metric or word of the API has a name that misleads: a participle or a pronoun that does not
//! say what it is. These names were replaced once, and each has a plain one now (see docs/GLOSSARY.md).

use std::{fs, path::Path};

use vestibule_tests::template::read_web_scripts;

use crate::{read_file, repository_root};

/// Names that no struct, enum, trait or type alias has.
const TYPES: [&str; 59] = [
    "Seen",
    "Views",
    "Shelf",
    "Sight",
    "Told",
    "Known",
    "Drivers",
    "Wheel",
    "Waiter",
    "Sleepers",
    "Wakes",
    "Ear",
    "Word",
    "News",
    "Heard",
    "Sound",
    "Away",
    "Absence",
    "Remembered",
    "Standing",
    "Spot",
    "Look",
    "Missing",
    "Fate",
    "Unanswered",
    "MayMiss",
    "Edge",
    "EdgeConfig",
    "Shown",
    "Presented",
    "Placed",
    "Placing",
    "Through",
    "Tried",
    "Pressure",
    "Manner",
    "Manners",
    "Wish",
    "Question",
    "Nothing",
    "Whom",
    "Vault",
    "Put",
    "LinePart",
    "Judge",
    "Course",
    "Agenda",
    "Rhythm",
    "Entered",
    "Claimed",
    "Departed",
    "Validated",
    "Extended",
    "Revived",
    "Mended",
    "Configured",
    "Marked",
    "Ticked",
    "Switched",
];

/// Names that no function and no Lua local has.
const FUNCTIONS: [&str; 28] = [
    "is_over",
    "told",
    "aside",
    "set_aside",
    "driving",
    "drive",
    "outlasts",
    "overrules",
    "looks",
    "write_again",
    "settle",
    "defer",
    "mend",
    "revive",
    "sought",
    "forget",
    "remains",
    "mark",
    "rest",
    "outlasted",
    "gone",
    "stands_still",
    "was_not_over",
    "almost",
    "enters",
    "driven",
    "take_out",
    "held_back_by",
];

/// Names that no Rust or Lua file and no folder with such files has.
const FILES: [&str; 29] = [
    "over",
    "outlasted",
    "gone",
    "boundary",
    "away",
    "wakes",
    "drive",
    "driven",
    "aside",
    "drain",
    "settle",
    "defer",
    "mend",
    "forget",
    "remains",
    "mark",
    "rest",
    "looks",
    "set_aside",
    "anew",
    "came_back_old",
    "found_again",
    "missed",
    "switched",
    "edge",
    "judge",
    "course",
    "agenda",
    "manners",
];

/// Words that neither the API, its documents, the template nor the scripts contain.
const WORDS: [&str; 8] = [
    "pass-refused",
    "held_back_by",
    "driven_age_ms",
    "RecordsSetAside",
    "invalid-order",
    "--crowd",
    "make bench-",
    "Nobody new gets in line",
];

#[test]
fn no_item_file_or_lua_local_has_a_misleading_name() {
    let mut found = Vec::new();
    for folder in ["shared", "functions", "tools", "tests"] {
        visit(&repository_root().join(folder), &mut |path| {
            check_source(path, &mut found);
        });
    }
    assert!(found.is_empty(), "misleading names:\n{}", found.join("\n"));
}

#[test]
fn no_document_of_the_api_has_a_misleading_word() {
    let documents = [
        "infra/openapi.yaml",
        "infra/openapi-plain.yaml",
        "template.yaml",
        "Makefile",
        "README.md",
        "docs/operating.md",
        "docs/commands.md",
        "docs/monitoring.md",
        "docs/runbooks.md",
        "docs/deploying.md",
        "docs/local-aws.md",
        "docs/benchmarks.md",
        "docs/testing.md",
        "shared/telemetry/src/metrics.rs",
        "shared/wire/src/problem/code.rs",
    ];
    let scripts = read_web_scripts();
    assert!(scripts.len() > 5, "the scripts of the waiting page");
    let documents = documents.map(|document| (document.to_owned(), read_file(document)));
    for (document, text) in documents.into_iter().chain(scripts) {
        for word in WORDS {
            assert!(!text.contains(word), "{document} contains {word}");
        }
    }
}

pub(super) fn visit(path: &Path, check: &mut dyn FnMut(&Path)) {
    if path.is_dir() {
        let entries = fs::read_dir(path).expect("a readable folder");
        for entry in entries {
            visit(&entry.expect("an entry of the folder").path(), check);
        }
    } else if path
        .extension()
        .is_some_and(|extension| extension == "rs" || extension == "lua")
    {
        check(path);
    }
}

fn check_source(path: &Path, found: &mut Vec<String>) {
    let relative = path
        .strip_prefix(repository_root())
        .expect("a path below the root");
    let components = relative
        .components()
        .map(|component| component.as_os_str().to_string_lossy().into_owned());
    for component in components {
        let name = component.split('.').next().unwrap_or_default().to_owned();
        if FILES.contains(&name.as_str()) {
            found.push(format!("{}: the path contains {name}", relative.display()));
        }
    }
    let source = fs::read_to_string(path).expect("a text file");
    let is_lua = path.extension().is_some_and(|extension| extension == "lua");
    for line in source.lines().map(str::trim_start) {
        let names = if is_lua { lua_names(line) } else { rust_names(line) };
        for (kind, name) in names {
            let banned: &[&str] = if kind == "type" { &TYPES } else { &FUNCTIONS };
            if banned.contains(&name) {
                found.push(format!("{}: {kind} {name}", relative.display()));
            }
        }
    }
}

/// The item that a line of Rust defines.
fn rust_names(line: &str) -> Vec<(&'static str, &str)> {
    let mut words = line.split_whitespace().filter(|word| !word.starts_with("pub"));
    while let Some(word) = words.next() {
        let kind = match word {
            "struct" | "enum" | "trait" | "type" => "type",
            "fn" => "function",
            "async" | "const" | "unsafe" => continue,
            _ => return Vec::new(),
        };
        let end = |character: char| !character.is_alphanumeric() && character != '_';
        let name = words
            .next()
            .and_then(|name| name.split(end).next())
            .unwrap_or_default();
        return vec![(kind, name)];
    }
    Vec::new()
}

/// The locals that a line of Lua names.
fn lua_names(line: &str) -> Vec<(&'static str, &str)> {
    let Some(names) = line.strip_prefix("local ") else {
        return Vec::new();
    };
    let names = names.strip_prefix("function ").unwrap_or(names);
    let names = names.split(['=', '(']).next().unwrap_or_default();
    names.split(',').map(|name| ("local", name.trim())).collect()
}

#[test]
fn definitions_are_recognized() {
    assert_eq!(
        rust_names("pub(super) async fn mend(&self) {"),
        [("function", "mend")]
    );
    assert_eq!(rust_names("pub struct Seen<'a> {"), [("type", "Seen")]);
    assert_eq!(rust_names("let told = 1;"), []);
    assert_eq!(
        lua_names("local ended, sought = KEYS[1], KEYS[2]"),
        [("local", "ended"), ("local", "sought")]
    );
}
