//! What a start says and makes, and what stops it.

use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    os::unix::fs::PermissionsExt,
};

use vestibule_tests::runner::{Ended, Runner, taken_port};

use crate::{folder, start};

#[test]
fn the_first_line_is_the_address() {
    let dir = folder();
    let runner = Runner::start(dir.path(), &["--demo-visitors", "0", "--quiet"]).expect("it starts");
    let mut stream = TcpStream::connect(runner.host()).expect("it listens at the address that it said");
    stream
        .write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        .expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("answered");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[tokio::test]
async fn keys_are_for_their_owner_alone() {
    let dir = folder();
    let _runner = start(&dir);
    for key in ["root.key", "pass.pem"] {
        let mode = fs::metadata(dir.path().join(key))
            .expect("is there")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{key}");
    }
}

/// One clear line, and an end that a script notices.
fn one_line(started: Result<Runner, Ended>, named: &str) {
    let ended = started.expect_err("it must not start");
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    assert!(
        ended.stderr.starts_with("vestibule-local: ") && ended.stderr.contains(named),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_taken_port_is_named() {
    let dir = folder();
    let (port, _listener) = taken_port();
    one_line(Runner::start_on(dir.path(), port, &[]), &port.to_string());
}

#[test]
fn a_broken_store_is_named_and_left_as_it_is() {
    let dir = folder();
    let store = dir.path().join("backup.redb");
    let content = "no store at all".repeat(1_000);
    fs::write(&store, &content).expect("written");
    one_line(Runner::start(dir.path(), &[]), "backup.redb");
    assert_eq!(fs::read_to_string(&store).expect("still there"), content);
}

#[tokio::test]
async fn a_store_in_use_is_named() {
    let dir = folder();
    let _runner = start(&dir);
    one_line(Runner::start(dir.path(), &[]), "in use");
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let dir = folder();
    let file = dir.path().join("file");
    fs::write(&file, "").expect("written");
    one_line(Runner::start(&file.join("folder"), &[]), "folder");
}

#[test]
fn an_unreachable_redis_or_dynamodb_is_named() {
    let dir = folder();
    let (port, listener) = taken_port();
    drop(listener);
    one_line(
        Runner::start(dir.path(), &["--redis", &format!("redis://127.0.0.1:{port}")]),
        "Redis",
    );
    one_line(
        Runner::start(dir.path(), &["--dynamodb", &format!("http://127.0.0.1:{port}")]),
        "DynamoDB",
    );
}

#[test]
fn a_dynamodb_that_is_no_address_is_refused_before_anything_is_tried() {
    let dir = folder();
    let inner = dir.path().join("inner");
    one_line(Runner::start(&inner, &["--dynamodb", "nonsense"]), "--dynamodb");
    assert!(!inner.exists(), "nothing was made");
}
