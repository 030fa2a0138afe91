//! Requests for a queue or an entry that neither Redis nor the table has. Each function asks the table, and says what it found.

use futures_util::future::join_all;
use serde_json::json;
use uuid::Uuid;
use vestibule_domain::id::{IdKey, Visitor};
use vestibule_tests::{
    entries::fresh_id,
    functions::{API_KEY, DeploymentConfig, root_key},
    in_process::ApiRequest,
};

use crate::{Stage, authorize};

/// Asks each function that serves entries about one, and expects this problem of all.
async fn expect_problem_of_each(stage: &Stage, queue: &str, token: &str, visitor: &str, code: &str) {
    let entry = format!("/queues/{queue}/entries/{token}");
    let requests = [
        ApiRequest::delete(entry.clone()).visitor(visitor),
        ApiRequest::get(entry.clone()).visitor(visitor),
        ApiRequest::post(format!("{entry}/claim")).visitor(visitor),
        ApiRequest::post(format!("{entry}/complete")).header("x-api-key", API_KEY),
    ];
    for answer in join_all(requests.map(|request| stage.send(request))).await {
        answer.expect_problem(404, code);
    }
    let headers = json!({
        "authorization": format!("Bearer {token}"), "x-visitor-id": visitor, "x-vestibule-queue": queue,
    });
    let denied = authorize(&stage.deployment, &headers).await;
    assert_eq!(
        (&denied["isAuthorized"], &denied["context"]["reason"]),
        (&json!(false), &json!(code))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_function_says_that_the_queue_is_unknown() {
    let stage = Stage::open(DeploymentConfig::default(), json!({})).await;
    let visitor = Uuid::new_v4().to_string();
    let token = fresh_id().to_string();
    expect_problem_of_each(&stage, "test:absent", &token, &visitor, "unknown-queue").await;
    let enter = ApiRequest::post("/queues/test:absent/entries").visitor(&visitor);
    stage.send(enter).await.expect_problem(404, "unknown-queue");
    let document = stage.send(ApiRequest::get("/queues/test:absent")).await;
    document.expect_absent_document(404, "unknown-queue");
}

/// The visitor has never entered, so the token that belongs to the visitor id names no entry.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_function_says_that_the_entry_is_unknown() {
    let stage = Stage::open(DeploymentConfig::default(), json!({})).await;
    let visitor = Uuid::new_v4().to_string();
    let salt = stage.view().await.configuration.salt;
    let ids = IdKey::derive_for_queue(&root_key(), &stage.queue, &salt).expect("the key of the salt");
    let token = ids.entry_id(&Visitor::anonymous(&visitor).expect("a visitor id"));
    let (queue, token) = (stage.queue.as_str(), token.to_string());
    expect_problem_of_each(&stage, queue, &token, &visitor, "unknown-entry").await;
}
