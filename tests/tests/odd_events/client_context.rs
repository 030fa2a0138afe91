//! A client context that Lambda's runtime cannot read. The runtime then ends the process before our code runs, and no code
//! of ours can prevent that. `docs/commands.md` tells operators.

use axum::{body::Bytes, http::HeaderValue};
use serde_json::{Value, json};
use vestibule_tests::{
    functions::{Deployment, DeploymentConfig},
    in_process::{BOUND, event},
    lambda::{InvocationError, Order},
    waiting::wait_until,
};

/// The runtime reads `custom` as texts by name.
const UNREADABLE: &str = r#"{"custom":{"n":5}}"#;
const READABLE: &str = r#"{"custom":{"n":"5"}}"#;

async fn invoke(
    deployment: &Deployment,
    function: &str,
    payload: &Value,
    client_context: &'static str,
) -> Result<Value, InvocationError> {
    let order = Order {
        payload: Bytes::from(payload.to_string()),
        client_context: Some(HeaderValue::from_static(client_context)),
        ..Order::default()
    };
    deployment.lambda.invoke_with(function, order).await
}

/// Gives a function an order without a client context, one with an unreadable one, and then the first one again.
async fn check_next_order(function: &str, payload: &Value, is_done: impl Fn(&Value) -> bool) {
    let deployment = Deployment::start(DeploymentConfig::default()).await;
    let lambda = &deployment.lambda;
    let before = lambda.invoke(function, payload).await.expect("an answer");
    assert!(is_done(&before), "{before}");
    let readable = invoke(&deployment, function, payload, READABLE).await;
    assert!(readable.as_ref().is_ok_and(&is_done), "{readable:?}");
    assert_eq!(lambda.started_count(function), 1);

    let unreadable = invoke(&deployment, function, payload, UNREADABLE).await;
    let Err(InvocationError::Exited(status)) = unreadable else {
        panic!("the process did not end: {unreadable:?}");
    };
    assert!(!status.contains("signal"), "{status}");
    wait_until(BOUND, "the log names the cause", async || {
        lambda.has_logged(function, "invalid type: integer `5`, expected a string")
    })
    .await;

    let next = lambda.invoke(function, payload).await.expect("an answer");
    assert!(is_done(&next), "{next}");
    assert_eq!(
        lambda.started_count(function),
        2,
        "Lambda starts the function again"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn admin_carries_out_the_order_after_it() {
    check_next_order("admin", &json!({ "op": "list" }), |answer| answer["ok"] == true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn document_answers_the_event_after_it() {
    let jwks = event("GET", "/.well-known/jwks.json", &json!({}));
    check_next_order("document", &jwks, |answer| answer["statusCode"] == 200).await;
}
