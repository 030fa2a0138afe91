//! Other systems: macOS, Ubuntu, and Fedora.

use crate::stubs::System;

#[test]
fn without_nproc_sysctl_counts_the_processors() {
    let mac = System::bare().with("sysctl", r#"[[ "$*" == "-n hw.ncpu" ]] && echo 6"#);
    let run = mac.source("processors");
    assert_eq!(run.stdout, "6\n", "{}", run.stderr);
}

#[test]
fn without_nproc_and_sysctl_getconf_counts_processors() {
    let system = System::bare().with("getconf", "[[ $1 == _NPROCESSORS_ONLN ]] && echo 3");
    assert_eq!(system.source("processors").stdout, "3\n");
    assert_eq!(System::bare().source("processors").stdout, "2\n");
}

#[test]
fn unlimited_open_files_become_the_limit_of_the_kernel() {
    let mac = System::bare().with(
        "sysctl",
        r#"[[ "$*" == "-n kern.maxfilesperproc" ]] && echo 61440"#,
    );
    let run = mac.source(
        r#"ulimit() { case "$*" in -Hn) echo unlimited ;; "-Sn 61440") echo raised >"$NOTE" ;; -Sn) echo 256 ;; *) return 1 ;; esac; }
           raise_open_files"#,
    );
    assert!(run.is_success && run.stderr.is_empty(), "{}", run.stderr);
    assert_eq!(
        std::fs::read_to_string(mac.note()).expect("the limit"),
        "raised\n"
    );
}

#[test]
fn a_refused_limit_of_open_files_is_said_and_no_failure() {
    let system = System::bare();
    let run = system.source(
        r#"ulimit() { case "$*" in -Hn) echo 4096 ;; -Sn) echo 256 ;; *) return 1 ;; esac; }
           raise_open_files"#,
    );
    assert!(
        run.is_success && run.stderr.contains("stays at 256"),
        "{}",
        run.stderr
    );
}

const REDIS_6: &str = "echo 'Redis server v=6.0.16 sha=00000000:0 malloc=jemalloc-5.2.1 bits=64 build=a'";

#[test]
fn redis_6_is_refused_with_where_to_get_a_newer_one() {
    let ubuntu = System::bare().with("redis-server", REDIS_6).with("redis-cli", "");
    let run = ubuntu.source("need_redis");
    assert!(!run.is_success, "{}", run.stderr);
    for text in ["version 6.0.16", "Redis 7", "https://redis.io/docs"] {
        assert!(run.stderr.contains(text), "{text} in {}", run.stderr);
    }
}

#[test]
fn a_package_of_redis_6_is_not_installed() {
    let ubuntu = System::bare()
        .with_rust()
        .with("sudo", "")
        .with("apt-get", r#"echo "$*" >>"$NOTE""#)
        .with(
            "apt-cache",
            "[[ $2 != redis-server ]] || echo '  Candidate: 5:6.0.16-1ubuntu1'",
        );
    let run = ubuntu.source("require_for test");
    assert!(
        !run.is_success && run.stderr.contains("Redis 7 "),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("https://redis.io/docs"), "{}", run.stderr);
    assert!(!ubuntu.note().exists(), "apt-get ran");
}

#[test]
fn an_older_python_gets_a_newer_one_beside_it() {
    let ubuntu = System::bare().with(
        "apt-cache",
        "case $2 in python3) echo '  Candidate: 3.10.6-1' ;; python3.11) echo '  Candidate: 3.11.0~rc1-1' ;; esac",
    );
    assert_eq!(
        ubuntu.source("python_packages").stdout,
        "python3.11 python3.11-venv"
    );
    let debian = System::bare().with("apt-cache", "echo '  Candidate: 3.11.2-1+b1'");
    assert_eq!(debian.source("python_packages").stdout, "python3 python3-venv");
}

#[test]
fn a_browser_is_found_under_each_of_its_names() {
    for name in [
        "chromium",
        "chromium-browser",
        "google-chrome",
        "google-chrome-stable",
    ] {
        let system = System::bare().with(name, "echo 'Chromium 140.0.7339.80 built on Stub'");
        let run = system.source("find_chromium");
        assert!(
            run.stdout.trim_end().ends_with(&format!("/{name}")),
            "{name}: {}",
            run.stdout
        );
    }
}

#[test]
fn a_browser_that_only_asks_for_a_snap_is_none() {
    let snap = "echo \"Command '/usr/bin/chromium-browser' requires the chromium snap to be installed.\" >&2; exit 10";
    let ubuntu = System::bare()
        .with("chromium-browser", snap)
        .with("google-chrome", "echo 'Google Chrome 140.0.7339.80'");
    let run = ubuntu.source("find_chromium");
    assert!(run.stdout.ends_with("/google-chrome\n"), "{}", run.stdout);

    let alone = System::bare()
        .with("chromium-browser", snap)
        .with("apt-get", r#"echo "$*" >>"$NOTE""#)
        .with(
            "apt-cache",
            "[[ $2 != chromium-browser ]] || echo '  Candidate: 2:1snap1-0ubuntu2'",
        );
    let run = alone.source("need_chromium");
    assert!(
        !run.is_success && run.stderr.contains("google.com/chrome"),
        "{}",
        run.stderr
    );
    assert!(!alone.note().exists(), "apt-get ran");
}
