//! What each refusal says, to visitors and services, and to operators.

use serde_json::{Map, json};
use vestibule_admin::Invocation;
use vestibule_api::{
    config::{ApiConfig, ServiceRoutes, VisitorRequests, VisitorsBy},
    origin_key::OriginKey,
};
use vestibule_backup::{Backup, StoredQueue};
use vestibule_domain::right::Right;
use vestibule_line::LeaveReason;
use vestibule_tests::{
    in_process::{
        ApiRequest, BOUND, InProcessApi, QUEUE, entry_path, event, local_config, queue_id, send_to,
        with_claims, with_header,
    },
    waiting::poll_until,
};

use super::{
    super::{
        attack::admin,
        backup_unavailable::start_with_limits,
        deleted_queue, enter_and_expect_created, enter_silently,
        identity_missing::behind_an_authorizer,
        new_visitor_id, root_key,
        sources::{ATTACKER, behind_distribution_with, enter_event},
        tickets::{TicketScene, with_ticket},
    },
    recording::Recording,
    scenes::{document, service},
};

pub(super) async fn record(recording: &mut Recording) {
    record_requests(recording).await;
    record_visitors(recording).await;
    record_tickets(recording).await;
    record_deployments(recording).await;
    record_queues(recording).await;
    record_floods(recording).await;
    record_commands(recording).await;
}

/// Requests that are no requests of this API.
async fn record_requests(recording: &mut Recording) {
    let api = InProcessApi::start(json!({ "capacity": 1 })).await;
    let (ada, _) = enter_and_expect_created(&api).await;
    let unknown = new_visitor_id();
    let entries = || ApiRequest::post(format!("/queues/{QUEUE}/entries"));
    let get = |path: String| ApiRequest::get(path);
    let entry = entry_path(&ada.token);
    for (title, request) in [
        ("an unknown route", get("/queues".to_owned())),
        (
            "a method that the route does not accept",
            ApiRequest::post(format!("/queues/{QUEUE}")),
        ),
        ("a queue that does not exist", get("/queues/none".to_owned())),
        ("an id that is none", get("/queues/-".to_owned())),
        ("a token that is none", get(entry_path("x"))),
        (
            "an entry that does not exist",
            get(entry_path("00000000-0000-8000-8000-000000000000")),
        ),
        ("a visitor id that is none", entries().visitor("me")),
        (
            "a visit that is none",
            ApiRequest::delete(format!("{entry}?visit=x")).visitor(&ada.id),
        ),
        (
            "a wait that is none",
            get(format!("{entry}?wait=long")).visitor(&ada.id),
        ),
        ("a body that is no JSON", entries().raw("application/json", "{")),
        (
            "a body that is too large",
            entries().raw("application/json", "x".repeat(100_000)),
        ),
        ("a body of another type", entries().raw("text/plain", "hello")),
        (
            "headers that are too large",
            entries().header("cookie", &"a,".repeat(10_000)),
        ),
        (
            "an unknown field",
            service(&ada, "validate", &json!({ "passs": "x" })),
        ),
        ("neither visitor nor pass", service(&ada, "validate", &json!({}))),
        (
            "a number that is none",
            ApiRequest::post(format!("/queues/{QUEUE}/load")).json(&json!({ "tps": -1 })),
        ),
        (
            "a pass that is none",
            service(&ada, "validate", &json!({ "pass": "x" })),
        ),
        (
            "a page of another site",
            entries()
                .raw("text/plain", "")
                .header("origin", "https://evil.example"),
        ),
        ("another visitor", get(entry.clone()).visitor(&unknown)),
        (
            "another visitor leaves",
            ApiRequest::delete(entry.clone()).visitor(&unknown),
        ),
        ("no visitor leaves", ApiRequest::delete(entry.clone())),
        ("no visitor claims", ApiRequest::post(format!("{entry}/claim"))),
    ] {
        recording.send(&api, title, request).await;
    }
}

