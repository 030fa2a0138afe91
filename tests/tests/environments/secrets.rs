//! Keys that are in Secrets Manager, as in a deployed stack.

use serde_json::json;
use vestibule_tests::{
    api::{Guest, new_visitor_id},
    functions::{API_KEY, DeploymentConfig, ORIGIN_KEY},
    in_process::{ApiRequest, ApiResponse},
    waiting::wait_until,
};

use crate::{BOUND, Stage};

impl Stage {
    /// Enters as the distribution passes a request on.
    async fn enter_through_distribution(&self, address: &str) -> ApiResponse {
        let request = Guest::enter(self.queue.as_str(), &new_visitor_id())
            .header("x-vestibule-origin", ORIGIN_KEY)
            .header("cloudfront-viewer-address", address);
        self.send(request).await
    }

    async fn count_published_keys(&self) -> usize {
        let published = self.send(ApiRequest::get("/.well-known/jwks.json")).await;
        let keys = published.expect_status(200).body["keys"].as_array();
        keys.expect("keys").len()
    }
}

/// Each function signs and verifies with the same keys, also after a rotation.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_functions_share_the_keys_of_secrets_manager() {
    let config = DeploymentConfig {
        secrets: true,
        ..DeploymentConfig::default()
    };
    let stage = Stage::open(config, json!({ "session_max_seconds": 3_600 })).await;
    let (visitor, entered) = stage.enter().await;
    let status = stage.get_status(&visitor).await;
    let extend = ApiRequest::post(visitor.path("/extend")).visitor(&visitor.id);
    let extended = stage.send(extend).await;
    let claimed = stage.claim(&visitor).await;
    for answer in [&entered, &status, &extended, &claimed] {
        let pass = answer.text("pass");
        let validate = ApiRequest::post(visitor.path("/validate"))
            .header("x-api-key", API_KEY)
            .json(&json!({ "pass": pass }));
        let validated = stage.send(validate).await;
        assert_eq!(validated.expect_status(200).body["valid"], true);
        let authorized = stage
            .authorize(json!({ "authorization": format!("Bearer {pass}") }))
            .await;
        assert_eq!(authorized["isAuthorized"], true, "{authorized}");
    }

    // Only a command that names a visitor needs the key from which entry ids are derived.
    let inspect = json!({ "visitor": visitor.id, "kind": "anon" });
    let inspected = stage.run_command("inspect", inspect).await;
    assert_eq!(inspected["token"], visitor.token, "{inspected}");

    assert_eq!(stage.count_published_keys().await, 1);
    let rotated = stage.deployment.run_command(&json!({ "op": "rotate" })).await;
    assert_eq!(rotated["result"]["keys"], 2, "{rotated}");
    // A new process reads the keys as they are now.
    for function in ["document", "validate"] {
        stage.deployment.lambda.kill(function);
    }
    assert_eq!(stage.count_published_keys().await, 2);
    let validate = ApiRequest::post(visitor.path("/validate"))
        .header("x-api-key", API_KEY)
        .json(&json!({ "pass": entered.text("pass") }));
    assert_eq!(stage.send(validate).await.expect_status(200).body["valid"], true);
    // The promoter gets no key.
    stage
        .with_promoters(wait_until(BOUND, "the promoter ticks", async || {
            stage.view().await.heartbeat_ms > 0
        }))
        .await;
}

/// The function `enter` knows the secret of the distribution, and takes the address of the visitor from it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn visitors_behind_the_distribution_have_their_own_source() {
    let config = DeploymentConfig {
        secrets: true,
        ..DeploymentConfig::default()
    };
    let stage = Stage::open(config, json!({})).await;
    for address in ["198.51.100.7:1000", "198.51.100.7:2000", "203.0.113.9:1000"] {
        stage.enter_through_distribution(address).await.expect_status(201);
    }
    let sources = stage.run_command("sources", json!({})).await;
    let counts: Vec<_> = sources["sources"]
        .as_array()
        .expect("sources")
        .iter()
        .map(|source| (source["source"].is_string(), source["entries"].as_u64()))
        .collect();
    assert_eq!(counts, [(true, Some(2)), (true, Some(1))], "{sources}");
}
