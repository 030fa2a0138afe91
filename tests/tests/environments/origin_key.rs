//! The secret of a distribution: which requests to enter it lets pass, also after a change.

use std::collections::BTreeMap;

use aws_sdk_secretsmanager::Client;
use serde_json::json;
use uuid::Uuid;
use vestibule_tests::{api::Guest, functions::DeploymentConfig, servers::dynamodb_url};

use crate::Stage;

const FIRST: &str = "the-first-secret-of-the-distribution";
const SECOND: &str = "the-second-secret-of-the-distribution";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_changed_origin_key_counts_beside_the_former_one() {
    let url = dynamodb_url();
    let aws = vestibule_aws::load_config([Some(url.as_str())]).await;
    let secrets = Client::new(&vestibule_aws::config_for_endpoint(&aws, Some(&url)));
    let name = format!("test/{}", Uuid::new_v4());
    let created = secrets
        .create_secret()
        .name(&name)
        .secret_string(FIRST)
        .send()
        .await;
    created.expect("the secret is created");
    let config = || DeploymentConfig {
        variables: BTreeMap::from([
            ("VESTIBULE_ORIGIN_KEY_SECRET", name.clone()),
            ("VESTIBULE_SECRETS_ENDPOINT", url.clone()),
            ("VESTIBULE_VISITORS_BY", "distribution".to_owned()),
        ]),
        ..DeploymentConfig::default()
    };
    let stage = Stage::open(config(), json!({})).await;
    require_entering(&stage, &[(Some(FIRST), 201), (Some(SECOND), 403), (None, 403)]).await;

    let changed = secrets
        .put_secret_value()
        .secret_id(&name)
        .secret_string(SECOND)
        .send()
        .await;
    changed.expect("the secret is changed");
    // New processes read the secret at their start.
    let stage = Stage::open(config(), json!({})).await;
    require_entering(&stage, &[(Some(FIRST), 201), (Some(SECOND), 201), (None, 403)]).await;
}

/// Enters with these secrets, and demands these statuses.
async fn require_entering(stage: &Stage, cases: &[(Option<&str>, u16)]) {
    for (secret, status) in cases {
        let request = Guest::enter(stage.queue.as_str(), &Uuid::new_v4().to_string());
        let request = match secret {
            Some(secret) => request.header("x-vestibule-origin", secret),
            None => request,
        };
        stage.send(request).await.expect_status(*status);
    }
}