/// Visits that have ended, and another visit than the named one.
async fn record_visitors(recording: &mut Recording) {
    let api = InProcessApi::start(
        json!({ "capacity": 1, "batch": 1, "interval_seconds": 1, "session_seconds": 60 }),
    )
    .await;
    let (ada, entered) = enter_and_expect_created(&api).await;
    let (bob, _) = enter_and_expect_created(&api).await;
    let id = bob.token.parse().expect("a token");
    let evicted = api.line.leave(&queue_id(), id, None, LeaveReason::Evict).await;
    evicted.expect("evicted");
    recording.send(&api, "an evicted entry", bob.status()).await;
    api.send(ada.leave()).await.expect_status(204);
    api.send(ApiRequest::enter().visitor(&ada.id)).await;
    let old = json!({ "pass": entered.text("pass") });
    recording
        .send(
            &api,
            "a pass of an earlier visit",
            service(&ada, "validate", &old),
        )
        .await;
    api.advance_seconds(3_600);
    api.promote().await;
    recording
        .send(&api, "a session that has ended", ada.status())
        .await;
}

async fn record_tickets(recording: &mut Recording) {
    let scene = TicketScene::start(json!({})).await;
    recording
        .send(
            &scene.api,
            "no ticket",
            ApiRequest::enter().visitor(&new_visitor_id()),
        )
        .await;
    for (changes, title) in [
        (json!({ "sub": null }), "a ticket without a visitor"),
        (json!({ "lane": 8 }), "a ticket with a lane that is none"),
        (json!({ "aud": "other" }), "a ticket of another queue"),
        (json!({ "exp": 1 }), "a ticket that has ended"),
        (
            json!({ "nbf": 9_000_000_000_u64 }),
            "a ticket that does not count yet",
        ),
    ] {
        let ticket = scene.shop.sign(&scene.claims_with(&changes));
        recording.send(&scene.api, title, with_ticket(&ticket)).await;
    }
    recording
        .send(&scene.api, "a ticket that is none", with_ticket("x"))
        .await;
    let entered = recording
        .send(&scene.api, "a good ticket", with_ticket(&scene.ticket("ada")))
        .await;
    assert!(entered.status.is_success(), "{entered:?}");
}

/// Refusals that depend on how the stack was deployed.
async fn record_deployments(recording: &mut Recording) {
    let enter = event("POST", "/queues/{queue}/entries", &json!({ "queue": QUEUE }));
    let api = InProcessApi::start_with_config(behind_an_authorizer(), json!({})).await;
    recording
        .send_event(&api, "an authorizer that names no visitor", &enter)
        .await;
    let ada = with_claims(enter.clone(), &json!({ "sub": "ada" }));
    recording
        .send_event(&api, "a visitor whom the authorizer names", &ada)
        .await;

    let key = OriginKey::new("the-secret-of-the-distribution").expect("long enough");
    let api = behind_distribution_with(Ok(key), VisitorsBy::Distribution).await;
    recording
        .send_event(&api, "a way around the distribution", &enter)
        .await;

    let guarded = ApiConfig {
        service_routes: ServiceRoutes::ApiKey,
        ..ApiConfig::default()
    };
    let api = InProcessApi::start_with_config(guarded, json!({})).await;
    let mut load = event("POST", "/queues/{queue}/load", &json!({ "queue": QUEUE }));
    load["body"] = json!("{\"tps\":1}");
    let load = with_header(load, "Content-Type", "application/json");
    recording
        .send_event(&api, "a caller without the key of the service", &load)
        .await;

    let api = InProcessApi::start(json!({ "capacity": 1 })).await;
    let admin = admin(&api);
    let entered = api.send_event(&enter_event(ATTACKER)).await;
    let command = json!({ "op": "block", "queue": QUEUE, "token": entered.text("token") });
    assert_eq!(admin.handle(command).await["ok"], true);
    let again = with_header(enter_event(ATTACKER), "X-Visitor-Id", entered.text("visitor"));
    let send = async || api.send_event(&again).await;
    let blocked = poll_until(BOUND, send, |response| response.status == 403).await;
    recording.add("a visitor who is blocked", "POST …", &blocked);
}

