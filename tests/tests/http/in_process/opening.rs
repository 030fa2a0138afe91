//! A queue that has not opened yet, as visitors learn of it.

use serde_json::{Value, json};
use vestibule_domain::draw::DrawSeed;
use vestibule_tests::in_process::{ApiRequest, InProcessApi, QUEUE, entry_path};

use super::{enter_and_expect_created, hold_wakeups::poll_request};

super::cases![
    before_the_opening_no_answer_tells_a_place,
    a_draw_can_be_verified_after_the_opening,
];

fn document_request() -> ApiRequest {
    ApiRequest::get(format!("/queues/{QUEUE}"))
}

/// The queue opens in ten seconds.
pub(super) async fn start_scheduled(more: Value) -> (InProcessApi, u64) {
    let api = InProcessApi::start(json!({ "capacity": 2 })).await;
    let opens_at_ms = api.now_ms() + 10_000;
    let mut settings =
        json!({ "capacity": 2, "batch": 1, "interval_seconds": 1, "opens_at_ms": opens_at_ms });
    for (name, value) in more.as_object().into_iter().flatten() {
        settings[name] = value.clone();
    }
    api.configure_line(settings, "2").await;
    api.send_until(document_request, |document| document.body["state"] == "scheduled")
        .await;
    (api, opens_at_ms)
}

fn expect_no_place(body: &Value) {
    for name in [
        "place",
        "lane",
        "position",
        "gone_ahead",
        "estimated_wait_seconds",
        "pass",
    ] {
        assert!(body.get(name).is_none(), "{name} in {body}");
    }
}

async fn before_the_opening_no_answer_tells_a_place() {
    let (api, opens_at_ms) = start_scheduled(json!({})).await;
    let (ada, entered) = enter_and_expect_created(&api).await;
    api.promote().await;
    let document = api
        .send_until(document_request, |document| document.body["waiting"] == 1)
        .await;
    let document = &document.expect_status(200).body;
    assert_eq!(document["opens_at_ms"], opens_at_ms);
    assert_eq!(
        (&document["lanes"], &document["estimated_waits"]),
        (&json!({}), &json!([]))
    );
    assert_eq!(document["waiting"], 1);
    // No poll is held, although the visitor is the first in line.
    let polled = api.send(poll_request(&ada)).await;
    let again = api.send(ApiRequest::enter().visitor(&ada.id)).await;
    for answer in [
        &entered.body,
        &polled.expect_status(200).body,
        &again.expect_status(200).body,
    ] {
        expect_no_place(answer);
        assert_eq!(
            (&answer["state"], &answer["queue_state"]),
            (&json!("waiting"), &json!("scheduled"))
        );
        let look_after_ms = answer["look_after_ms"].as_u64().expect("a time");
        assert!((8_000..=12_000).contains(&look_after_ms), "{answer}");
        assert!(
            answer["retry_after_ms"].as_u64().expect("a time") >= 8_000,
            "{answer}"
        );
    }
    let claimed = api.send(ada.claim()).await;
    claimed.expect_problem(409, "not-your-turn");
    expect_no_place(&claimed.body);
    let validate = ApiRequest::post(format!("{}/validate", entry_path(&ada.token)));
    let validated = api.send(validate.json(&json!({ "visitor": ada.id }))).await;
    validated.expect_problem(409, "not-your-turn");
    expect_no_place(&validated.body);

    api.advance_seconds(10);
    let document = api
        .send_until(document_request, |document| document.body["state"] == "open")
        .await;
    assert!(document.body.get("opens_at_ms").is_none());
    let polled = api
        .send_until(|| ada.status(), |answer| answer.body["position"] == 1)
        .await;
    assert!(polled.body["place"].is_u64(), "{}", polled.body);
    api.promote().await;
    api.send(ada.status()).await.expect_status(200);
    assert_eq!(api.promote().await.promoted, 1);
}

async fn a_draw_can_be_verified_after_the_opening() {
    let draw = json!({ "before_opening": "draw", "draw_anyone": true, "presence_seconds": 0 });
    let (api, _) = start_scheduled(draw).await;
    let mut guests = Vec::new();
    for _ in 0..5 {
        guests.push(enter_and_expect_created(&api).await.0);
    }
    let before = api
        .send_until(document_request, |document| document.body["waiting"] == 5)
        .await;
    assert_eq!(before.body["enter_spread_ms"], 5_000);
    assert!(before.body.get("draw_seed").is_none(), "{}", before.body);

    api.advance_seconds(10);
    let after = api
        .send_until(document_request, |document| document.body["state"] == "open")
        .await;
    let seed = DrawSeed::from_hex(after.text("draw_seed")).expect("a seed");
    assert_eq!(before.text("draw_commitment"), seed.commitment());
    let mut places = Vec::new();
    for guest in &guests {
        let answer = api.send(guest.status()).await;
        let drawn = seed.draw(guest.token.parse().expect("a token"));
        let place = answer.body["place"].as_u64().expect("a place");
        assert_eq!(
            (place % (1 << 49), &answer.body["lane"]),
            (drawn.number(), &json!(4))
        );
        places.push((drawn, guest));
    }
    // The first of the draw is let in first.
    places.sort_by_key(|(drawn, _)| *drawn);
    assert_eq!(api.promote().await.promoted, 1);
    let first = api.send(places[0].1.claim()).await;
    assert_eq!(first.expect_status(200).text("state"), "active");
    let late = enter_and_expect_created(&api).await.1;
    let late_place = late.body["place"].as_u64().expect("a place");
    assert!(late_place & 1 << 49 != 0, "{}", late.body);
}
