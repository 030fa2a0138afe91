//! A deleted queue, as visitors and services learn of it, and a queue of the same name that is created later.

use std::sync::Arc;

use serde_json::json;
use tokio::sync::watch;
use vestibule_backup::{Backup, QueueMetadata, StoredQueue};
use vestibule_backup_file::FileBackup;
use vestibule_domain::{id::Salt, settings::Settings, tombstone::Tombstone};
use vestibule_engine::{
    deletion::delete_queue,
    sync::{SettingsPolicy, build_configuration},
};
use vestibule_faults::Fault;
use vestibule_tests::{
    in_process::{
        ApiRequest, ApiResponse, BOUND, InProcessApi, QUEUE, build_router, entry_path, local_config,
        queue_id, send_to,
    },
    waiting::poll_until,
};

use super::{
    Guest,
    authorizer::{ask, authorizer, event_with_pass},
    enter_and_expect_created,
    hold_wakeups::{UNHELD_MAX, hold_poll_until, poll_request},
};

super::cases![
    every_request_to_a_deleted_queue_gets_410,
    a_held_poll_learns_of_the_deletion,
    without_the_line_the_table_tells_of_the_deletion,
    the_authorizer_denies_passes_of_a_deleted_queue,
    in_a_queue_created_again_nothing_old_counts,
    a_request_finds_that_the_items_were_deleted_by_hand,
];

/// One visitor is active and one waits.
struct Visitors {
    active: Guest,
    pass: String,
    waiting: Guest,
}

async fn start() -> (InProcessApi, Visitors) {
    let settings = json!({
        "capacity": 1, "batch": 1, "interval_seconds": 1, "session_seconds": 20, "on_outage": "open",
    });
    let api = InProcessApi::start(settings).await;
    let (active, entered) = enter_and_expect_created(&api).await;
    let (waiting, _) = enter_and_expect_created(&api).await;
    let visitors = Visitors {
        active,
        pass: entered.text("pass").to_owned(),
        waiting,
    };
    (api, visitors)
}

pub(super) async fn delete(api: &InProcessApi) -> Tombstone {
    let stored = api
        .backup
        .read_queue(&queue_id())
        .await
        .expect("read")
        .expect("is there");
    let deleted = delete_queue(&api.line, &*api.backup, &queue_id(), &stored.metadata).await;
    deleted.expect("deleted").expect("of this epoch")
}

fn document_request() -> ApiRequest {
    ApiRequest::get(format!("/queues/{QUEUE}"))
}

fn service_request(guest: &Guest, route: &str) -> ApiRequest {
    ApiRequest::post(format!("{}/{route}", entry_path(&guest.token)))
}

fn validate_request(visitors: &Visitors) -> ApiRequest {
    service_request(&visitors.active, "validate").json(&json!({ "pass": visitors.pass }))
}

#[track_caller]
fn expect_deleted(response: &ApiResponse) {
    if response.header("cache-control") == "no-store" {
        response.expect_problem(410, "queue-deleted");
    } else {
        response.expect_absent_document(410, "queue-deleted");
    }
    assert_eq!(response.body["min_epoch"], 2, "{response:?}");
}

async fn every_request_to_a_deleted_queue_gets_410() {
    let (api, visitors) = start().await;
    api.send(validate_request(&visitors)).await.expect_status(200);
    let tombstone = delete(&api).await;
    assert_eq!(tombstone.epoch, 2);
    // The process has a snapshot of the queue, and the next request contradicts it.
    expect_deleted(&api.send(ApiRequest::enter()).await);
    let (active, waiting) = (&visitors.active, &visitors.waiting);
    for request in [
        ApiRequest::enter(),
        ApiRequest::enter().visitor(&waiting.id),
        waiting.status(),
        active.status(),
        waiting.claim(),
        waiting.leave(),
        service_request(active, "extend").visitor(&active.id),
        validate_request(&visitors),
        service_request(active, "validate").json(&json!({ "visitor": active.id, "consume": true })),
        service_request(active, "complete"),
        ApiRequest::post(format!("/queues/{QUEUE}/load")).json(&json!({ "tps": 1 })),
    ] {
        expect_deleted(&api.send(request).await);
    }
    let document = api.send(document_request()).await;
    expect_deleted(&document);
    assert_eq!(
        document.header("cache-control"),
        "public, max-age=2",
        "a million readers share it"
    );
    assert_eq!(document.header("access-control-allow-origin"), "*");
    assert!(!document.headers.contains_key("retry-after"), "no retry helps");
}

