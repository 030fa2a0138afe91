//! The list of commands, and what long commands say of their progress.

use std::process::{Command, Output};

use crate::{read_file, repository_root};

fn run_script(script: &str, arguments: &[&str]) -> Output {
    let root = repository_root();
    let mut program = Command::new(root.join("infra").join(script));
    let program = program.args(arguments).current_dir(root);
    program.output().expect("the script can be started")
}

#[test]
fn help_lists_every_command_in_a_group() {
    let output = run_script("help.sh", &["Makefile"]);
    let help = String::from_utf8(output.stdout).expect("text");
    assert!(output.status.success(), "{help}");
    for line in read_file("Makefile").lines() {
        if let Some((target, _)) = line.split_once(':').filter(|_| line.contains("## ")) {
            assert!(help.contains(&format!("  make {target} ")), "{target} in {help}");
        }
    }
    let groups: Vec<_> = help
        .lines()
        .filter(|line| line.starts_with(char::is_alphabetic))
        .collect();
    assert_eq!(groups, ["Run", "Test", "Deploy", "Measure", "Clean up"]);
}

#[test]
fn steps_are_counted_and_a_failure_ends_them() {
    let output = run_script(
        "steps.sh",
        &["structure-test", "true", "exit 3", "echo not-reached"],
    );
    let errors = String::from_utf8(output.stderr).expect("text");
    assert!(
        errors.contains("step 1 of 3: true") && errors.contains("step 2 of 3: exit 3"),
        "{errors}"
    );
    assert!(!output.status.success() && output.stdout.is_empty(), "{errors}");
    let again = run_script("steps.sh", &["structure-test", "true", "true"]);
    let errors = String::from_utf8(again.stderr).expect("text");
    assert!(
        errors.contains("s last time") && errors.contains("done after"),
        "{errors}"
    );
    let durations = repository_root().join(".tools/durations/structure-test");
    std::fs::remove_file(durations).expect("the file of the durations");
}
