//! What the scripts of `infra` do on other systems than this one, as far as stub programs can show it, and how they end.
//! No test needs a server, but those of signals start a Redis of their own.

mod cargo_folders;
mod checkout;
mod ci_slices;
mod doctor;
mod portable;
mod signals;
mod stubs;
mod systems;
mod targets;

use std::path::{Path, PathBuf};

/// The root of the repository.
fn repository_root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    root.canonicalize().expect("the repository has a root")
}
