//! What happens to be set in the shell of a developer changes nothing that the scripts do.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    process::{Command, Output},
};

use vestibule_telemetry::environment::VARIABLES;

use crate::repository_root;

/// A port that no process listens on.
const DEAD_PROXY: &str = "http://127.0.0.1:1";

/// A shell whose settings break programs, with a script that it runs in the root of the repository.
fn hostile_shell(script: &str, temporary: &str) -> Output {
    let mut shell = Command::new("bash");
    shell
        .args(["-c", &format!("umask 077; {script}")])
        .current_dir(repository_root())
        .env_remove("HOME")
        // A developer may name an emulator by it.
        .env_remove("AWS_ENDPOINT_URL");
    for (name, value) in [
        ("LC_ALL", "tr_TR.UTF-8"),
        ("LANGUAGE", "de"),
        ("TZ", "Asia/Kathmandu"),
        ("TMPDIR", temporary),
        ("CDPATH", ".:/"),
        ("GIT_DIR", "/nowhere"),
        ("GIT_INDEX_FILE", "/nowhere/index"),
        ("PYTHONHOME", "/nowhere"),
        ("PYTHONPATH", "/nowhere"),
        ("PIP_USER", "1"),
        ("NODE_ENV", "production"),
        ("NODE_OPTIONS", "--require=/nowhere.js"),
        ("npm_config_omit", "dev"),
        ("npm_config_global", "true"),
        ("npm_config_registry", "https://registry.example"),
        ("REDISCLI_AUTH", "another"),
        ("AWS_PROFILE", "shop"),
        ("AWS_ENDPOINT_URL_DYNAMODB", DEAD_PROXY),
        ("HTTP_PROXY", DEAD_PROXY),
        ("http_proxy", DEAD_PROXY),
        ("ALL_PROXY", DEAD_PROXY),
        ("NO_PROXY", "corp.example"),
    ] {
        shell.env(name, value);
    }
    shell.output().expect("bash can be started")
}

fn text_of(output: &Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8(output.stdout.clone()).expect("text")
}

fn folder_with_a_space() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("with space");
    fs::create_dir(&path).expect("a folder");
    let path = path.to_str().expect("text").to_owned();
    (folder, path)
}

#[test]
fn scripts_drop_the_settings_of_a_hostile_shell() {
    let (_folder, temporary) = folder_with_a_space();
    let script = "set -euo pipefail; source infra/tools.sh; echo root=$root; printf 'tenth=%.1f\\n' 0.1; echo umask=$(umask); env";
    let printed = text_of(&hostile_shell(script, &temporary));
    let settings: BTreeMap<_, _> = printed.lines().filter_map(|line| line.split_once('=')).collect();
    let root = repository_root().canonicalize().expect("the root exists");
    for (name, value) in [
        ("root", root.to_str().expect("text")),
        ("tenth", "0.1"),
        ("umask", "0022"),
        ("TMPDIR", "/tmp"),
        ("NO_PROXY", "127.0.0.1,localhost,::1,corp.example"),
        ("PIP_USER", "0"),
        // Closed networks need these.
        ("HTTP_PROXY", DEAD_PROXY),
        ("npm_config_registry", "https://registry.example"),
    ] {
        assert_eq!(settings.get(name), Some(&value), "{name}");
    }
    assert!(
        settings
            .get("no_proxy")
            .is_some_and(|hosts| hosts.starts_with("127.0.0.1")),
        "{settings:?}"
    );
    assert!(
        settings.get("HOME").is_some_and(|home| home.starts_with('/')),
        "{settings:?}"
    );
    for name in [
        "LANGUAGE",
        "CDPATH",
        "GIT_DIR",
        "GIT_INDEX_FILE",
        "PYTHONHOME",
        "PYTHONPATH",
        "NODE_ENV",
        "NODE_OPTIONS",
        "npm_config_omit",
        "npm_config_global",
        "REDISCLI_AUTH",
    ] {
        assert!(!settings.contains_key(name), "{name} is set");
    }
}

#[test]
fn servers_start_in_a_hostile_shell_without_its_account() {
    let (_folder, temporary) = folder_with_a_space();
    let command = r#"redis-cli -u "$TEST_REDIS_URL" ping 2>&1; compgen -e AWS_ | sort | tr '\n' ' '"#;
    let script = format!(
        "infra/servers.sh run --only redis -- bash -c '{}'",
        command.replace('\'', r"'\''")
    );
    let printed = text_of(&hostile_shell(&script, &temporary));
    let expected = "PONG\nAWS_ACCESS_KEY_ID AWS_CONFIG_FILE AWS_EC2_METADATA_DISABLED AWS_REGION AWS_SECRET_ACCESS_KEY \
                    AWS_SHARED_CREDENTIALS_FILE ";
    assert_eq!(printed, expected);
}

/// A name that the list lacks is warned of at each start, and one that no program reads is warned of no more.
#[test]
fn every_variable_of_vestibule_is_in_the_list() {
    let script = "grep -rhoE 'VESTIBULE_[A-Z0-9_]+' --include=*.rs --include=*.sh --include=*.ts --include=*.mjs \
                  --include=*.py --include=*.yaml --include=Makefile --exclude=environment.rs \
                  --exclude-dir=node_modules --exclude-dir=target --exclude-dir=.tools --exclude-dir=.git .";
    let found = Command::new("bash")
        .args(["-c", script])
        .current_dir(repository_root())
        .output()
        .expect("bash can be started");
    let text = text_of(&found);
    let named: BTreeSet<_> = text.lines().collect();
    let listed: BTreeSet<_> = VARIABLES.iter().copied().collect();
    assert_eq!(named, listed);
}
