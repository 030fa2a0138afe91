//! Faults of the account and of the deployment.

use serde_json::json;
use vestibule_domain::preflight::Outcome;

use crate::{fake_account::Account, scene::Scene};

/// Changes an account so that something is wrong.
type PlantFault = fn(&mut Account);

/// Plants one fault after the other, and takes it back.
#[tokio::test(flavor = "multi_thread")]
async fn each_fault_of_the_account_is_found_alone() {
    let scene = Scene::ready().await;
    scene.expect_faults(&[]).await;
    let faults: [(&str, PlantFault); 10] = [
        ("concurrency", |account| account.executions = 400),
        ("function-concurrency", |account| account.enter_reserved = 5),
        ("api-requests", |account| account.requests_per_second = 1_000),
        ("api-import", |account| {
            account.missing_path = Some("/queues/{queue}/load".to_owned());
        }),
        ("zones", |account| account.zones = ["euc1-az1", "euc1-az1"]),
        ("visitor-claim", |account| {
            account
                .parameters
                .insert("VisitorClaim", "custom:member".to_owned());
            account.claim_read = "custom:member".to_owned();
        }),
        ("visitor-claim", |account| account.claim_read = "email".to_owned()),
        ("public-keys", |account| account.public_keys = json!([])),
        ("cold-start", |account| account.init_ms = 3_000.0),
        ("table-protection", |account| account.recovery = "DISABLED"),
    ];
    for (check, plant) in faults {
        scene.account.change(plant);
        scene.expect_faults(&[check]).await;
        scene.account.change(|account| *account = Account::ready());
    }
    scene.expect_faults(&[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_without_the_claim_is_found() {
    let scene = Scene::ready().await;
    let lacks_claim = |account: &mut Account| {
        account.parameters.insert("VisitorAuth", "lambda".to_owned());
        account.token_claims = json!({ "email": "ada@example.com" });
    };
    scene.account.change(lacks_claim);
    let run = scene.run(&["--json"]).await;
    assert_eq!(run.checks_with(Outcome::Unknown), ["visitor-claim"], "{run:?}");
    let run = scene.run(&["--json", "--visitor-token", "token"]).await;
    assert_eq!(run.checks_with(Outcome::Fault), ["visitor-claim"], "{run:?}");
    assert!(!run.printed.contains("ada@example.com"), "{run:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_operator_may_not_ask_is_unknown() {
    let scene = Scene::ready().await;
    for (forbidden, checks) in [
        ("account-settings", &["concurrency"][..]),
        ("DynamoDB", &["table-protection", "restore-time"]),
        ("/restapis", &["api-import"]),
    ] {
        scene
            .account
            .change(|account| account.forbidden = Some(forbidden));
        let run = scene.run(&["--json"]).await;
        assert_eq!(run.checks_with(Outcome::Unknown), checks, "{run:?}");
        assert_eq!(run.code, 0, "{run:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crowd_too_large_for_the_account_is_found() {
    let scene = Scene::ready().await;
    let crowd = ["--json", "--arrival-seconds", "1800", "--visitors"];
    let run = scene.run(&[&crowd[..], &["20000"]].concat()).await;
    assert_eq!(run.checks_with(Outcome::Fault), Vec::<String>::new(), "{run:?}");
    scene
        .account
        .change(|account| account.requests_per_second = 5_000);
    let run = scene.run(&[&crowd[..], &["1000000"]].concat()).await;
    let faults = run.checks_with(Outcome::Fault);
    assert!(faults.iter().any(|check| check.starts_with("crowd-")), "{run:?}");
    assert_eq!(run.code, 1);
}
