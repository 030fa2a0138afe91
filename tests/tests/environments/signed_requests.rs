//! Requests that the gateway authenticates by their AWS signature.

use serde_json::json;
use vestibule_tests::{
    functions::{DeploymentConfig, SHOP_ACCESS_KEY_ID, ServiceAuth},
    in_process::ApiRequest,
};

use crate::Stage;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn signed_service_request_is_accepted_others_are_not() {
    let config = DeploymentConfig {
        service: ServiceAuth::Iam,
        ..DeploymentConfig::default()
    };
    let stage = Stage::open(config, json!({})).await;
    let (visitor, _) = stage.enter().await;
    let request = |what: &str, body| ApiRequest::post(visitor.path(what)).json(&body);
    let signed_by = |id: &str| {
        format!("AWS4-HMAC-SHA256 Credential={id}/20260101/us-east-1/execute-api/aws4_request, Signature=0")
    };
    let validate = || request("/validate", json!({ "visitor": visitor.id }));
    stage.send(validate()).await.expect_problem(403, "unsigned");
    let unknown_signer = validate().header("authorization", &signed_by("AKIDSTRANGER"));
    stage.send(unknown_signer).await.expect_problem(403, "unsigned");
    let shop = validate().header("authorization", &signed_by(SHOP_ACCESS_KEY_ID));
    assert_eq!(stage.send(shop).await.expect_status(200).body["valid"], true);
    let complete = request("/complete", json!({})).header("authorization", &signed_by(SHOP_ACCESS_KEY_ID));
    stage.send(complete).await.expect_status(204);
}
