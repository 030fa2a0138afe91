//! Another root key than the one with which the queue was made: a secret was replaced, or a parameter names the wrong one.

use serde_json::json;
use vestibule_api::config::Keys;
use vestibule_backup::Backup;
use vestibule_domain::{configuration::Configuration, id::RootKey};
use vestibule_line::ConfigureOutcome;
use vestibule_tests::{
    api::new_visitor_id,
    in_process::{ApiRequest, BOUND, InProcessApi, QUEUE, entry_path, keys, queue_id, send_to},
    waiting::poll_until,
};

super::cases![
    nothing_is_served_with_another_root_key,
    a_queue_without_a_root_key_gets_the_present_one,
];

pub(super) fn other_key() -> Keys {
    Keys {
        root: RootKey::new(vec![9; 32]).expect("long enough"),
        ..keys()
    }
}

/// What the backup has of the root key of the queue.
pub(super) async fn recorded(api: &InProcessApi) -> Option<String> {
    let stored = api.backup.read_queue(&queue_id()).await.expect("an answer");
    let root = stored.expect("the queue").metadata.salt.root();
    root.map(|root| root.to_string())
}

/// Brings what the backup has into the line, as the promoter does. The settings are the same.
pub(super) async fn sync(api: &InProcessApi) {
    let stored = api.backup.read_queue(&queue_id()).await.expect("an answer");
    let in_force = api
        .line
        .queue_view(&queue_id())
        .await
        .expect("the queue")
        .view
        .configuration;
    let synced = Configuration {
        salt: stored.expect("the queue").metadata.salt,
        ..in_force
    };
    let configured = api.line.configure(&queue_id(), &synced, false).await;
    assert_eq!(configured.expect("an answer"), ConfigureOutcome::Unchanged);
    api.drop_shared_view().await;
}

async fn a_queue_without_a_root_key_gets_the_present_one() {
    let api = InProcessApi::start(json!({})).await;
    assert_eq!(recorded(&api).await, None);
    api.send(ApiRequest::enter().visitor(&new_visitor_id()))
        .await
        .expect_status(201);
    let root = poll_until(BOUND, async || recorded(&api).await, Option::is_some).await;
    assert_eq!(root, Some(keys().root.fingerprint().to_string()));
    // A process with another key comes too late, also before the line knows.
    let other = api.start_process_with_keys(other_key());
    send_to(&other, ApiRequest::get(format!("/queues/{QUEUE}"))).await;
    assert_eq!(recorded(&api).await, root);
    sync(&api).await;
    let view = api.line.queue_view(&queue_id()).await.expect("the queue");
    assert_eq!(view.configuration.salt.root(), Some(keys().root.fingerprint()));
}

async fn nothing_is_served_with_another_root_key() {
    let api = InProcessApi::start(json!({ "capacity": 1 })).await;
    let visitor = new_visitor_id();
    let entered = api.send(ApiRequest::enter().visitor(&visitor)).await;
    let token = entered.expect_status(201).text("token").to_owned();
    poll_until(BOUND, async || recorded(&api).await, Option::is_some).await;
    sync(&api).await;
    let other = api.start_process_with_keys(other_key());
    let path = entry_path(&token);
    let pass = entered.text("pass");
    for request in [
        ApiRequest::enter().visitor(&visitor),
        ApiRequest::get(&path),
        ApiRequest::get(&path).visitor(&visitor),
        ApiRequest::post(format!("{path}/claim")).visitor(&visitor),
        ApiRequest::post(format!("{path}/extend")).visitor(&visitor),
        ApiRequest::delete(&path).visitor(&visitor),
        ApiRequest::post(format!("{path}/validate")).json(&json!({ "pass": pass })),
        ApiRequest::post(format!("{path}/validate")).json(&json!({ "visitor": visitor })),
        ApiRequest::post(format!("{path}/complete")).json(&json!({ "pass": pass })),
        ApiRequest::post(format!("/queues/{QUEUE}/load"))
            .json(&json!({ "tps": 1, "latency_ms": 1, "healthy": true })),
    ] {
        let refused = send_to(&other, request).await;
        refused.expect_problem(503, "other-root-key");
    }
    // Caches may keep the absence of a document for two seconds.
    let document = send_to(&other, ApiRequest::get(format!("/queues/{QUEUE}"))).await;
    assert_eq!(
        (document.status.as_u16(), document.text("code")),
        (503, "other-root-key")
    );
    // No place is lost: the right key finds it as it was.
    let again = api.send(ApiRequest::get(&path).visitor(&visitor)).await;
    assert_eq!(again.expect_status(200).text("state"), "active");
}
