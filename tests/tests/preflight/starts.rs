//! The starts of the functions that serve visitors.

use vestibule_backup::Backup;
use vestibule_domain::preflight::Outcome;
use vestibule_tests::in_process::queue_id;

use crate::{fake_account::Account, scene::Scene};

#[tokio::test(flavor = "multi_thread")]
async fn each_function_answers_by_its_code_and_changes_nothing() {
    let scene = Scene::ready().await;
    scene.expect_faults(&[]).await;
    let functions = scene.account.functions();
    let answered: Vec<_> = functions.answered().into_iter().collect();
    let expected = [
        ("Authorizer", 403),
        ("Claim", 404),
        ("Document", 200),
        ("Enter", 404),
        ("Status", 404),
        ("Validate", 404),
    ];
    assert_eq!(answered, expected.map(|(name, status)| (name.to_owned(), status)));
    let view = functions
        .api
        .line
        .queue_view(&queue_id())
        .await
        .expect("the queue");
    assert_eq!((view.waiting, view.ready, view.active), (0, 0, 0));
    let queues = functions.api.backup.list_queues().await.expect("an answer");
    assert_eq!(queues, [queue_id()], "no queue was created");
    let metrics = functions.api.written.text();
    assert!(
        !metrics.contains("\"IdentitiesMissing\":1"),
        "a visitor without a name raises an alarm: {metrics}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn function_that_does_not_start_is_named_with_the_reason() {
    let scene = Scene::ready().await;
    for name in ["Document", "Enter", "Claim", "Status", "Validate", "Authorizer"] {
        let line = "Error: Config(VESTIBULE_ROOT_KEY_SECRET cannot be read: AccessDeniedException)";
        scene
            .account
            .change(|account| account.failing = Some((name, line)));
        let check = format!("start-{}", name.to_lowercase());
        scene.expect_faults(&[&check]).await;
        let (found, remedy) = scene.finding(&check).await;
        assert!(
            found.contains(&format!("{name}Function does not start"))
                && found.contains("AccessDeniedException"),
            "{found}"
        );
        assert!(remedy.contains("VPC endpoint"), "{remedy}");
    }
    scene.account.change(|account| *account = Account::ready());
    scene.expect_faults(&[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn function_that_serves_only_in_part_is_a_fault() {
    let scene = Scene::ready().await;
    scene.account.change(|account| {
        account.enter_log =
            r#"{"level":"WARN","event":"origin_key.read_failed","reason":"cannot be read: AccessDeniedException"}"#;
    });
    scene.expect_faults(&["start-enter"]).await;
    let (found, _) = scene.finding("start-enter").await;
    assert!(
        found.contains("origin_key.read_failed: cannot be read: AccessDenied"),
        "{found}"
    );
    scene.account.change(|account| {
        *account = Account {
            claim_status: Some(503),
            ..Account::ready()
        };
    });
    scene.expect_faults(&["start-claim"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn function_that_the_operator_may_not_call_is_unknown() {
    let scene = Scene::ready().await;
    scene
        .account
        .change(|account| account.forbidden = Some("StatusFunction/invocations"));
    let run = scene.run(&["--json"]).await;
    assert_eq!(run.checks_with(Outcome::Unknown), ["start-status"], "{run:?}");
    let (_, remedy) = scene.finding("start-status").await;
    assert!(
        remedy.contains("lambda:InvokeFunction on StatusFunction"),
        "{remedy}"
    );
}
