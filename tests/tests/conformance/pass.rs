//! Passes, checked as a protected service would: offline, with the published keys and nothing else.

use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header, jwk::JwkSet};
use serde_json::{Value, json};
use vestibule_tests::{api::Backend, edge::Ask};

crate::cases![
    a_pass_is_checked_with_the_published_keys,
    every_way_to_a_pass_gives_a_good_one,
    a_pass_is_for_one_entry_of_one_queue,
];

async fn keys(backend: &Backend) -> JwkSet {
    let published = backend.send(Ask::get("/.well-known/jwks.json")).await;
    assert_eq!(published.is(200).header("cache-control"), "public, max-age=300");
    for key in published.body["keys"].as_array().expect("keys") {
        assert!(key.get("d").is_none(), "the secret half stays secret");
        assert_eq!((&key["kty"], &key["use"]), (&json!("OKP"), &json!("sig")));
    }
    serde_json::from_value(published.body.clone()).expect("a key set")
}

/// What a pass says, where it is one for this queue.
fn checked(pass: &str, keys: &JwkSet, queue: &str) -> Result<Value, String> {
    let header = decode_header(pass).map_err(|error| error.to_string())?;
    assert_eq!(
        (header.alg, header.typ.as_deref()),
        (Algorithm::EdDSA, Some("pass+jwt"))
    );
    let kid = header.kid.expect("a key id");
    let key = keys.find(&kid).expect("a published key");
    let mut expected = Validation::new(Algorithm::EdDSA);
    expected.set_audience(&[queue]);
    expected.set_required_spec_claims(&["iss", "aud", "sub", "nbf", "exp"]);
    let key = DecodingKey::from_jwk(key).expect("a key");
    decode::<Value>(pass, &key, &expected)
        .map(|decoded| decoded.claims)
        .map_err(|error| error.to_string())
}

async fn a_pass_is_checked_with_the_published_keys(backend: &Backend) {
    let keys = keys(backend).await;
    let queue = backend.queue(json!({ "pass_seconds": 45 })).await;
    let (guest, entered) = queue.enters().await;
    let claims = checked(entered.text("pass"), &keys, &queue.id).expect("a good pass");
    assert_eq!(
        (claims["aud"].as_str(), claims["sub"].as_str()),
        (Some(&*queue.id), Some(&*guest.token))
    );
    assert_eq!(
        (claims["visit"].as_u64(), claims["epoch"].as_u64()),
        (Some(guest.visit), Some(1))
    );
    assert_eq!(claims["iat"], claims["nbf"]);
    assert_eq!(claims["exp"].as_u64(), claims["iat"].as_u64().map(|iat| iat + 45));
    assert!(claims["jti"].is_string() && claims["iss"].is_string(), "{claims}");

    assert!(checked(entered.text("pass"), &keys, "another").is_err());
    let (head, signature) = entered.text("pass").rsplit_once('.').expect("a signature");
    assert!(
        checked(
            &format!("{head}.{}", signature.chars().rev().collect::<String>()),
            &keys,
            &queue.id
        )
        .is_err()
    );
}

async fn every_way_to_a_pass_gives_a_good_one(backend: &Backend) {
    let keys = keys(backend).await;
    let queue = backend
        .queue(json!({ "session_seconds": 20, "session_max_seconds": 30, "pass_seconds": 60 }))
        .await;
    let (guest, entered) = queue.enters().await;
    let looked = queue.looks(&guest).await;
    let claimed = queue.claims(&guest).await;
    let again = backend.send(queue.entering().visitor(&guest.id)).await;
    let ask = Ask::post(queue.of(&guest, "/extend")).visitor(&guest.id);
    let extended = backend.send_as_service(ask).await;
    for answer in [entered, looked, claimed, again, extended] {
        let claims = checked(answer.text("pass"), &keys, &queue.id).expect("a good pass");
        assert_eq!(claims["sub"].as_str(), Some(&*guest.token));
        let ends = answer.number("expires_at_ms") / 1_000;
        assert_eq!(
            claims["exp"].as_u64(),
            Some(ends),
            "no pass outlives its session: {answer:?}"
        );
    }
}

async fn a_pass_is_for_one_entry_of_one_queue(backend: &Backend) {
    let (queue, other) = (backend.queue(json!({})).await, backend.queue(json!({})).await);
    let (guest, entered) = queue.enters().await;
    let (_, neighbour) = queue.enters().await;
    let there = backend.send(other.entering().visitor(&guest.id)).await;
    assert_ne!(
        there.is(201).text("token"),
        guest.token,
        "tokens of two queues tell nothing of each other"
    );
    let mut broken = entered.text("pass").to_owned();
    broken.truncate(broken.len() - 6);
    broken.push_str("AAAAAA");
    for pass in [
        neighbour.text("pass"),
        there.text("pass"),
        &broken,
        "nonsense",
        "",
    ] {
        let answer = queue.service("validate", &guest, &json!({ "pass": pass })).await;
        answer.is_problem(403, "invalid-pass");
    }
    queue
        .service("validate", &guest, &json!({ "pass": entered.text("pass") }))
        .await
        .is(200);
}
