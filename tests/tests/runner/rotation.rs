//! The command `rotate` on a running process, while visitors come and a service checks their passes.

use std::{
    collections::BTreeSet,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use jsonwebtoken::{decode_header, jwk::JwkSet};
use serde_json::json;
use tokio::time::sleep;
use uuid::Uuid;
use vestibule_tests::runner::Runner;

use crate::{QUEUE, temporary_folder};

const SESSION_SECONDS: u64 = 2;

fn key_id(pass: &str) -> String {
    decode_header(pass).expect("a header").kid.expect("a key id")
}

fn now_ms() -> u128 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("after 1970")
        .as_millis()
}

async fn published_keys(runner: &Runner) -> JwkSet {
    let answer = runner
        .http()
        .get(runner.url("/.well-known/jwks.json"))
        .send()
        .await;
    answer.expect("answered").json().await.expect("a key set")
}

#[tokio::test]
async fn a_rotation_needs_no_restart_and_survives_one() {
    let dir = temporary_folder();
    let arguments = ["--demo-visitors", "0", "--key-cache-seconds", "1"];
    let runner = Runner::start(dir.path(), &arguments).expect("the runner starts");
    let settings = json!({
        "capacity": 10_000, "batch": 10_000, "interval_seconds": 1, "session_seconds": SESSION_SECONDS, "session_max_seconds": SESSION_SECONDS,
        "outage_grace_seconds": 0,
    });
    // The old key retires after the longest session of any queue, and that of the demo is long.
    let demo = json!({ "session_seconds": 1, "session_max_seconds": 1, "outage_grace_seconds": 0 });
    runner
        .run_command(json!({ "op": "update", "queue": "demo:1", "settings": demo }))
        .await;
    runner
        .run_command(json!({ "op": "create", "queue": QUEUE, "settings": settings }))
        .await;
    let first = published_keys(&runner).await;
    assert_eq!(first.keys.len(), 1);

    let rotated = runner.run_command(json!({ "op": "rotate" })).await;
    let retires_at_ms = u128::from(rotated["old_key_retires_at_ms"].as_u64().expect("a time"));
    let mut used = BTreeSet::new();
    while now_ms() < retires_at_ms {
        let entered = runner.enter(QUEUE, &Uuid::new_v4().to_string()).await;
        let pass = entered["pass"].as_str().expect("a pass");
        let published = published_keys(&runner).await;
        assert!(
            published.find(&key_id(pass)).is_some(),
            "the key of a pass is published"
        );
        let token = entered["token"].as_str().expect("a token");
        let validate = runner.url(&format!("/queues/{QUEUE}/entries/{token}/validate"));
        let validated = runner
            .http()
            .post(validate)
            .json(&json!({ "pass": pass }))
            .send()
            .await;
        let validated = validated.expect("answered");
        assert_eq!(
            validated.status(),
            200,
            "{}",
            validated.text().await.unwrap_or_default()
        );
        used.insert(key_id(pass));
        sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(used.len(), 2, "the old key signed, and then the new one");
    let last = published_keys(&runner).await;
    assert_eq!(last.keys.len(), 1, "the old key has retired");
    assert_ne!(first, last);
    drop(runner);

    let runner = Runner::start(dir.path(), &arguments).expect("the runner starts");
    assert_eq!(published_keys(&runner).await, last, "the keys survive a restart");
    let again = runner.run_command(json!({ "op": "rotate" })).await;
    assert_eq!(again["keys"], 2, "retired keys are dropped");
}
