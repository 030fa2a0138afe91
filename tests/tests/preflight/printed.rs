//! What an operator reads, and the exit status.

use vestibule_tests::preflight::PreflightRun;

use crate::scene::{Scene, SetRights};

#[tokio::test(flavor = "multi_thread")]
async fn each_check_is_a_line_with_ok_or_the_remedy() {
    let scene = Scene::ready().await;
    scene.redis.set_rights(&["-time"]);
    let run = scene.run(&[]).await;
    assert_eq!(run.code, 1, "{run:?}");
    let mut lines = run.printed.lines();
    assert_eq!(lines.next(), Some("shop in eu-central-1"));
    let fault = lines.position(|line| line.starts_with("FAULT  line-time "));
    assert!(fault.is_some(), "{run:?}");
    let remedy = lines.next().expect("a line").trim_start();
    assert!(remedy.starts_with("-> allow TIME"), "{remedy}");
    assert!(run.printed.contains("\nok     concurrency "), "{run:?}");
    let summary = run.printed.lines().last().expect("a line");
    assert!(summary.contains(" ok, 1 faults, 0 "), "{summary}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preflight_that_cannot_run_says_what_to_do() {
    let run = PreflightRun::of_stack("shop", &[("AWS_REGION", "eu-central-1")], &[]);
    assert_eq!(run.code, 2, "{run:?}");
    assert!(
        run.errors.contains("no AWS credentials") && run.errors.contains("AWS_PROFILE"),
        "{run:?}"
    );
    let run = PreflightRun::of_stack(" ", &[], &[]);
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.errors.contains("make preflight STACK=shop"), "{run:?}");
}
