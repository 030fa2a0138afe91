//! The figures of a rehearsal beside those of the server.

use serde_json::{Value, json};
use uuid::Uuid;
use vestibule_tests::rehearsal::{RehearsalOutcome, RunningRehearsal, rehearse};

use crate::{Scene, options};

/// No-shows and silent fakes hold up a rehearsal for a few seconds only.
const SETTINGS: &str = r#"{"capacity": 300, "batch": 80, "interval_seconds": 1, "claim_seconds": 10, "presence_seconds": 15,
    "call_seconds": 5}"#;
/// Few polls per second, so that most of a line of a thousand is far from the head.
const LARGE_SETTINGS: &str = r#"{"capacity": 1500, "batch": 150, "interval_seconds": 1, "claim_seconds": 20, "polls_per_second_max": 20}"#;

/// The counts in which both must be equal, because no race concerns them.
const EXACT: [&str; 5] = ["entered", "let in at once", "claimed", "completed", "evicted"];

fn assert_figures_match(outcome: &RehearsalOutcome, visitors: u64) {
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let report = outcome.report();
    assert_eq!(report["findings"], json!([]), "{report}");
    assert_eq!(report["crowd"]["arrived"], visitors, "{report}");
    assert_eq!(outcome.compared("entered"), (visitors, visitors));
    for name in EXACT {
        let (crowd, server) = outcome.compared(name);
        assert_eq!(crowd, server, "{name}");
    }
    let guarantees = &report["guarantees"];
    assert_eq!(
        (&guarantees["overtaken"], &guarantees["shown_rises"]),
        (&json!(0), &json!(0))
    );
    assert!(
        guarantees["slots_max"].as_u64() > Some(0)
            && guarantees["slots_max"].as_u64() <= guarantees["capacity"].as_u64()
    );
    // Every visitor has a longest wait that the server knows, too.
    assert!(outcome.compared("wait, longest (ms)").1 > 1_000, "{report}");
}

fn requests_of(report: &Value, operation: &str) -> u64 {
    let operations = report["operations"].as_array().expect("operations");
    let figures = operations
        .iter()
        .find(|figures| figures["operation"] == operation);
    figures.map_or(0, |figures| figures["requests"].as_u64().expect("a number"))
}

#[tokio::test]
async fn figures_of_a_small_crowd_match_the_servers_report() {
    let scene = Scene::start();
    let url = scene.runner.url("");
    let crowd = "--visitors 400 --arrival-seconds 3 --session-seconds 2 --checks 2 --leavers 10 --patience-seconds 6 \
                 --no-shows 3 --fakes 3 --json";
    let outcome = rehearse(&options(&url, crowd, &["--settings", SETTINGS]), &[]).await;
    assert_figures_match(&outcome, 400);
    let report = outcome.report();
    let served = report["crowd"]["completed"].as_u64().expect("a number");
    assert!(
        served > 300 && requests_of(&report, "validate") == 2 * served,
        "{report}"
    );
    for conduct in ["honest", "leaver", "no_show", "fake"] {
        assert!(
            report["crowd"]["by_conduct"][conduct].as_u64() > Some(0),
            "{report}"
        );
    }
    assert!(
        report["crowd"]["lapsed"].as_u64() > Some(0) && report["crowd"]["left"].as_u64() > Some(0),
        "{report}"
    );
    assert!(report["cost"]["dollars"].as_f64() > Some(0.0), "{report}");
    assert!(
        outcome.stderr.contains("400 of 400 arrived"),
        "{}",
        outcome.stderr
    );
    let queues = scene.runner.run_command(json!({ "op": "list" })).await;
    assert!(
        !queues.to_string().contains("rehearsal-"),
        "the queue is deleted: {queues}"
    );
}

#[tokio::test]
async fn figures_of_5_000_visitors_match_the_servers_report() {
    let scene = Scene::start();
    let url = scene.runner.url("");
    let crowd =
        "--visitors 5000 --arrival-seconds 30 --session-seconds 3 --patience-seconds 15 --fakes 0 --json";
    let outcome = rehearse(&options(&url, crowd, &["--settings", LARGE_SETTINGS]), &[]).await;
    assert_figures_match(&outcome, 5_000);
    let report = outcome.report();
    assert!(
        requests_of(&report, "document") > 1_000,
        "far visitors read the document: {report}"
    );
}

/// Each stay is longer than a session, so every visitor has to extend it at least once.
#[tokio::test]
async fn visitors_who_stay_longer_extend_their_sessions() {
    let scene = Scene::start();
    let url = scene.runner.url("");
    let settings = r#"{"capacity": 50, "batch": 50, "interval_seconds": 1, "session_seconds": 6}"#;
    let crowd =
        "--visitors 30 --arrival-seconds 1 --session-seconds 16 --leavers 0 --no-shows 0 --fakes 0 --json";
    let outcome = rehearse(&options(&url, crowd, &["--settings", settings]), &[]).await;
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert_eq!(outcome.compared("completed"), (30, 30));
    assert!(requests_of(&outcome.report(), "extend") >= 30, "{outcome:?}");
}

#[tokio::test]
async fn a_report_that_counts_others_too_is_a_finding() {
    let scene = Scene::start();
    let (url, queue) = (scene.runner.url(""), format!("shop:{}", Uuid::new_v4()));
    let settings: Value = serde_json::from_str(SETTINGS).expect("settings");
    let create = json!({ "op": "create", "queue": queue, "settings": settings });
    scene.runner.run_command(create).await;
    // What was counted before the rehearsal does not count.
    scene.runner.enter(&queue, &Uuid::new_v4().to_string()).await;
    let crowd = "--visitors 50 --arrival-seconds 4 --session-seconds 1 --no-shows 0";
    let mut running = RunningRehearsal::start(&options(&url, crowd, &["--queue", &queue]));
    running.wait_for_progress(" of 50 arrived").await;
    scene.runner.enter(&queue, &Uuid::new_v4().to_string()).await;
    let outcome = running.wait().await;
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    let finding = "FINDING  report: entered is 50 here and 51 on the server, and no race explains that";
    assert!(outcome.stdout.contains(finding), "{}", outcome.stdout);
    let row = outcome.stdout.lines().find(|line| line.starts_with("entered "));
    assert!(
        row.is_some_and(|row| row.contains("DIFFERS")),
        "{}",
        outcome.stdout
    );
    let stats = scene
        .runner
        .run_command(json!({ "op": "stats", "queue": queue }))
        .await;
    assert_eq!(
        stats["active"], 2,
        "a queue that the rehearsal did not create stays: {stats}"
    );
}
