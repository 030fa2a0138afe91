//! A shell in a folder that looks like a clone, into which a test types the commands of a page.

use std::{fs, os::unix::fs::PermissionsExt, path::Path, process::Command};

use tempfile::TempDir;
use vestibule_tests::runner::{self, Runner};

use crate::root;

/// What a clone has and a guide names.
const CLONED: [&str; 4] = ["examples", "infra", "Makefile", "template.yaml"];
/// Separates the outputs of the commands.
const SEPARATOR: char = '\u{1e}';

/// The AWS CLI. An order to `AdminFunction` goes to the runner, and a stack has the outputs that the template names.
const AWS: &str = r#"
case "$1 $2" in
  'lambda invoke')
    shift 2
    while (($#)); do
      case $1 in
        --function-name) shift ;;
        --cli-binary-format) [[ $2 == raw-in-base64-out ]]; format=raw; shift ;;
        --payload) payload=$2; shift ;;
        *) file=$1 ;;
      esac
      shift
    done
    [[ $format == raw ]] # Without it, the CLI reads the payload as Base64.
    curl -sS "$RUNNER/_admin" --json "$payload" >>"$file"
    ;;
  'cloudformation describe-stacks')
    [[ $* =~ OutputKey==\'([A-Za-z]+)\' ]]
    grep -q "^  ${BASH_REMATCH[1]}:$" template.yaml
    case ${BASH_REMATCH[1]} in
      ApiUrl | WaitingRoomUrl) echo "$RUNNER" ;;
      *) echo "the-${BASH_REMATCH[1]}" ;;
    esac
    ;;
  'lambda get-account-settings') echo 1000 ;;
  's3 sync') [[ $4 == s3://the-ThemesBucket ]] ;;
  'dynamodb update-table' | 'dynamodb delete-table' | 'secretsmanager delete-secret') ;;
  *) echo "the stand-in of aws does not know: $*" >&2; exit 1 ;;
esac
"#;

/// The SAM CLI.
const SAM: &str = r#"
case "$1" in
  build) [[ -e template.yaml ]] ;;
  deploy) [[ -e template.yaml && -e samconfig.toml ]] ;;
  delete) ;;
  *) echo "the stand-in of sam does not know: $*" >&2; exit 1 ;;
esac
"#;

/// cargo, which would build the runner again.
const CARGO: &str = r#"
[[ "$1 $2 $3 $4 $5 $6" == 'run --profile local --package vestibule-local --' ]]
exec vestibule-local "${@:7}"
"#;

/// jq, where it is not installed: `jq -r .NAME.NAME [FILE]`.
const JQ: &str = r#"
exec python3 -c '
import json, sys
value = json.load(open(sys.argv[3]) if len(sys.argv) > 3 else sys.stdin)
for name in sys.argv[2].strip(".").split("."):
    value = value[name]
print(value)' "$@"
"#;

/// A shell beside a runner.
pub(crate) struct Session<'a> {
    runner: &'a Runner,
    clone: &'a Path,
    programs: TempDir,
}

impl<'a> Session<'a> {
    pub(crate) fn new(runner: &'a Runner, clone: &'a TempDir) -> Self {
        let clone = clone.path();
        for name in CLONED {
            std::os::unix::fs::symlink(root().join(name), clone.join(name)).expect("a link");
        }
        let programs = tempfile::tempdir().expect("a folder");
        let has_jq = Command::new("jq").arg("--version").output().is_ok();
        for (name, script) in [("aws", AWS), ("sam", SAM), ("cargo", CARGO), ("jq", JQ)] {
            if name == "jq" && has_jq {
                continue;
            }
            let path = programs.path().join(name);
            fs::write(&path, format!("#!/usr/bin/env bash\nset -euo pipefail{script}")).expect("written");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("executable");
        }
        std::os::unix::fs::symlink(runner::program(), programs.path().join("vestibule-local"))
            .expect("a link");
        Self {
            runner,
            clone,
            programs,
        }
    }

    /// Types commands, one after the other, and returns what each printed. Port 8080 is that of the runner.
    pub(crate) fn type_all(&self, commands: &[String]) -> Vec<String> {
        let type_one = |command: &String| {
            let command = command.replace("127.0.0.1:8080", self.runner.host_and_port());
            format!("printf '{SEPARATOR}'\n{command}")
        };
        let typed: Vec<_> = commands.iter().map(type_one).collect();
        let script = format!("set -euo pipefail\n{}", typed.join("\n"));
        let path = std::env::var("PATH").expect("a PATH");
        let output = Command::new("bash")
            .args(["-c", &script])
            .current_dir(self.clone)
            .env("PATH", format!("{}:{path}", self.programs.path().display()))
            .env("RUNNER", self.runner.url(""))
            .env_remove("API")
            .output()
            .expect("bash can be started");
        let printed = String::from_utf8(output.stdout).expect("text");
        let outputs: Vec<_> = printed.split(SEPARATOR).skip(1).map(str::to_owned).collect();
        let last = outputs.len().checked_sub(1).map(|at| &commands[at]);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{last:?} failed: {printed}{errors}");
        outputs
    }
}
