//! Where a rehearsal must not go, and how it ends before its visitors are done.

use serde_json::json;
use uuid::Uuid;
use vestibule_tests::rehearsal::{RunningRehearsal, rehearse};

use crate::{Scene, options};

/// A line that hardly moves.
const SLOW: &str = r#"{"capacity": 5, "batch": 1, "interval_seconds": 10}"#;

#[tokio::test]
async fn a_host_that_is_not_named_again_gets_no_request() {
    // The name does not resolve. Without the refusal the rehearsal would fail by the connection.
    for (url, host) in [
        ("https://shop.invalid", "shop.invalid"),
        ("http://192.0.2.1:8080", "192.0.2.1"),
    ] {
        let outcome = rehearse(&["--url", url, "--queue", "shop:1", "--no-admin"], &[]).await;
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(1), ""));
        let advice =
            format!("{host} is not this machine. If the deployment there is yours, name its host again");
        assert!(outcome.stderr.contains(&advice), "{}", outcome.stderr);
    }
}

#[tokio::test]
async fn an_interrupted_rehearsal_leaves_no_entry_behind() {
    let scene = Scene::start();
    let (url, queue) = (scene.runner.url(""), format!("shop:{}", Uuid::new_v4()));
    let crowd = "--keep --visitors 100 --arrival-seconds 1 --fakes 10 --session-seconds 60";
    let mut running =
        RunningRehearsal::start(&options(&url, crowd, &["--queue", &queue, "--settings", SLOW]));
    running.wait_for_progress("100 of 100 arrived").await;
    let stats = scene
        .runner
        .run_command(json!({ "op": "stats", "queue": queue }))
        .await;
    assert!(stats["waiting"].as_u64() > Some(80), "{stats}");
    let outcome = running.stop("HUP").await;
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert!(
        outcome
            .stdout
            .contains("interrupted: the visitors who were not done left"),
        "{}",
        outcome.stdout
    );
    let stats = scene
        .runner
        .run_command(json!({ "op": "stats", "queue": queue }))
        .await;
    let entries = ["waiting", "absent", "ready", "active"].map(|state| stats[state].as_u64());
    assert_eq!(entries, [Some(0); 4], "{stats}");
}

#[tokio::test]
async fn visitors_leave_when_the_time_of_the_rehearsal_is_over() {
    let scene = Scene::start();
    let url = scene.runner.url("");
    let crowd = "--visitors 50 --arrival-seconds 1 --seconds-max 3 --json";
    let outcome = rehearse(&options(&url, crowd, &["--settings", SLOW]), &[]).await;
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let report = outcome.report();
    let seconds = report["seconds"].as_f64().expect("a number");
    assert!((3.0..20.0).contains(&seconds), "{report}");
    assert!(
        report["stopped"]
            .as_str()
            .is_some_and(|text| text.contains("--seconds-max")),
        "{report}"
    );
    assert_eq!(outcome.compared("still in the line"), (0, 0));
}

#[tokio::test]
async fn a_runner_that_is_not_there_ends_the_rehearsal() {
    let outcome = rehearse(&["--url", "http://127.0.0.1:9", "--visitors", "10"], &[]).await;
    assert_eq!(outcome.code, Some(1));
    assert!(
        outcome
            .stderr
            .contains("http://127.0.0.1:9/_admin does not answer"),
        "{}",
        outcome.stderr
    );
}
