//! No script goes around the functions that know other systems and settings.

use std::{fs, path::Path};

use crate::repository_root;

/// The scripts, without their comments, and without the one that runs in the image of the runner alone.
fn script_lines() -> Vec<(String, String)> {
    let root = repository_root();
    let mut lines = Vec::new();
    let folder = fs::read_dir(root.join("infra")).expect("a folder");
    let scripts = folder.map(|entry| entry.expect("a file").path());
    for script in scripts.chain([root.join(".ci/run")]) {
        if script.ends_with("image-root.sh")
            || script.extension().is_some_and(|extension| extension != "sh")
            || script.is_dir()
        {
            continue;
        }
        let name = script
            .file_name()
            .map(Path::new)
            .expect("a name")
            .display()
            .to_string();
        let text = fs::read_to_string(&script).expect("a script");
        let code = text.lines().filter(|line| !line.trim_start().starts_with('#'));
        lines.extend(code.map(|line| (name.clone(), line.to_owned())));
    }
    lines
}

#[test]
fn no_script_knows_the_folder_of_cargo_by_itself() {
    let lines = script_lines();
    assert!(lines.len() > 1_000, "{} lines", lines.len());
    for (script, line) in lines {
        // A script may keep what cargo_target prints in a variable.
        let line = line.replace("$target/", "");
        for text in [
            "CARGO_TARGET_DIR",
            "CARGO_BUILD_TARGET_DIR",
            "$root/target",
            "target/debug",
            "target/local",
        ] {
            assert!(!line.contains(text), "{script}: use cargo_target: {line}");
        }
    }
}

#[test]
fn no_script_calls_what_only_linux_has() {
    for (script, line) in script_lines() {
        for text in [
            "nproc",
            "ulimit -n \"$(",
            "sed -i",
            "readlink -f",
            "xargs -r",
            "sort -V",
            "mapfile",
            "declare -A",
        ] {
            assert!(
                !line.contains(text) || (script == "tools.sh" && text == "nproc"),
                "{script}: {text} is not everywhere: {line}"
            );
        }
    }
}
