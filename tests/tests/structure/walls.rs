//! The walls between the crates: which crate must not know which.

use std::{
    collections::{BTreeMap, BTreeSet},
    process::Command,
};

use super::{crate_folders, names::visit, read_file, repository_root};

/// Crates that must not depend on any of some others, not even through a third.
const WALLS: [(&str, &[&str]); 7] = [
    ("vestibule-line", &["vestibule-backup"]),
    ("vestibule-backup", &["vestibule-line"]),
    ("vestibule-api", &["vestibule-admin", "vestibule-promoter"]),
    ("vestibule-admin", &["vestibule-api", "vestibule-promoter"]),
    ("vestibule-promoter", &["vestibule-api", "vestibule-admin"]),
    (
        "vestibule-console",
        &[
            "vestibule-api",
            "vestibule-admin",
            "vestibule-promoter",
            "vestibule-line",
            "vestibule-backup",
        ],
    ),
    (
        "vestibule-engine",
        &["vestibule-backup-dynamodb", "vestibule-backup-file"],
    ),
];

/// Crates that may name only these others of the project: a crowd knows the API by its answers alone, and the simulation
/// knows visitors, the line, and the answers of the API.
const MAY_NAME: [(&str, &[&str]); 2] = [
    ("vestibule-crowd", &["vestibule-domain", "vestibule-wire"]),
    (
        "vestibule-simulate",
        &[
            "vestibule-api",
            "vestibule-crowd",
            "vestibule-domain",
            "vestibule-engine",
            "vestibule-line",
            "vestibule-sizing",
            "vestibule-wire",
        ],
    ),
];

/// The crates of the project by name, each with those that it depends on. Dependencies of tests do not count.
fn read_dependencies() -> BTreeMap<String, BTreeSet<String>> {
    crate_folders()
        .into_iter()
        .map(|folder| parse_manifest(&read_file(format!("{folder}/Cargo.toml"))))
        .collect()
}

fn parse_manifest(manifest: &str) -> (String, BTreeSet<String>) {
    let mut section = "";
    let mut name = String::new();
    let mut dependencies = BTreeSet::new();
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            section = line;
        } else if section == "[package]"
            && let Some(value) = line.strip_prefix("name = ")
        {
            value.trim_matches('"').clone_into(&mut name);
        } else if section == "[dependencies]" && line.starts_with("vestibule-") {
            let key = line.split(['.', ' ', '=']).next().unwrap_or_default();
            dependencies.insert(key.to_owned());
        }
    }
    (name, dependencies)
}

/// Everything that a crate depends on, itself or through others.
fn all_dependencies<'a>(of: &'a str, direct: &'a BTreeMap<String, BTreeSet<String>>) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut open = vec![of];
    while let Some(name) = open.pop() {
        let next = direct
            .get(name)
            .unwrap_or_else(|| panic!("there is no crate {name}"));
        open.extend(next.iter().map(String::as_str).filter(|next| found.insert(*next)));
    }
    found
}

#[test]
fn crates_keep_their_walls() {
    let direct = read_dependencies();
    for (name, others) in WALLS {
        let depends_on = all_dependencies(name, &direct);
        for other in others {
            assert!(direct.contains_key(*other), "there is no crate {other}");
            assert!(!depends_on.contains(other), "{name} must not depend on {other}");
        }
    }
}

#[test]
fn each_dependency_has_a_user() {
    let mut folders = crate_folders();
    folders.push("functions".to_owned());
    let root = repository_root();
    for folder in &folders {
        let is_inner = |path: &str| {
            let inner = folders
                .iter()
                .filter(|other| other.starts_with(&format!("{folder}/")));
            inner
                .into_iter()
                .any(|inner| path.starts_with(&format!("{inner}/")))
        };
        let mut words = BTreeSet::new();
        visit(&root.join(folder), &mut |path| {
            let relative = path
                .strip_prefix(&root)
                .expect("below the root")
                .to_string_lossy();
            if relative.ends_with(".rs") && !is_inner(&relative) {
                let source = read_file(&*relative);
                let found = source.split(|character: char| !character.is_alphanumeric() && character != '_');
                words.extend(found.map(str::to_owned));
            }
        });
        for name in dependencies_of_any_kind(&read_file(format!("{folder}/Cargo.toml"))) {
            assert!(
                words.contains(&name.replace('-', "_")),
                "{folder} does not use {name}"
            );
        }
    }
}

/// The names of the dependencies of a manifest, those of tests too.
fn dependencies_of_any_kind(manifest: &str) -> Vec<String> {
    let mut section = "";
    let mut names = Vec::new();
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            section = line;
        } else if section.ends_with("dependencies]") && !line.starts_with('#') {
            names.extend(
                line.split(['.', ' ', '='])
                    .next()
                    .filter(|name| !name.is_empty())
                    .map(str::to_owned),
            );
        }
    }
    names
}

/// The embedded server is behind a feature of the line, so the manifests cannot say it.
#[test]
fn no_function_links_the_embedded_server() {
    let mut tree = Command::new(env!("CARGO"));
    tree.args([
        "tree",
        "--locked",
        "--package",
        "functions",
        "--edges",
        "normal",
        "--prefix",
        "none",
    ]);
    let output = tree.output().expect("cargo tree runs");
    let crates = String::from_utf8_lossy(&output.stdout);
    assert!(crates.contains("vestibule-line"), "{crates}");
    assert!(!crates.contains("mlua"), "a function links Lua");
    // With its feature of serde_json, each JSON object of the function would have another order.
    assert!(
        !crates.contains("schemars"),
        "a function links the program of the schemas"
    );
}

#[test]
fn some_crates_name_only_a_few() {
    let direct = read_dependencies();
    for (of, allowed) in MAY_NAME {
        for name in &direct[of] {
            assert!(allowed.contains(&name.as_str()), "{of} must not depend on {name}");
        }
    }
}
