//! How it ends: held polls are answered first, unless somebody insists.

use std::{
    io::Write,
    net::TcpStream,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tokio::time::timeout;
use uuid::Uuid;
use vestibule_tests::waiting::wait_until;

use crate::{QUEUE, folder, start};

#[tokio::test]
async fn the_end_answers_held_polls() {
    let dir = folder();
    let mut runner = start(&dir);
    let settings = json!({ "capacity": 1, "batch": 10, "interval_seconds": 1, "session_seconds": 3600 });
    runner
        .order(json!({ "op": "create", "queue": QUEUE, "settings": settings }))
        .await;
    runner.enter(QUEUE, &Uuid::new_v4().to_string()).await;
    let entry = runner.enter(QUEUE, &Uuid::new_v4().to_string()).await;
    let token = entry["token"].as_str().expect("a token").to_owned();

    let url = runner.url(&format!("/queues/{QUEUE}/entries/{token}?wait=20"));
    let mut poll = tokio::spawn(runner.http().get(url).send());
    let held = timeout(Duration::from_secs(2), &mut poll).await;
    assert!(held.is_err(), "the poll must be held: {held:?}");
    runner.signal("INT");

    let answer = timeout(Duration::from_secs(3), poll)
        .await
        .expect("at once")
        .expect("no panic")
        .expect("answered");
    assert_eq!(answer.status(), 200);
    let entry: Value = answer.json().await.expect("JSON");
    assert_eq!(
        (&entry["state"], &entry["position"]),
        (&json!("waiting"), &json!(1))
    );
    assert_eq!(runner.ended(Duration::from_secs(5)).await.code(), Some(0));
}

#[tokio::test]
async fn a_second_ctrl_c_ends_at_once() {
    let dir = folder();
    let mut runner = start(&dir);
    let mut stuck = TcpStream::connect(runner.host()).expect("connected");
    let head = "POST /_admin HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{";
    stuck.write_all(head.as_bytes()).expect("sent");
    // One answer on another connection: the server has read what came before.
    runner.order(json!({ "op": "list" })).await;
    runner.signal("INT");
    // The listener is gone when the first one has arrived.
    wait_until(Duration::from_secs(3), "nobody listens there", async || {
        TcpStream::connect(runner.host()).is_err()
    })
    .await;
    let asked = Instant::now();
    runner.signal("INT");
    assert_eq!(runner.ended(Duration::from_secs(3)).await.code(), Some(130));
    assert!(asked.elapsed() < Duration::from_secs(2));
}
