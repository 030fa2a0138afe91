//! Startup: what the runner prints and creates, and the errors that stop it.

use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    os::unix::fs::PermissionsExt,
    time::Duration,
};

use vestibule_tests::runner::{FailedStart, Runner, reserve_port};

use crate::{restart_scene::BOUND, start_runner, temporary_folder};

#[test]
fn first_line_of_output_is_the_address() {
    let dir = temporary_folder();
    let runner = Runner::start(dir.path(), &["--demo-visitors", "0", "--quiet"]).expect("the runner starts");
    let mut stream = TcpStream::connect(runner.host_and_port())
        .expect("the runner listens at the address that it printed");
    stream
        .write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        .expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("answered");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[tokio::test]
async fn key_files_are_readable_by_their_owner_only() {
    let dir = temporary_folder();
    let _runner = start_runner(&dir);
    for key in ["root.key", "pass-es256.pem"] {
        let mode = fs::metadata(dir.path().join(key))
            .expect("the key file exists")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{key}");
    }
}

#[test]
fn start_with_an_invalid_origin_names_the_option() {
    let dir = temporary_folder();
    let failed = Runner::start(dir.path(), &["--cors", "localhost:5173"]).expect_err("it must not start");
    assert!(failed.stderr.contains("--cors"), "{}", failed.stderr);
    assert!(
        failed.stderr.contains("such as https://shop.example"),
        "{}",
        failed.stderr
    );
}

#[test]
fn start_with_another_root_key_names_the_queue() {
    let dir = temporary_folder();
    drop(start_runner(&dir));
    let path = dir.path().join("root.key");
    let own = fs::read(&path).expect("the key");
    fs::write(&path, [9; 32]).expect("written");
    let started = Runner::start(dir.path(), &["--demo-visitors", "0"]);
    assert_fails_with_one_line(started, "demo:1");
    fs::write(&path, own).expect("written");
    drop(start_runner(&dir));
}

/// Asserts that the start failed with status 1 and one line of error output that contains `named`.
fn assert_fails_with_one_line(started: Result<Runner, FailedStart>, named: &str) {
    let failed = started.expect_err("the runner must not start");
    assert_eq!(failed.status.code(), Some(1), "{failed:?}");
    assert_eq!(failed.stderr.lines().count(), 1, "{}", failed.stderr);
    assert!(
        failed.stderr.starts_with("vestibule-local: ") && failed.stderr.contains(named),
        "{}",
        failed.stderr
    );
}

#[test]
fn start_on_a_taken_port_names_the_port() {
    let dir = temporary_folder();
    let (port, _listener) = reserve_port();
    assert_fails_with_one_line(Runner::start_on(dir.path(), port, &[]), &port.to_string());
}

#[test]
fn corrupt_store_is_named_and_left_unchanged() {
    let dir = temporary_folder();
    let store = dir.path().join("backup.redb");
    let content = "no store at all".repeat(1_000);
    fs::write(&store, &content).expect("written");
    fs::write(dir.path().join("root.key"), [1; 32]).expect("written");
    assert_fails_with_one_line(Runner::start(dir.path(), &[]), "backup.redb");
    assert_eq!(
        fs::read_to_string(&store).expect("the store file exists"),
        content
    );
}

#[tokio::test]
async fn store_with_corrupt_pages_is_named_without_a_panic() {
    let dir = temporary_folder();
    let mut runner = start_runner(&dir);
    runner.signal("TERM");
    runner.wait_for_exit(Duration::from_secs(30)).await;
    let store = dir.path().join("backup.redb");
    let mut bytes = fs::read(&store).expect("the store file exists");
    // The pages behind the header of the file.
    for byte in &mut bytes[4_096..] {
        *byte = 0xa5;
    }
    fs::write(&store, bytes).expect("written");
    assert_fails_with_one_line(Runner::start(dir.path(), &[]), "backup.redb");
}

#[test]
fn store_without_its_root_key_is_refused() {
    let dir = temporary_folder();
    drop(start_runner(&dir));
    fs::remove_file(dir.path().join("root.key")).expect("the key exists");
    assert_fails_with_one_line(Runner::start(dir.path(), &[]), "root.key");
    assert!(!dir.path().join("root.key").exists(), "no other key is created");
}

#[tokio::test]
async fn store_in_use_is_named() {
    let dir = temporary_folder();
    let _runner = start_runner(&dir);
    assert_fails_with_one_line(Runner::start(dir.path(), &[]), "in use");
}

#[test]
fn folder_that_cannot_be_created_is_named() {
    let dir = temporary_folder();
    let file = dir.path().join("file");
    fs::write(&file, "").expect("written");
    assert_fails_with_one_line(Runner::start(&file.join("folder"), &[]), "folder");
}

#[test]
fn unreachable_redis_or_dynamodb_is_named() {
    let dir = temporary_folder();
    let (port, listener) = reserve_port();
    drop(listener);
    assert_fails_with_one_line(
        Runner::start(dir.path(), &["--redis", &format!("redis://127.0.0.1:{port}")]),
        "Redis",
    );
    assert_fails_with_one_line(
        Runner::start(dir.path(), &["--dynamodb", &format!("http://127.0.0.1:{port}")]),
        "DynamoDB",
    );
}

#[test]
fn invalid_dynamodb_address_is_refused_before_any_change() {
    let dir = temporary_folder();
    let inner = dir.path().join("inner");
    assert_fails_with_one_line(Runner::start(&inner, &["--dynamodb", "nonsense"]), "--dynamodb");
    assert!(!inner.exists(), "the runner created the folder");
}

#[tokio::test]
async fn options_that_do_nothing_are_warned_of() {
    let dir = temporary_folder();
    let options = [
        "--demo-visitors",
        "0",
        "--web",
        "/no/such/folder",
        "--hosts",
        "shop.test,https://shop.test,a:80",
    ];
    let runner = Runner::start(dir.path(), &options).expect("it starts");
    let log = runner.stop("INT", BOUND).await;
    let lines: Vec<_> = log.lines().filter(|line| line.contains("WARN")).collect();
    assert_eq!(lines.len(), 3, "{log}");
    for (line, named) in lines.iter().zip(["/no/such/folder", "https://shop.test", "a:80"]) {
        assert!(line.contains(named), "{line}");
    }
}
