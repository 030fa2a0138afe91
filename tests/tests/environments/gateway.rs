//! What the gateway vouches for.

use serde_json::json;
use vestibule_tests::{
    edge::Ask,
    functions::{DeploymentConfig, SHOP_ACCESS_KEY_ID, ServiceAuth},
};

use crate::Stage;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_protected_service_signs_where_the_deployment_wants_it() {
    let config = DeploymentConfig {
        service: ServiceAuth::Iam,
        ..DeploymentConfig::default()
    };
    let stage = Stage::open(config, json!({})).await;
    let (guest, _) = stage.enters().await;
    let ask = |what: &str, body| Ask::post(stage.of(&guest, what)).json(&body);
    let signed_by = |id: &str| {
        format!("AWS4-HMAC-SHA256 Credential={id}/20260101/us-east-1/execute-api/aws4_request, Signature=0")
    };
    let question = || ask("/validate", json!({ "visitor": guest.id }));
    stage.send(question()).await.is_problem(403, "unsigned");
    let stranger = question().header("authorization", &signed_by("AKIDSTRANGER"));
    stage.send(stranger).await.is_problem(403, "unsigned");
    let shop = question().header("authorization", &signed_by(SHOP_ACCESS_KEY_ID));
    assert_eq!(stage.send(shop).await.is(200).body["valid"], true);
    let complete = ask("/complete", json!({})).header("authorization", &signed_by(SHOP_ACCESS_KEY_ID));
    stage.send(complete).await.is(204);
}
