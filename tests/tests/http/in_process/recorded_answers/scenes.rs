//! What visitors and the protected service are told while all goes well, and in an outage.

use serde_json::{Value, json};
use vestibule_faults::Fault;
use vestibule_tests::in_process::{ApiRequest, InProcessApi, QUEUE, entry_path};

use super::{
    super::{
        Guest, enter_and_expect_created, enter_silently, new_visitor_id,
        opening::start_scheduled,
        start_full_queue,
        tickets::{TicketScene, with_ticket},
    },
    recording::Recording,
};

pub(super) async fn record(recording: &mut Recording) {
    record_visit(recording).await;
    record_far_visitor(recording).await;
    record_lanes(recording).await;
    record_states(recording).await;
    record_draw(recording).await;
    record_outage(recording).await;
    record_pages(recording).await;
}

pub(super) fn document() -> ApiRequest {
    ApiRequest::get(format!("/queues/{QUEUE}"))
}

pub(super) fn service(guest: &Guest, route: &str, body: &Value) -> ApiRequest {
    ApiRequest::post(format!("{}/{route}", entry_path(&guest.token))).json(body)
}

fn load(body: &Value) -> ApiRequest {
    ApiRequest::post(format!("/queues/{QUEUE}/load")).json(body)
}

async fn enter(recording: &mut Recording, api: &InProcessApi, title: &str) -> (Guest, Value) {
    let id = new_visitor_id();
    let entered = recording.send(api, title, ApiRequest::enter().visitor(&id)).await;
    (Guest::from_response(id, &entered), entered.body)
}

async fn record_visit(recording: &mut Recording) {
    let api = InProcessApi::start(json!({
        "capacity": 1, "batch": 1, "interval_seconds": 1, "session_seconds": 3_600, "leave_on_close": true,
        "target_url": "https://shop.example/?pass={pass}", "message": { "default": "en", "en": "Soon", "ko": "곧" },
    }))
    .await;
    recording
        .send(&api, "the document of an empty queue", document())
        .await;
    let (ada, entered) = enter(recording, &api, "a visitor is let in at once").await;
    let pass = json!({ "pass": entered["pass"] });
    let (bob, _) = enter(recording, &api, "a visitor waits").await;
    recording
        .send(&api, "a visitor whose id the server draws", ApiRequest::enter())
        .await;
    recording
        .send(
            &api,
            "a visitor enters again",
            ApiRequest::enter().visitor(&bob.id),
        )
        .await;
    recording.send(&api, "a poll of the visitor", bob.status()).await;
    let alone = ApiRequest::get(entry_path(&bob.token));
    recording.send(&api, "a poll with the token alone", alone).await;
    recording
        .send(&api, "a poll of an active visitor", ada.status())
        .await;
    let alone = ApiRequest::get(entry_path(&ada.token));
    recording
        .send(&api, "an active entry for its token alone", alone)
        .await;
    recording.send(&api, "a claim too early", bob.claim()).await;
    recording
        .send(&api, "a valid pass", service(&ada, "validate", &pass))
        .await;
    let extend = json!({ "pass": entered["pass"], "extend": true, "seconds": 7_200 });
    recording
        .send(
            &api,
            "a pass that extends the session",
            service(&ada, "validate", &extend),
        )
        .await;
    let extend = service(&ada, "extend", &json!({ "seconds": 600 })).visitor(&ada.id);
    recording
        .send(&api, "the visitor extends the session", extend)
        .await;
    let extend = service(&ada, "extend", &json!({ "visit": 1 })).visitor(&ada.id);
    recording
        .send(&api, "the visitor extends another visit", extend)
        .await;
    let closing = ApiRequest::delete(format!("{}?closed=true", entry_path(&bob.token))).visitor(&bob.id);
    recording.send(&api, "the visitor closes the page", closing).await;
    recording.send(&api, "the visitor is back", bob.status()).await;
    recording
        .send(&api, "the load", load(&json!({ "tps": 3, "latency_ms": 20 })))
        .await;
    recording
        .send(
            &api,
            "the service is not healthy",
            load(&json!({ "healthy": false })),
        )
        .await;
    record_ends(recording, &api, [ada, bob], &pass).await;
}

