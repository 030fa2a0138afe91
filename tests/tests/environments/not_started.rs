//! A function whose environment is wrong says so in one line of its log, with every variable, and starts not.

use serde_json::Value;
use tokio::process::Command;
use vestibule_tests::functions::function_binary;

async fn log_of_start(function: &str, variables: &[(&str, &str)]) -> Vec<Value> {
    let output = Command::new(function_binary(function))
        .env_clear()
        .envs(variables.iter().copied())
        .output()
        .await
        .expect("the function can be started");
    assert_eq!(
        (output.status.code(), output.stderr.as_slice()),
        (Some(1), &b""[..])
    );
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("a line is JSON"))
        .collect()
}

#[tokio::test]
async fn each_function_names_every_variable_that_is_wrong() {
    let servers = "VESTIBULE_REDIS_URL, VESTIBULE_QUEUES_TABLE, VESTIBULE_ENTRIES_TABLE";
    let keys = "VESTIBULE_ROOT_KEY, VESTIBULE_SIGNING_KEY";
    let api = format!("{keys}, VESTIBULE_ISSUER, {servers}");
    for (function, wrong) in [
        ("document", &api),
        ("enter", &api),
        ("claim", &api),
        ("status", &api),
        ("validate", &api),
        ("authorizer", &api),
        ("admin", &format!("{keys}, {servers}")),
        ("promoter", &servers.to_owned()),
    ] {
        let lines = log_of_start(function, &[]).await;
        assert_eq!(lines.len(), 1, "{function}: {lines:?}");
        let line = &lines[0];
        assert_eq!(
            (&line["level"], &line["event"]),
            (&"ERROR".into(), &"server.not_started".into()),
            "{function}: {line}"
        );
        assert_eq!(line["variables"], wrong.as_str(), "{function}: {line}");
    }
}

/// One mistake hides no other, also of those that one function alone reads.
#[tokio::test]
async fn a_wrong_value_is_named_beside_what_is_missing() {
    for (function, variable, value) in [
        ("authorizer", "VESTIBULE_AUTHORIZER_CALLS", "many"),
        ("promoter", "VESTIBULE_VISITOR_ROUTES", "none"),
    ] {
        let lines = log_of_start(function, &[(variable, value)]).await;
        let named = lines[0]["variables"].as_str().expect("a text");
        assert!(
            named.contains(variable) && named.contains("VESTIBULE_QUEUES_TABLE"),
            "{named}"
        );
    }
}

#[tokio::test]
async fn a_variable_with_a_slip_in_its_name_is_warned_of() {
    // In two parts, because a test finds the names of all variables in the sources.
    let slip = ["VESTIBULE", "VISITORS_BI"].join("_");
    let variables = [(slip.as_str(), "distribution"), ("RUST_LOG", "info=[")];
    let lines = log_of_start("enter", &variables).await;
    let events: Vec<_> = lines.iter().map(|line| &line["event"]).collect();
    assert_eq!(
        events,
        [
            "process.invalid_log_filter",
            "process.unknown_variable",
            "server.not_started"
        ],
        "{lines:?}"
    );
    assert_eq!(lines[1]["variable"], slip.as_str());
}
