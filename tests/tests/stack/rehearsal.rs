//! A rehearsal against the deployed stack: through API Gateway, with signed requests of the protected service, and with the
//! commands of operators by the admin function.

use serde_json::json;
use vestibule_tests::{rehearsal::rehearse, servers::server_url, stack::Stack};

/// The emulator serves few requests per second.
const SETTINGS: &str = r#"{"capacity": 10, "batch": 4, "interval_seconds": 2, "claim_seconds": 60}"#;

#[tokio::test]
async fn figures_of_a_rehearsal_match_the_report_of_the_stack() {
    let stack = Stack::from_environment();
    let endpoint = server_url("AWS_ENDPOINT_URL");
    let crowd = [
        "--url",
        stack.api.as_str(),
        "--admin-function",
        stack.output("AdminFunction"),
        "--service",
        "iam",
        "--settings",
        SETTINGS,
        "--visitors",
        "20",
        "--arrival-seconds",
        "5",
        "--session-seconds",
        "2",
        "--checks",
        "1",
        "--leavers",
        "0",
        "--no-shows",
        "0",
        "--fakes",
        "0",
        "--seconds-max",
        "120",
        "--json",
    ];
    let outcome = rehearse(&crowd, &[("AWS_ENDPOINT_URL", &endpoint)]).await;
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let report = outcome.report();
    assert_eq!(
        (&report["findings"], &report["stopped"]),
        (&json!([]), &json!(null)),
        "{report}"
    );
    for name in ["entered", "completed"] {
        assert_eq!(outcome.compared(name), (20, 20), "{name}");
    }
    let operations = report["operations"].as_array().expect("operations");
    let validated = operations
        .iter()
        .find(|figures| figures["operation"] == "validate");
    assert_eq!(
        validated.expect("the service validates")["failures"],
        json!({}),
        "{report}"
    );
}