/// The active visitor completes, and the one who waits has the turn.
async fn record_ends(recording: &mut Recording, api: &InProcessApi, [ada, bob]: [Guest; 2], pass: &Value) {
    recording
        .send(
            api,
            "the service completes the visit",
            service(&ada, "complete", pass),
        )
        .await;
    recording.send(api, "a completed entry", ada.status()).await;
    recording
        .send(
            api,
            "a pass of a completed entry",
            service(&ada, "validate", pass),
        )
        .await;
    api.advance_seconds(2);
    api.promote().await;
    recording
        .send(api, "a poll of a ready visitor", bob.status())
        .await;
    recording.send(api, "the visitor claims", bob.claim()).await;
    let consume = json!({ "visitor": bob.id, "consume": true });
    recording
        .send(
            api,
            "the service consumes the visit",
            service(&bob, "validate", &consume),
        )
        .await;
    recording
        .send(
            api,
            "the visitor enters anew",
            ApiRequest::enter().visitor(&ada.id),
        )
        .await;
    recording.send(api, "the visitor leaves", ada.leave()).await;
    recording.send(api, "an entry that left", ada.status()).await;
    recording.send(api, "the visitor leaves again", ada.leave()).await;
}

async fn record_far_visitor(recording: &mut Recording) {
    let api = start_full_queue(json!({ "session_seconds": 10 })).await;
    for _ in 0..600 {
        enter_and_expect_created(&api).await;
    }
    api.promote().await;
    api.advance_seconds(2);
    let (far, _) = enter_silently(&api).await;
    let is_far =
        |answer: &vestibule_tests::in_process::ApiResponse| answer.body.get("look_after_ms").is_some();
    let answer = api.send_until(|| far.status(), is_far).await;
    recording.add("a poll far from the head", "GET …", &answer);
}

async fn record_lanes(recording: &mut Recording) {
    let settings = json!({
        "capacity": 1, "batch": 1, "interval_seconds": 1, "session_seconds": 10, "presence_seconds": 0,
        "lane_share": 30,
    });
    let scene = TicketScene::start(settings).await;
    for (visitor, lane) in [("first", 4), ("vip", 0), ("second", 4), ("late", 7)] {
        let ticket = scene
            .shop
            .sign(&scene.claims_with(&json!({ "sub": visitor, "lane": lane })));
        let title = format!("a ticket for lane {lane}");
        recording.send(&scene.api, &title, with_ticket(&ticket)).await;
    }
    scene.api.advance_seconds(20);
    scene.api.promote().await;
    let shows_lanes = |answer: &vestibule_tests::in_process::ApiResponse| {
        answer.body["waiting"] == 2 && answer.body["lanes"]["4"].is_object()
    };
    let answer = scene.api.send_until(document, shows_lanes).await;
    recording.add("the document of lanes", "GET …", &answer);
}

/// What the document and the answer to a newcomer say in each state of a queue.
async fn record_states(recording: &mut Recording) {
    for (name, value) in [
        ("paused", json!(true)),
        ("mode", json!("passthrough")),
        ("entrance", json!("draining")),
        ("entrance", json!("closed")),
        ("entrance", json!("sold_out")),
        ("queue_limit", json!(1)),
    ] {
        let mut settings = json!({ "capacity": 1, "batch": 1, "message": "hello" });
        let title = format!("{name}: {value}");
        settings[name] = value;
        let api = InProcessApi::start(settings).await;
        recording.send(&api, &title, document()).await;
        for _ in 0..2 {
            api.send(ApiRequest::enter()).await;
        }
        let newcomer = ApiRequest::enter().visitor(&new_visitor_id());
        recording.send(&api, &title, newcomer).await;
    }
    // Within the grace a missed turn is not lost.
    let api = start_full_queue(json!({ "session_seconds": 20, "interval_seconds": 10 })).await;
    let (guest, _) = enter_and_expect_created(&api).await;
    api.advance_seconds(20);
    api.promote().await;
    api.advance_seconds(60);
    api.promote().await;
    recording.send(&api, "a missed turn", guest.status()).await;
    recording
        .send(
            &api,
            "a return within the grace",
            ApiRequest::enter().visitor(&guest.id),
        )
        .await;
    let api = InProcessApi::start(json!({ "fast_track": false, "waiting_seconds_max": 60 })).await;
    let (guest, _) = enter_silently(&api).await;
    api.advance_seconds(61);
    api.promote().await;
    recording.send(&api, "an overlong wait", guest.status()).await;
}

