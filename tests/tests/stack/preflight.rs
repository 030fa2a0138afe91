//! The preflight of the deployed stack, on an emulator that cannot answer for an account.

use vestibule_domain::preflight::Outcome;
use vestibule_tests::{preflight::PreflightRun, servers::server_url, stack::Stack};

/// What an emulator cannot tell of an account.
const EMULATED: [&str; 7] = [
    "table-protection",
    "restore-time",
    "concurrency",
    "function-concurrency",
    "api-requests",
    "zones",
    "cold-start",
];

#[tokio::test]
async fn preflight_names_what_the_emulator_cannot_answer() {
    let stack = Stack::from_environment();
    let variables = [
        "AWS_ENDPOINT_URL",
        "AWS_REGION",
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
    ];
    let values = variables.map(|name| (name, server_url(name)));
    let variables = values.each_ref().map(|(name, value)| (*name, value.as_str()));
    let run = PreflightRun::of_stack(&stack.name, &variables, &["--json"]);
    assert_eq!(run.checks_with(Outcome::Unknown), EMULATED, "{run:?}");
    assert_eq!(run.checks_with(Outcome::Fault), Vec::<String>::new(), "{run:?}");
    assert_eq!(run.code, 0, "{run:?}");
    let known = run.checks_with(Outcome::Ok);
    for check in [
        "line-time",
        "line-commands",
        "line-subscription",
        "line-eviction",
        "backup-entries",
        "signing-key",
        "root-key",
        "api-import",
        "start-document",
        "start-enter",
        "start-claim",
        "start-status",
        "start-validate",
        "start-authorizer",
        "public-keys",
    ] {
        assert!(known.iter().any(|name| name == check), "{check}: {run:?}");
    }
    let printed = PreflightRun::of_stack(&stack.name, &variables, &[]);
    assert!(
        printed.printed.contains("?      concurrency")
            && printed.printed.contains("an emulator cannot answer"),
        "{printed:?}"
    );
}
