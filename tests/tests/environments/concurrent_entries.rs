//! Several processes of the function `enter` at once, with one line.

use std::collections::{HashMap, HashSet};

use futures_util::{StreamExt, stream};
use serde_json::json;
use uuid::Uuid;
use vestibule_tests::{
    api::{ApiRequest, Guest},
    functions::DeploymentConfig,
};

use crate::Stage;

const ENVIRONMENTS: usize = 4;
const VISITORS: usize = 12;
/// The requests per visitor, because a client that gets no answer tries again.
const TRIES: usize = 5;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_enters_give_each_visitor_one_place() {
    let config = DeploymentConfig {
        environments_max: ENVIRONMENTS,
        ..DeploymentConfig::default()
    };
    let stage = Stage::open(config, json!({ "paused": true })).await;
    let visitors: Vec<_> = (0..VISITORS).map(|_| Uuid::new_v4().to_string()).collect();
    let tries = (0..TRIES).flat_map(|_| &visitors);
    let answers: Vec<_> = stream::iter(tries)
        .map(async |visitor| {
            (
                visitor,
                stage.send(Guest::enter(stage.queue.as_str(), visitor)).await,
            )
        })
        .buffer_unordered(ENVIRONMENTS)
        .collect()
        .await;
    assert_eq!(
        stage.deployment.lambda.started_count("enter"),
        ENVIRONMENTS,
        "all processes were started"
    );

    let (mut tokens, mut new) = (HashMap::<_, HashSet<_>>::new(), HashMap::<_, usize>::new());
    for (visitor, answer) in &answers {
        assert!(
            answer.status.is_success() && answer.body["durable"] == true,
            "{answer:?}"
        );
        let place = (
            answer.text("token"),
            answer.number("visit"),
            answer.number("joined_at_ms"),
        );
        tokens.entry(visitor).or_default().insert(place);
        *new.entry(visitor).or_default() += usize::from(answer.status == 201);
    }
    assert!(
        tokens.values().all(|places| places.len() == 1),
        "a visitor has two places: {tokens:?}"
    );
    assert!(
        new.values().all(|new| *new == 1),
        "each visitor's place is new in one answer: {new:?}"
    );

    let mut positions = HashSet::new();
    for (_, place) in tokens {
        let (token, ..) = place.into_iter().next().expect("one");
        let path = format!("/queues/{}/entries/{token}", stage.queue);
        let status = stage.send(ApiRequest::get(path)).await;
        positions.insert(status.expect_status(200).number("position"));
    }
    assert_eq!(
        positions,
        (1..=VISITORS as u64).collect(),
        "no two visitors have the same position"
    );
    assert_eq!(stage.view().await.waiting, VISITORS as u64);
}