async fn record_draw(recording: &mut Recording) {
    let draw = json!({ "before_opening": "draw", "draw_anyone": true, "presence_seconds": 0 });
    let (api, _) = start_scheduled(draw).await;
    let (guest, _) = enter(recording, &api, "before the opening").await;
    let has_entry = |answer: &vestibule_tests::in_process::ApiResponse| answer.body["waiting"] == 1;
    recording.add(
        "the document before the opening",
        "GET …",
        &api.send_until(document, has_entry).await,
    );
    recording
        .send(&api, "a claim before the opening", guest.claim())
        .await;
    api.advance_seconds(10);
    let is_open = |answer: &vestibule_tests::in_process::ApiResponse| answer.body["state"] == "open";
    recording.add(
        "the document after the draw",
        "GET …",
        &api.send_until(document, is_open).await,
    );
    recording
        .send(&api, "the place that was drawn", guest.status())
        .await;
}

async fn record_outage(recording: &mut Recording) {
    for on_outage in ["open", "closed"] {
        let settings = json!({ "capacity": 1, "batch": 1, "session_seconds": 3_600, "on_outage": on_outage });
        let api = InProcessApi::start(settings).await;
        let (ada, entered) = enter_and_expect_created(&api).await;
        let (bob, _) = enter_and_expect_created(&api).await;
        api.send(bob.status()).await.expect_status(200);
        api.faults.fail_all(Fault::Unavailable);
        let title = format!("without the line, on_outage {on_outage}");
        recording.send(&api, &title, bob.status()).await;
        recording.send(&api, &title, ada.status()).await;
        recording
            .send(&api, &title, ApiRequest::enter().visitor(&new_visitor_id()))
            .await;
        recording
            .send(&api, &title, ApiRequest::enter().visitor(&bob.id))
            .await;
        recording.send(&api, &title, bob.claim()).await;
        recording.send(&api, &title, bob.leave()).await;
        let pass = json!({ "pass": entered.text("pass") });
        recording
            .send(&api, &title, service(&ada, "validate", &pass))
            .await;
        recording
            .send(&api, &title, service(&ada, "complete", &pass))
            .await;
        recording.send(&api, &title, load(&json!({ "tps": 3 }))).await;
        api.backup_faults.fail_all(Fault::Unavailable);
        let title = format!("without line and backup, on_outage {on_outage}");
        recording.send(&api, &title, bob.status()).await;
        recording
            .send(&api, &title, ApiRequest::enter().visitor(&new_visitor_id()))
            .await;
        recording
            .send(&api, &title, service(&ada, "validate", &pass))
            .await;
    }
}

async fn record_pages(recording: &mut Recording) {
    let api = InProcessApi::start(json!({})).await;
    recording
        .send(&api, "the keys", ApiRequest::get("/.well-known/jwks.json"))
        .await;
    let start = ApiRequest::get(format!("/queues/{QUEUE}/entries"));
    recording
        .send(&api, "the page from which visitors enter", start)
        .await;
    let preflight = ApiRequest::new(
        "OPTIONS".parse().expect("a method"),
        format!("/queues/{QUEUE}/entries"),
    );
    let preflight = preflight
        .header("origin", "https://shop.example")
        .header("access-control-request-method", "POST");
    recording.send(&api, "a preflight", preflight).await;
}
