//! Test tickets of the runner.

use std::path::Path;

use serde_json::{Value, json};
use vestibule_tests::runner::{Runner, run_ticket_command};

use crate::{QUEUE, start_runner, temporary_folder};

/// What the command prints, without the line feed.
fn print(dir: &Path, arguments: &[&str]) -> String {
    let output = run_ticket_command(dir, arguments);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout)
        .expect("text")
        .trim_end()
        .to_owned()
}

async fn enter(runner: &Runner, queue: &str, ticket: &str) -> (u16, Value) {
    let request = runner
        .http()
        .post(runner.url(&format!("/queues/{queue}/entries")));
    let answer = request.json(&json!({ "ticket": ticket })).send().await;
    let answer = answer.expect("answered");
    (answer.status().as_u16(), answer.json().await.expect("JSON"))
}

#[tokio::test]
async fn a_test_ticket_of_the_folder_enters_a_queue() {
    let dir = temporary_folder();
    // The folder may get its key before the first start.
    let keys: Value = serde_json::from_str(&print(dir.path(), &["--keys"])).expect("a JWK set");
    let runner = start_runner(&dir);
    let ticket = print(dir.path(), &["--sub", "alice"]);
    let (status, demo) = enter(&runner, "demo:1", &ticket).await;
    assert_eq!(status, 201, "the demo queue has the key: {demo}");

    let settings = json!({ "visitors": "ticket", "ticket_keys": keys, "capacity": 1 });
    runner
        .run_command(json!({ "op": "create", "queue": QUEUE, "settings": settings }))
        .await;
    let alice = ["--queue", QUEUE, "--sub", "alice", "--lane", "0"];
    let (status, first) = enter(&runner, QUEUE, &print(dir.path(), &alice)).await;
    assert_eq!(status, 201, "{first}");
    let (status, again) = enter(&runner, QUEUE, &print(dir.path(), &alice)).await;
    assert_eq!((status, &again["token"]), (200, &first["token"]));
    let (status, refused) = enter(&runner, QUEUE, &ticket).await;
    assert_eq!((status, &refused["reason"]), (403, &json!("wrong-queue")));
    let expired = print(
        dir.path(),
        &["--queue", QUEUE, "--sub", "alice", "--expires-in", "0"],
    );
    let header = expired.split('.').next().expect("a header");
    assert_eq!(ticket.split('.').next(), Some(header), "the folder has one key");
}

#[test]
fn a_ticket_needs_a_visitor() {
    let dir = temporary_folder();
    for wrong in [
        &[][..],
        &["--sub", " alice"],
        &["--sub", "alice", "--queue", "a b"],
        &["--sub", "alice", "--lane", "8"],
    ] {
        let output = run_ticket_command(dir.path(), wrong);
        assert!(!output.status.success() && output.stdout.is_empty(), "{wrong:?}");
    }
}
