//! Functions that start although they cannot get what they need only sometimes.

use std::{collections::BTreeMap, net::TcpListener};

use serde_json::json;
use uuid::Uuid;
use vestibule_backup::{Backup, EntryPartition};
use vestibule_domain::{id::EntryId, record::EntryRecord};
use vestibule_tests::{
    api::Guest,
    functions::{Deployment, DeploymentConfig},
    servers::{closed_port_url, dynamodb_url},
    waiting::wait_until,
};

use crate::{BOUND, Stage};

const ORIGIN_KEY: &str = "VESTIBULE_ORIGIN_KEY";
const ORIGIN_KEY_SECRET: &str = "VESTIBULE_ORIGIN_KEY_SECRET";
const SECRETS_ENDPOINT: &str = "VESTIBULE_SECRETS_ENDPOINT";

impl Stage {
    async fn read_record(&self, token: &str) -> EntryRecord {
        let partition = EntryPartition::from_configuration(&self.queue, &self.view().await.configuration);
        let id: EntryId = token.parse().expect("a token");
        let record = self.deployment.backup.read_entry(&partition, id).await;
        record.expect("the table answers").expect("a record")
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn visitors_enter_without_a_readable_origin_key() {
    let silent = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let silent_url = format!("http://{}", silent.local_addr().expect("an address"));
    let named = |endpoint| {
        [
            (ORIGIN_KEY_SECRET, "test/does-not-exist".to_owned()),
            (SECRETS_ENDPOINT, endpoint),
        ]
    };
    for (variables, reason) in [
        (named(dynamodb_url()), "names no secret"),
        (named(closed_port_url()), "cannot be read"),
        (named(silent_url), "no answer in time"),
        (
            [
                (ORIGIN_KEY, "short".to_owned()),
                (ORIGIN_KEY_SECRET, String::new()),
            ],
            "5 characters",
        ),
        (
            [(ORIGIN_KEY, "a".repeat(32)), (ORIGIN_KEY_SECRET, "b".to_owned())],
            "set only one",
        ),
    ] {
        let config = DeploymentConfig {
            variables: BTreeMap::from(variables),
            ..DeploymentConfig::default()
        };
        let stage = Stage::open(config, json!({})).await;
        let (visitor, _) = stage.enter().await;
        let lambda = &stage.deployment.lambda;
        for text in ["origin_key.read_failed", "\"OriginKeyFailures\":1", reason] {
            wait_until(BOUND, "the failure is logged", async || {
                lambda.has_logged("enter", text)
            })
            .await;
        }
        assert!(
            stage.read_record(&visitor.token).await.source.is_some(),
            "{reason}: the gateway names the address of a visitor who comes to it directly"
        );
        let through_distribution = Guest::enter(stage.queue.as_str(), &Uuid::new_v4().to_string());
        let through_distribution = through_distribution.header("x-vestibule-origin", &"a".repeat(32));
        let entered = stage.send(through_distribution).await;
        let token = entered.expect_status(201).text("token");
        assert_eq!(stage.read_record(token).await.source, None, "{reason}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn operators_list_queues_without_redis_and_root_key() {
    let config = DeploymentConfig {
        redis_url: Some(closed_port_url().replace("http:", "redis:")),
        variables: BTreeMap::from([
            ("VESTIBULE_ROOT_KEY", String::new()),
            ("VESTIBULE_ROOT_KEY_SECRET", "test/does-not-exist".to_owned()),
            (SECRETS_ENDPOINT, dynamodb_url()),
            ("VESTIBULE_CORS_ORIGINS", "not an origin".to_owned()),
        ]),
        ..DeploymentConfig::default()
    };
    let deployment = Deployment::start(config).await;
    let listed = deployment.run_command(&json!({ "op": "list" })).await;
    assert_eq!(listed["result"]["queues"], json!([]), "{listed}");
}
