//! The fingerprint of the root key, which the functions that serve visitors record for a queue without one.

use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::json;
use vestibule_backup::Backup;
use vestibule_tests::{
    functions::{DeploymentConfig, root_key},
    in_process::ApiRequest,
    servers::dynamodb_url,
    waiting::wait_until,
};

use crate::{BOUND, Stage};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_queue_without_a_fingerprint_gets_the_present_one() {
    let stage = Stage::open(DeploymentConfig::default(), json!({})).await;
    for function in ["document", "enter", "status"] {
        forget_root_key(&stage).await;
        match function {
            "document" => drop(
                stage
                    .send(ApiRequest::get(format!("/queues/{}", stage.queue)))
                    .await,
            ),
            "enter" => drop(stage.enter().await),
            _ => {
                let (visitor, _) = stage.enter().await;
                stage.get_status(&visitor).await.expect_status(200);
            }
        }
        wait_until(BOUND, "the fingerprint is recorded", async || {
            let stored = stage.deployment.backup.read_queue(&stage.queue).await;
            let stored = stored.expect("an answer").expect("a queue");
            stored.metadata.salt.root() == Some(root_key().fingerprint())
        })
        .await;
    }
}

/// Takes the fingerprint away from the table and from the line, as in a queue of a deployment that had none.
async fn forget_root_key(stage: &Stage) {
    let url = dynamodb_url();
    let aws = vestibule_aws::load_config([Some(url.as_str())]).await;
    let client = aws_sdk_dynamodb::Client::new(&vestibule_aws::config_for_endpoint(&aws, Some(&url)));
    let update = client
        .update_item()
        .table_name(&stage.deployment.tables.queues)
        .key("queue", AttributeValue::S(stage.queue.as_str().to_owned()))
        .key("part", AttributeValue::S("line".to_owned()))
        .update_expression("REMOVE root_key");
    update.send().await.expect("the attribute is removed");
    let (mut connection, _) = stage.find_keys().await;
    for command in [
        redis::cmd("HDEL")
            .arg(format!("vestibule:{{{}}}:config", stage.queue))
            .arg("root_key"),
        redis::cmd("DEL").arg(format!("vestibule:{{{}}}:view", stage.queue)),
    ] {
        let done: Result<u64, _> = command.query_async(&mut connection).await;
        done.expect("Redis answers");
    }
}
