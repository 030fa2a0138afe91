//! Shutdown: the runner answers held polls first, unless a second signal ends it at once.

use std::{io::Write, net::TcpStream, time::Duration};

use serde_json::{Value, json};
use tokio::time::timeout;
use uuid::Uuid;
use vestibule_tests::{runner::Runner, waiting::wait_until};

use crate::{QUEUE, start_runner, temporary_folder};

/// Generous, for a busy machine.
const EXIT_BOUND: Duration = Duration::from_secs(30);

#[tokio::test]
async fn shutdown_answers_held_polls() {
    let dir = temporary_folder();
    let mut runner = start_runner(&dir);
    let settings = json!({ "capacity": 1, "batch": 10, "interval_seconds": 1, "session_seconds": 25 });
    runner
        .run_command(json!({ "op": "create", "queue": QUEUE, "settings": settings }))
        .await;
    runner.enter(QUEUE, &Uuid::new_v4().to_string()).await;
    let visitor = Uuid::new_v4().to_string();
    let entry = runner.enter(QUEUE, &visitor).await;
    let token = entry["token"].as_str().expect("a token").to_owned();

    let url = runner.url(&format!("/queues/{QUEUE}/entries/{token}?wait=20"));
    let mut poll = tokio::spawn(runner.http().get(url).header("X-Visitor-Id", visitor).send());
    let held = timeout(Duration::from_secs(2), &mut poll).await;
    assert!(held.is_err(), "the poll must be held: {held:?}");
    runner.signal("INT");

    // Long before the hold would end.
    let answer = timeout(Duration::from_secs(12), poll)
        .await
        .expect("the shutdown ends the hold")
        .expect("no panic")
        .expect("answered");
    assert_eq!(answer.status(), 200);
    let entry: Value = answer.json().await.expect("JSON");
    assert_eq!(
        (&entry["state"], &entry["position"]),
        (&json!("waiting"), &json!(1))
    );
    assert_eq!(runner.wait_for_exit(EXIT_BOUND).await.code(), Some(0));
}

#[tokio::test]
async fn second_ctrl_c_ends_the_runner_at_once() {
    let dir = temporary_folder();
    let mut runner = start_runner(&dir);
    let mut stalled = TcpStream::connect(runner.host_and_port()).expect("connected");
    let head = "POST /_admin HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{";
    stalled.write_all(head.as_bytes()).expect("sent");
    // The answer on another connection shows that the server has read the stalled request.
    runner.run_command(json!({ "op": "list" })).await;
    runner.signal("INT");
    // The runner closes its listener when the first signal arrives.
    wait_until(EXIT_BOUND, "the listener is closed", async || {
        TcpStream::connect(runner.host_and_port()).is_err()
    })
    .await;
    runner.signal("INT");
    // A runner that ends on its own, after the request, exits with 0.
    assert_eq!(runner.wait_for_exit(EXIT_BOUND).await.code(), Some(130));
}

#[tokio::test]
async fn a_terminal_that_closes_stops_the_runner_in_order() {
    for signal in ["HUP", "TERM"] {
        let dir = temporary_folder();
        let mut runner = start_runner(&dir);
        runner.signal(signal);
        assert_eq!(runner.wait_for_exit(EXIT_BOUND).await.code(), Some(0), "{signal}");
    }
}

#[tokio::test]
async fn a_runner_that_nohup_started_goes_on_without_its_terminal() {
    let dir = temporary_folder();
    let mut runner = Runner::start_ignoring("HUP", dir.path(), &["--demo-visitors", "0"]).expect("it starts");
    runner.signal("HUP");
    runner.run_command(json!({ "op": "list" })).await;
    runner.signal("INT");
    assert_eq!(runner.wait_for_exit(EXIT_BOUND).await.code(), Some(0));
}
