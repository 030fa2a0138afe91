//! Which slices of the long suites `.ci/run` runs. `make` is a stub, which prints its arguments.

use std::{fs, path::Path, process::Command};

use tempfile::TempDir;

use crate::{
    repository_root,
    stubs::{Run, find_program},
};

/// A small repository with `.ci/run` and the scripts that it needs.
struct Checkout {
    folder: TempDir,
    /// The most seconds that a run may take, if it is not the usual time.
    seconds_max: Option<&'static str>,
}

impl Checkout {
    fn new() -> Self {
        let checkout = Self {
            folder: TempDir::new().expect("a folder"),
            seconds_max: None,
        };
        let root = repository_root();
        let mut names = vec![
            ".ci/run".to_owned(),
            "Cargo.toml".into(),
            "rust-toolchain.toml".into(),
        ];
        for script in fs::read_dir(root.join("infra")).expect("the scripts") {
            let path = script.expect("an entry").path();
            if path.extension().is_some_and(|extension| extension == "sh") {
                let name = path.file_name().expect("a name").to_string_lossy().into_owned();
                names.push(format!("infra/{name}"));
            }
        }
        for name in names {
            let copy = checkout.path().join(&name);
            fs::create_dir_all(copy.parent().expect("a folder")).expect("a folder");
            fs::copy(root.join(&name), copy).expect("a copy");
        }
        checkout.write(
            "programs/make",
            "#!/bin/sh\necho \"make $*\"\n[ \"$1\" != \"$FAILING\" ]\n",
        );
        checkout.run_program("chmod", &["+x", "programs/make"]);
        checkout.run_program("git", &["init", "--quiet", "--initial-branch", "main"]);
        checkout.write("tests/a.rs", "");
        checkout.commit();
        checkout
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    fn commit(&self) {
        self.run_program("git", &["add", "."]);
        let author = ["-c", "user.name=a", "-c", "user.email=a@shop.example"];
        self.run_program(
            "git",
            &[&author[..], &["commit", "--quiet", "--message", "a"]].concat(),
        );
    }

    fn run_program(&self, program: &str, arguments: &[&str]) {
        let output = Command::new(find_program(program))
            .args(arguments)
            .current_dir(self.path())
            .output()
            .expect("the program can be started");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }

    /// Runs `.ci/run`. The target `failing` of `make` fails.
    fn ci_run(&self, arguments: &[&str], failing: &str) -> Run {
        let path = std::env::var("PATH").expect("a PATH");
        let programs = self.path().join("programs");
        let mut command = Command::new(self.path().join(".ci/run"));
        command
            .args(arguments)
            .env("FAILING", failing)
            .envs(self.seconds_max.map(|seconds| ("CI_SECONDS_MAX", seconds)))
            .env("PATH", format!("{}:{path}", programs.display()));
        Run::from(command.output().expect("the script can be started"))
    }

    /// The slices that a run without a failure runs.
    fn slices(&self, arguments: &[&str]) -> Vec<String> {
        let run = self.ci_run(arguments, "");
        assert!(run.is_success, "{}{}", run.stdout, run.stderr);
        assert!(run.stdout.contains("make check\nmake test\n"), "{}", run.stdout);
        assert!(run.stdout.contains("retried=0\n"), "{}", run.stdout);
        let slices = run
            .stdout
            .lines()
            .filter_map(|line| line.strip_prefix("make test-slice SLICE="));
        slices
            .filter(|slice| slice.len() == 1)
            .map(str::to_owned)
            .collect()
    }
}

const ALL: [&str; 4] = ["1", "2", "3", "4"];

#[test]
fn a_change_elsewhere_runs_the_slice_of_its_tree() {
    let checkout = Checkout::new();
    let mut drawn = Vec::new();
    for text in ["a", "b", "c", "d", "e", "f"] {
        checkout.write("docs/page.md", text);
        checkout.commit();
        let slices = checkout.slices(&[]);
        assert_eq!(slices.len(), 1, "{slices:?}");
        assert_eq!(slices, checkout.slices(&[]), "the same tree has the same slice");
        drawn.extend(slices);
    }
    drawn.sort();
    drawn.dedup();
    assert!(drawn.len() > 1, "six trees have more than one slice: {drawn:?}");
    assert_eq!(checkout.slices(&["--slice", "3"]), ["3"]);
    assert_eq!(checkout.slices(&["--all"]), ALL);
    assert!(checkout.slices(&["--quick"]).is_empty());
}

#[test]
fn a_change_of_tests_or_no_git_runs_all_slices() {
    let checkout = Checkout::new();
    for name in ["tests/a.rs", ".config/nextest.toml", "infra/new.sh"] {
        checkout.write(name, "# changed\n");
        checkout.commit();
        assert_eq!(checkout.slices(&[]), ALL, "{name}");
    }
    // The change is that since the merge base, and not only that of the last commit.
    checkout.run_program("git", &["update-ref", "refs/remotes/origin/main", "HEAD~1"]);
    checkout.write("docs/page.md", "a");
    checkout.commit();
    assert_eq!(checkout.slices(&[]), ALL, "since the merge base");
    checkout.run_program("rm", &["-rf", ".git"]);
    assert_eq!(checkout.slices(&[]), ALL, "without git");
}

#[test]
fn a_failed_step_fails_the_run_with_its_times() {
    let run = Checkout::new().ci_run(&["--all"], "test");
    assert!(
        !run.is_success && !run.stdout.contains("test-slice"),
        "{}",
        run.stdout
    );
    assert!(
        run.stdout.contains("make test ") && run.stdout.contains("FAILED"),
        "{}",
        run.stdout
    );
}

#[test]
fn a_run_on_a_slow_machine_says_which_slices_it_leaves_out() {
    let mut checkout = Checkout::new();
    checkout.write("tests/a.rs", "# changed\n");
    checkout.commit();
    checkout.seconds_max = Some("-1");
    let run = checkout.ci_run(&[], "");
    assert!(run.is_success, "{}", run.stderr);
    assert!(run.stdout.contains("make test-slice SLICE=1\n"), "{}", run.stdout);
    assert!(
        !run.stdout.contains("make test-slice SLICE=2\n"),
        "{}",
        run.stdout
    );
    assert!(
        run.stdout.contains("left out: slices 2 3 4, on a slow machine\n"),
        "{}",
        run.stdout
    );
    assert_eq!(checkout.slices(&["--all"]), ALL, "all that is asked for");
}
