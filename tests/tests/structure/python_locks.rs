//! The Python tools are pinned: each list of packages has a lock file with the hashes of all of them.

use std::{collections::BTreeMap, fs};

use crate::{read_file, repository_root};

#[test]
fn every_python_package_is_pinned_with_hashes() {
    let mut lists = vec!["examples/fastapi/requirements".to_owned()];
    for file in fs::read_dir(repository_root().join("infra/python")).expect("a folder") {
        let name = file
            .expect("a file")
            .file_name()
            .into_string()
            .expect("a name in UTF-8");
        let (stem, extension) = name.rsplit_once('.').expect("a file with an extension");
        assert!(["in", "txt"].contains(&extension), "{name}");
        if extension == "in" {
            lists.push(format!("infra/python/{stem}"));
        }
    }
    assert!(lists.len() > 5, "{lists:?}");
    for list in lists {
        let lock_text = read_file(format!("{list}.txt"));
        assert!(!lock_text.contains("://"), "{list}.txt names no host");
        let lock = read_lock(&lock_text);
        for (name, version) in read_list(&read_file(format!("{list}.in"))) {
            let locked = lock
                .get(&name)
                .unwrap_or_else(|| panic!("{list}.txt lacks {name}"));
            assert_eq!(*locked, version, "{name} in {list}.txt: run infra/lock-python.sh");
        }
    }
}

/// The packages that a list names, by their normalized names. Each has a version.
fn read_list(text: &str) -> Vec<(String, String)> {
    let lines = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default().trim());
    lines
        .filter(|line| !line.is_empty())
        .map(parse_requirement)
        .collect()
}

/// The packages of a lock file. A requirement and its hashes are one line, which backslashes continue.
fn read_lock(text: &str) -> BTreeMap<String, String> {
    let joined = text.replace("\\\n", " ");
    let requirements = joined
        .lines()
        .filter(|line| !line.trim().is_empty() && !line.trim().starts_with('#'));
    requirements
        .map(|line| {
            let mut words = line.split_whitespace();
            let hashes = words
                .clone()
                .filter(|word| word.starts_with("--hash=sha256:"))
                .count();
            assert!(hashes > 0, "a requirement without a hash: {line}");
            parse_requirement(words.next().unwrap_or_default())
        })
        .collect()
}

fn parse_requirement(text: &str) -> (String, String) {
    let (name, version) = text
        .split_once("==")
        .unwrap_or_else(|| panic!("{text} has no version"));
    let name = name.split('[').next().unwrap_or_default();
    (name.to_lowercase().replace('_', "-"), version.to_owned())
}
