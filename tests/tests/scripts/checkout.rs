//! A checkout on Windows has the line ends of the repository.

use std::{fs, path::Path, process::Command};

use tempfile::TempDir;

use crate::repository_root;

/// One file of each kind.
const FILES: [&str; 14] = [
    ".ci/run",
    ".gitattributes",
    "Cargo.lock",
    "Dockerfile",
    "LICENSE",
    "Makefile",
    "README.md",
    "docs/images/waiting-page.png",
    "docs/openapi.json",
    "infra/nginx.conf.template",
    "infra/openapi.yaml",
    "infra/python/deny.txt",
    "infra/tools.sh",
    "shared/domain/src/lib.rs",
];

fn git(folder: &Path, arguments: &[&str]) {
    let output = Command::new("git")
        .args(["-c", "user.name=test", "-c", "user.email=test@localhost"])
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env_remove("GIT_DIR")
        .env_remove("GIT_INDEX_FILE")
        .output()
        .expect("git");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "git {arguments:?}: {errors}");
}

#[test]
fn a_checkout_with_autocrlf_changes_no_line_end() {
    let folder = TempDir::new().expect("a folder");
    let original = folder.path().join("original");
    let root = repository_root();
    for name in FILES {
        let path = original.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::copy(root.join(name), path).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    git(&original, &["init", "--quiet"]);
    git(&original, &["add", "--force", "."]);
    git(
        &original,
        &["commit", "--quiet", "--no-gpg-sign", "--message", "all kinds"],
    );
    git(
        folder.path(),
        &[
            "clone",
            "--quiet",
            "-c",
            "core.autocrlf=true",
            "original",
            "windows",
        ],
    );
    for name in FILES {
        let wanted = fs::read(root.join(name)).expect("a file");
        let found = fs::read(folder.path().join("windows").join(name)).expect("a file");
        assert!(wanted == found, "{name} differs");
    }
}