/// Queues that are gone, full, lost, or of another root key.
async fn record_queues(recording: &mut Recording) {
    let api = InProcessApi::start(json!({ "capacity": 1 })).await;
    let (ada, _) = enter_and_expect_created(&api).await;
    poll_until(BOUND, async || root_key::recorded(&api).await, Option::is_some).await;
    root_key::sync(&api).await;
    let other = api.start_process_with_keys(root_key::other_key());
    let refused = send_to(&other, ada.status()).await;
    recording.add("another root key", "GET …", &refused);
    deleted_queue::delete(&api).await;
    recording.send(&api, "a deleted queue", ada.status()).await;
    recording
        .send(&api, "the document of a deleted queue", document())
        .await;

    let api = InProcessApi::start(json!({})).await;
    let stored = api.backup.read_queue(&queue_id()).await.expect("a response");
    let stored = StoredQueue {
        settings: Map::new().into(),
        ..stored.expect("the queue exists")
    };
    let id = "lost".parse().expect("a queue id");
    assert!(api.backup.create_queue(&id, &stored).await.expect("stored"));
    recording
        .send(
            &api,
            "a queue that the line lost",
            ApiRequest::get("/queues/lost"),
        )
        .await;

    let api = start_with_limits(1, 1).await;
    let (ada, _) = enter_and_expect_created(&api).await;
    api.promote().await;
    let newcomer = ApiRequest::enter().visitor(&new_visitor_id());
    recording
        .send(&api, "a newcomer while the journal is full", newcomer)
        .await;
    recording
        .send(&api, "a change while the journal is full", ada.leave())
        .await;
    let unknown = ApiRequest::get(entry_path(&ada.token));
    recording
        .send(&api, "a visit whose record cannot be read", unknown)
        .await;
}

async fn record_floods(recording: &mut Recording) {
    let limited = ApiConfig {
        visitor_requests: VisitorRequests {
            at_once: 2,
            per_second: 1,
        },
        ..local_config()
    };
    let api = InProcessApi::start_with_config(limited, json!({})).await;
    let (ada, _) = enter_silently(&api).await;
    for _ in 0..2 {
        api.send(ada.claim()).await;
    }
    recording
        .send(&api, "a visitor who asks too often", ada.claim())
        .await;
}

/// Commands of operators that are refused.
async fn record_commands(recording: &mut Recording) {
    let api = InProcessApi::start(json!({ "capacity": 1 })).await;
    let (ada, _) = enter_and_expect_created(&api).await;
    let (bob, _) = enter_and_expect_created(&api).await;
    let admin = admin(&api);
    for command in [
        json!("pause"),
        json!({ "op": "explode" }),
        json!({ "op": "stats" }),
        json!({ "op": "stats", "queue": "none" }),
        json!({ "op": "stats", "queue": QUEUE, "colour": "red" }),
        json!({ "op": "create", "queue": "new", "settings": { "capacity": -1 } }),
        json!({ "op": "create", "queue": QUEUE, "settings": { "capacity": 7 } }),
        json!({ "op": "update", "queue": QUEUE, "settings": { "blocked": [] } }),
        json!({ "op": "finish", "queue": QUEUE }),
        json!({ "op": "lane", "queue": QUEUE, "token": ada.token, "lane": 0 }),
        json!({ "op": "promote", "queue": QUEUE, "token": bob.token }),
        json!({ "op": "inspect", "queue": QUEUE, "token": "00000000-0000-8000-8000-000000000000" }),
        json!({ "op": "rotate" }),
    ] {
        recording.add_command(&command, &admin.handle(command.clone()).await);
    }
    let reader = Invocation {
        right: Right::Look,
        ..Invocation::default()
    };
    let command = json!({ "op": "pause", "queue": QUEUE });
    recording.add_command(&command, &admin.handle_as(command.clone(), &reader).await);
    api.store_settings(json!({ "batsh": 7 })).await;
    let command = json!({ "op": "update", "queue": QUEUE, "settings": { "batch": 2 } });
    recording.add_command(&command, &admin.handle(command.clone()).await);
    deleted_queue::delete(&api).await;
    recording.add_command(&command, &admin.handle(command.clone()).await);
}
