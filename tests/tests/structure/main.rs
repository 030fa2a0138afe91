//! The structure of the code: what the modules of a crate import of each other, which crates depend on which, and which
//! names no item has.

mod api;
mod environment;
mod imports;
mod module_graph;
mod names;
mod progress;
mod python_locks;
mod rust_tokens;
mod walls;

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The root of the repository.
fn repository_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Reads a file of the repository. The path is relative to its root.
fn read_file(path: impl AsRef<Path>) -> String {
    let path = repository_root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The folders of the crates under `shared` and `tools`, as the workspace lists them.
fn crate_folders() -> Vec<String> {
    let manifest = read_file("Cargo.toml");
    let (_, members) = manifest
        .split_once("members = [")
        .expect("the workspace lists its members");
    let (members, _) = members.split_once(']').expect("the list of members ends");
    let folders: Vec<_> = members
        .split(',')
        .map(|member| member.trim().trim_matches('"').to_owned())
        .filter(|member| member.starts_with("shared/") || member.starts_with("tools/"))
        .collect();
    assert!(folders.len() > 10, "the crates of the workspace: {folders:?}");
    folders
}
