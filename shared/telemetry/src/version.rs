//! Which build this process is, for operators. Visitors are not told.

/// The variable with the commit of the build. It is set at a release and is not compiled in, so that the code of a function
/// that did not change stays the same.
const COMMIT: &str = "VESTIBULE_COMMIT";

/// The version of Vestibule.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The commit of the build, if the release said it.
pub fn commit() -> Option<String> {
    std::env::var(COMMIT).ok().filter(|commit| !commit.is_empty())
}
