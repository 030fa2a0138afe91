//! A signal to the first script of a run ends all that the run started.

use std::{
    fs,
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use tempfile::TempDir;

use crate::repository_root;

const START_SECONDS: u64 = 60;
const END_SECONDS: u64 = 20;

/// A run of scripts: a first one, the servers, and a command that would take ten minutes.
struct Scene {
    folder: TempDir,
    first: Child,
}

impl Scene {
    /// Starts a run. Its command writes its own process id, that of the servers' script, and that of the Redis.
    fn start() -> Self {
        let folder = TempDir::new().expect("a folder");
        let command = r#"redis-cli -u "$TEST_REDIS_URL" info server | sed -n 's/^process_id:\([0-9]*\).*/\1/p' >"$0/redis"
            (trap - INT; exec sleep 600) & echo $! >"$0/child"; echo $PPID >"$0/servers"; echo $$ >"$0/command"; wait"#;
        let lines = format!(
            "set -euo pipefail\nsource infra/tools.sh\n\
             run_until_end infra/servers.sh run --only redis -- bash -c '{}' '{}'",
            command.replace('\'', r"'\''"),
            folder.path().display()
        );
        let first = Command::new("bash")
            .args(["-c", &lines])
            .current_dir(repository_root())
            .env("TMPDIR", folder.path())
            .env_remove("VESTIBULE_LEADER_PID")
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .expect("bash");
        let scene = Scene { folder, first };
        wait_until("the command runs", START_SECONDS, || {
            scene.path("command").exists()
        });
        scene
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    fn process(&self, name: &str) -> String {
        let text = fs::read_to_string(self.path(name)).expect("a process id");
        text.trim().to_owned()
    }

    /// Sends a signal to a process, waits until the whole run has ended, and returns the status of the first script. It
    /// is none if the signal killed it.
    fn end_by(mut self, signal: &str, process: &str) -> Option<i32> {
        let run = ["redis", "child", "servers", "command"].map(|name| self.process(name));
        assert!(run.iter().all(|process| is_running(process)), "{run:?}");
        let sent = Command::new("kill")
            .args(["-s", signal, "--", process])
            .status()
            .expect("kill");
        assert!(sent.success(), "the signal");
        wait_until("all has ended", END_SECONDS, || {
            let has_ended = self.first.try_wait().expect("a status").is_some();
            has_ended && !run.iter().any(|process| is_running(process))
        });
        wait_until("the folder of the servers is removed", END_SECONDS, || {
            !has_servers(self.folder.path())
        });
        self.first.wait().expect("a status").code()
    }
}

fn has_servers(folder: &Path) -> bool {
    let mut entries = fs::read_dir(folder).expect("a folder");
    entries.any(|entry| {
        let name = entry.expect("a file").file_name();
        name.to_string_lossy().starts_with("vestibule-servers")
    })
}

/// Whether a process runs. One that has ended and was not waited for does not.
fn is_running(process: &str) -> bool {
    let output = Command::new("ps")
        .args(["-o", "stat=", "-p", process])
        .output()
        .expect("ps");
    let state = String::from_utf8(output.stdout).expect("text");
    !state.trim().is_empty() && !state.trim().starts_with('Z')
}

fn wait_until(what: &str, seconds: u64, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(seconds);
    while !condition() {
        assert!(Instant::now() < deadline, "not within {seconds} s: {what}");
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn sigterm_to_the_first_script_ends_servers_and_command() {
    let scene = Scene::start();
    let first = scene.first.id().to_string();
    assert_eq!(scene.end_by("TERM", &first), Some(143));
}

#[test]
fn sigint_to_the_first_script_ends_servers_and_command() {
    let scene = Scene::start();
    let first = scene.first.id().to_string();
    assert_eq!(scene.end_by("INT", &first), Some(130));
}

/// A terminal sends the signal to every process of the group.
#[test]
fn ctrl_c_ends_servers_and_command() {
    for _ in 0..3 {
        let scene = Scene::start();
        let group = format!("-{}", scene.first.id());
        let began_at = Instant::now();
        assert_eq!(scene.end_by("INT", &group), Some(130));
        assert!(
            began_at.elapsed() < Duration::from_secs(9),
            "{:?}",
            began_at.elapsed()
        );
    }
}

#[test]
fn a_killed_first_script_leaves_no_server() {
    let scene = Scene::start();
    let first = scene.first.id().to_string();
    assert_eq!(scene.end_by("KILL", &first), None);
}

#[test]
fn a_killed_script_of_servers_leaves_no_server() {
    let scene = Scene::start();
    let servers = scene.process("servers");
    assert_eq!(scene.end_by("KILL", &servers), Some(137));
}
