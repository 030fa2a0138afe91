//! An attack from one address: what an operator sees and does, and what is stored of the address.

use std::fs;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use uuid::Uuid;
use vestibule_admin::Admin;
use vestibule_engine::sync::SettingsPolicy;
use vestibule_tests::{
    functions::{fixed_signing_keys, root_key},
    in_process::{ApiRequest, ApiResponse, BOUND, InProcessApi, QUEUE, entry_path, with_header},
    waiting::poll_until,
};

use super::{
    enter_and_expect_created, new_visitor_id,
    sources::{ATTACKER, enter_event, enter_event_v2, entered_source, source_of},
    tickets::{TicketScene, with_ticket},
};

super::cases![
    a_blocked_source_or_visitor_cannot_enter,
    a_flood_from_one_address_is_seen_evicted_and_kept_out,
    no_address_is_stored,
    no_visitor_id_pass_or_ticket_is_stored,
];

pub(super) fn admin(api: &InProcessApi) -> Admin {
    Admin {
        line: api.line.clone(),
        backup: api.backup.clone(),
        root_key: root_key().into(),
        policy: SettingsPolicy::default(),
        signing_keys: fixed_signing_keys(),
    }
}

async fn command(admin: &Admin, command: Value) -> Value {
    let answer = admin.handle(command.clone()).await;
    assert_eq!(answer["ok"], true, "{command}: {answer}");
    answer["result"].clone()
}

async fn enter_until(api: &InProcessApi, event: impl Fn() -> Value, status: u16) -> ApiResponse {
    // A process learns of new settings within two seconds.
    poll_until(
        BOUND,
        async || api.send_event(&event()).await,
        |response| response.status.as_u16() == status,
    )
    .await
}

async fn a_blocked_source_or_visitor_cannot_enter() {
    let api = InProcessApi::start(json!({ "capacity": 1 })).await;
    let admin = admin(&api);
    let bad = api.send_event(&enter_event(ATTACKER)).await;
    let (token, visitor) = (bad.expect_status(201).text("token"), bad.text("visitor"));
    let source = source_of(ATTACKER).to_string();
    let blocked = command(&admin, json!({ "op": "block", "queue": QUEUE, "source": source })).await;
    let until_ms = blocked["blocked"][0]["until_ms"].as_u64().expect("an end");
    assert!(
        until_ms.abs_diff(api.now_ms() + 3_600_000) < 60_000,
        "an hour by default: {blocked}"
    );

    let refused = enter_until(&api, || enter_event(ATTACKER), 403).await;
    refused.expect_problem(403, "blocked");
    // Entering again is entering, too. Everything else is as before.
    let again = with_header(enter_event(ATTACKER), "X-Visitor-Id", visitor);
    api.send_event(&again).await.expect_problem(403, "blocked");
    api.send(ApiRequest::get(entry_path(token)).visitor(visitor))
        .await
        .expect_status(200);
    api.send_event(&enter_event("203.0.113.78"))
        .await
        .expect_status(201);
    api.advance_seconds(3_601);
    let entered = enter_until(&api, || enter_event(ATTACKER), 201).await;
    assert_ne!(entered.text("token"), token);

    // A visitor stays blocked, also from elsewhere, until the operator ends it.
    command(&admin, json!({ "op": "block", "queue": QUEUE, "token": token })).await;
    let elsewhere = || with_header(enter_event("198.51.100.9"), "X-Visitor-Id", visitor);
    enter_until(&api, elsewhere, 403)
        .await
        .expect_problem(403, "blocked");
    api.advance_seconds(10 * 24 * 3_600);
    enter_until(&api, elsewhere, 403)
        .await
        .expect_problem(403, "blocked");
    let ended = command(&admin, json!({ "op": "unblock", "queue": QUEUE, "token": token })).await;
    assert_eq!(ended["blocked"], json!([]));
    poll_until(
        BOUND,
        async || api.send_event(&elsewhere()).await,
        |response| response.status.is_success(),
    )
    .await;
}

