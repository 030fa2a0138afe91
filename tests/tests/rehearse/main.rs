//! A rehearsal against the runner: its figures are those of the server's own report, it says so when they are not, and it
//! ends in order at its bounds.

mod bounds;
mod figures;

use tempfile::TempDir;
use vestibule_tests::runner::Runner;

/// A runner with its folder, which is removed at the end.
struct Scene {
    runner: Runner,
    _dir: TempDir,
}

impl Scene {
    fn start() -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let arguments = ["--demo-visitors", "0", "--quiet"];
        let runner = Runner::start(dir.path(), &arguments).expect("the runner starts");
        Self { runner, _dir: dir }
    }
}

/// The options of a rehearsal at this URL: those of the text, which are separated by spaces, and further ones.
fn options<'a>(url: &'a str, text: &'a str, further: &[&'a str]) -> Vec<&'a str> {
    let text: Vec<_> = text.split_whitespace().collect();
    [&["--url", url], &text[..], further].concat()
}