async fn a_held_poll_learns_of_the_deletion() {
    let (api, visitors) = start().await;
    let (answer, after) = hold_poll_until(&api, poll_request(&visitors.waiting), async || {
        delete(&api).await;
    })
    .await;
    expect_deleted(&answer);
    assert!(after < UNHELD_MAX, "{after:?}");
}

/// Redis is away when the queue is deleted, and still has it. The table knows it first.
async fn without_the_line_the_table_tells_of_the_deletion() {
    let (api, visitors) = start().await;
    let tombstone = Tombstone::new(1, 1, api.now_ms());
    let deleted = api.backup.delete_queue(&queue_id(), 1, &tombstone).await;
    assert!(deleted.expect("an answer"));
    api.faults.fail_all(Fault::Unavailable);
    expect_deleted(
        &api.send_until(|| visitors.waiting.status(), |answer| answer.status == 410)
            .await,
    );
    expect_deleted(&api.send(validate_request(&visitors)).await);
}

async fn the_authorizer_denies_passes_of_a_deleted_queue() {
    let (api, visitors) = start().await;
    let authorizer = authorizer(&api);
    ask(&authorizer, event_with_pass(&visitors.pass))
        .await
        .expect_allowed();
    delete(&api).await;
    let denied = ask(&authorizer, event_with_pass(&visitors.pass)).await;
    denied.expect_denied("queue-deleted");
    assert_eq!(denied.context["retry_after_seconds"], 0);
}

async fn in_a_queue_created_again_nothing_old_counts() {
    let (api, visitors) = start().await;
    let tombstone = delete(&api).await;
    expect_deleted(&api.send(ApiRequest::enter()).await);
    let stored = StoredQueue {
        settings: Settings::default().to_map().into(),
        settings_order: 0,
        metadata: QueueMetadata::after_deletion(&tombstone, Salt::new([7; 32])),
    };
    assert!(
        api.backup
            .create_queue(&queue_id(), &stored)
            .await
            .expect("created")
    );
    let again = build_configuration(&stored, SettingsPolicy::default()).expect("valid");
    api.line
        .configure(&queue_id(), &again, true)
        .await
        .expect("created");
    let document = api
        .send_until(document_request, |document| document.status == 200)
        .await;
    assert_eq!(
        (document.number("generation"), document.number("min_epoch")),
        (2, 3)
    );

    let refused = api.send(validate_request(&visitors)).await;
    refused.expect_problem(403, "invalid-pass");
    let unknown = ApiRequest::get(entry_path(&visitors.waiting.token));
    api.send(unknown).await.expect_problem(404, "unknown-entry");
    api.send(visitors.waiting.status())
        .await
        .expect_problem(403, "token-owner-mismatch");
    let entered = api.send(ApiRequest::enter().visitor(&visitors.waiting.id)).await;
    assert_ne!(entered.expect_status(201).text("token"), visitors.waiting.token);
}

/// Both items are gone, and no promoter runs. The tombstone is in the line alone.
async fn a_request_finds_that_the_items_were_deleted_by_hand() {
    let (api, visitors) = start().await;
    let folder = tempfile::tempdir().expect("a folder");
    let emptied = FileBackup::open(folder.path().join("store")).expect("a new store");
    let (_, shutdown) = watch::channel(false);
    let line = api.line.clone();
    let process = build_router(line, Arc::new(emptied), local_config(), &shutdown);
    let answer = poll_until(
        BOUND,
        async || send_to(&process, ApiRequest::enter()).await,
        |answer| answer.status == 410,
    )
    .await;
    answer.expect_problem(410, "queue-deleted");
    assert!(
        answer.number("min_epoch") > 1_000,
        "above each epoch that the item may have had"
    );
    let status = send_to(&process, visitors.waiting.status()).await;
    status.expect_problem(410, "queue-deleted");
}