async fn a_flood_from_one_address_is_seen_evicted_and_kept_out() {
    let fakes = 1_500;
    let api = InProcessApi::start(json!({ "capacity": 1, "session_seconds": 3_600 })).await;
    let admin = admin(&api);
    api.send_event(&enter_event("198.51.100.1"))
        .await
        .expect_status(201);
    api.promote().await;
    // Two honest visitors are behind the attacker's address, and one is elsewhere.
    let mut honest = Vec::new();
    for address in [ATTACKER, ATTACKER, "198.51.100.2"] {
        let entered = api.send_event(&enter_event(address)).await;
        let (token, visitor) = (entered.expect_status(201).text("token"), entered.text("visitor"));
        honest.push((token.to_owned(), visitor.to_owned()));
    }
    for _ in 0..fakes {
        api.send_event(&enter_event(ATTACKER)).await.expect_status(201);
    }
    for _ in 0..45 {
        for (token, visitor) in &honest {
            api.send(ApiRequest::get(entry_path(token)).visitor(visitor))
                .await
                .expect_status(200);
        }
        api.advance_seconds(1);
        api.promote().await;
    }

    let shown = command(&admin, json!({ "op": "sources", "queue": QUEUE })).await;
    let largest = &shown["sources"][0];
    let source = source_of(ATTACKER).to_string();
    assert_eq!(largest["source"], source, "{shown}");
    assert_eq!(
        (
            &largest["entries"],
            &largest["never_present"],
            &largest["present"]
        ),
        (&json!(fakes + 2), &json!(fakes), &json!(2)),
        "{largest}"
    );
    command(&admin, json!({ "op": "block", "queue": QUEUE, "source": source })).await;
    enter_until(&api, || enter_event(ATTACKER), 403).await;
    // Some more came in until the process knew of the block.
    let shown = command(&admin, json!({ "op": "sources", "queue": QUEUE })).await;
    let fakes = shown["sources"][0]["never_present"].as_u64().expect("a count");
    assert_eq!(shown["sources"][0]["blocked"], true);
    // Now they have had the time to poll.
    api.advance_seconds(31);

    let mut order = json!({ "op": "evict", "queue": QUEUE, "source": source });
    let unconfirmed = admin.handle(order.clone()).await["problem"].clone();
    assert_eq!(unconfirmed["code"], "confirmation-needed");
    let matching = &unconfirmed["matching"];
    assert_eq!(
        (&matching["entries"], &matching["spared"]),
        (&json!(fakes), &json!(2)),
        "{matching}"
    );
    order["confirm"] = unconfirmed["expected"]["confirm"].clone();
    order["epoch"] = unconfirmed["expected"]["epoch"].clone();
    let evicted = command(&admin, order).await;
    assert_eq!(
        (&evicted["evicted"], &evicted["remaining"]),
        (&json!(fakes), &json!(0)),
        "{evicted}"
    );

    for (position, (token, visitor)) in (1..).zip(&honest) {
        let status = api
            .send(ApiRequest::get(entry_path(token)).visitor(visitor))
            .await;
        assert_eq!(status.expect_status(200).body["position"], position);
    }
    enter_until(&api, || enter_event(ATTACKER), 403).await;
}

async fn no_address_is_stored() {
    let api = InProcessApi::start(json!({})).await;
    for event in [enter_event(ATTACKER), enter_event_v2("2001:db8:1:2::3")] {
        assert!(entered_source(&api, &event).await.is_some());
    }
    let admin = admin(&api);
    let source = source_of(ATTACKER);
    command(
        &admin,
        json!({ "op": "block", "queue": QUEUE, "source": source.to_string() }),
    )
    .await;
    let mut kept = fs::read(api.store_path()).expect("the store file");
    let of_commands = [
        command(&admin, json!({ "op": "sources", "queue": QUEUE })).await,
        command(&admin, json!({ "op": "describe", "queue": QUEUE })).await,
    ];
    kept.extend(of_commands.map(|answer| answer.to_string()).concat().into_bytes());
    kept.extend(api.written.text().into_bytes());
    let contains = |bytes: &[u8]| kept.windows(bytes.len()).any(|window| window == bytes);
    assert!(contains(source.to_string().as_bytes()), "the keyed hash is kept");
    let octets = [203, 0, 113, 77];
    let digests = [Sha256::digest(octets), Sha256::digest(ATTACKER.as_bytes())];
    for digest in digests {
        let hex = format!(
            "{:016x}",
            u64::from_be_bytes(digest[..8].try_into().expect("8 bytes"))
        );
        assert!(
            !contains(&digest[..8]) && !contains(hex.as_bytes()),
            "no hash without a key"
        );
    }
    for address in [ATTACKER, "2001:db8:1:2"] {
        assert!(!contains(address.as_bytes()), "{address}");
    }
    assert!(!contains(&octets));
}

async fn no_visitor_id_pass_or_ticket_is_stored() {
    let scene = TicketScene::start(json!({ "visitors": "anyone" })).await;
    let api = &scene.api;
    let (guest, entered) = enter_and_expect_created(api).await;
    let ticket = scene.ticket("ada@shop.example");
    let named = api.send(with_ticket(&ticket)).await;
    let (token, secret) = (
        named.expect_status(201).text("token"),
        named.text("visitor").to_owned(),
    );
    let pass = named.text("pass").to_owned();
    let use_id = new_visitor_id();
    let consume = json!({ "pass": pass, "consume": true, "use": use_id });
    let path = format!("{}/validate", entry_path(token));
    api.send(ApiRequest::post(path).json(&consume))
        .await
        .expect_status(200);

    let mut kept = fs::read(api.store_path()).expect("the store file");
    kept.extend(format!("{:?}", api.snapshot_entries(&[]).await).into_bytes());
    kept.extend(api.written.text().into_bytes());
    let contains = |text: &str| {
        let uuid = text.parse::<Uuid>().map(|uuid| uuid.as_bytes().to_vec());
        let forms = [Some(text.as_bytes().to_vec()), uuid.ok()];
        forms
            .into_iter()
            .flatten()
            .any(|form| kept.windows(form.len()).any(|window| window == form))
    };
    assert!(
        contains(&guest.token) && contains(&use_id),
        "entries and uses are kept"
    );
    let signature = |jwt: &str| jwt.rsplit('.').next().expect("a signature").to_owned();
    let passes = [entered.text("pass"), &pass].map(signature);
    for (what, text) in [
        ("visitor id", guest.id.as_str()),
        ("name", "ada@shop.example"),
        ("secret", &secret),
        ("ticket", &signature(&ticket)),
        ("pass", &passes[0]),
        ("pass of a ticket", &passes[1]),
    ] {
        assert!(!contains(text), "the {what} is stored");
    }
}
