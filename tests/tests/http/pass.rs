//! Passes, verified offline with the published keys, as a protected service does.

use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header, jwk::JwkSet};
use serde_json::{Value, json};
use vestibule_tests::api::{ApiRequest, Backend};

crate::cases![
    a_pass_verifies_with_the_published_keys,
    every_route_that_returns_a_pass_returns_a_valid_one,
    a_pass_is_valid_for_one_entry_of_one_queue,
    only_a_visitor_with_a_pass_learns_the_target,
];

async fn only_a_visitor_with_a_pass_learns_the_target(backend: &Backend) {
    let target = "https://shop.example/enter?pass={pass}&to={return}";
    let (queue, active) = backend.create_full_queue(json!({ "target_url": target })).await;
    assert_eq!(queue.get_status(&active).await.text("target_url"), target);
    let (_, waiting) = queue.enter_and_expect_created().await;
    waiting.expect_absent(&["target_url"]);
    // The token alone proves nothing.
    let anyone = backend.send(ApiRequest::get(active.path(""))).await;
    anyone.expect_status(200).expect_absent(&["pass", "target_url"]);
}

async fn published_keys(backend: &Backend) -> JwkSet {
    let published = backend.send(ApiRequest::get("/.well-known/jwks.json")).await;
    // The runner's keys may be kept for ten seconds, those of a deployment for five minutes.
    let cache_control = published.expect_status(200).header("cache-control");
    assert!(
        ["public, max-age=10", "public, max-age=300"].contains(&cache_control),
        "{cache_control}"
    );
    for key in published.body["keys"].as_array().expect("keys") {
        assert!(key.get("d").is_none(), "the private part stays private");
        assert_eq!((&key["kty"], &key["use"]), (&json!("EC"), &json!("sig")));
    }
    serde_json::from_value(published.body.clone()).expect("a key set")
}

/// Returns the claims of a valid pass for this queue.
fn verify(pass: &str, keys: &JwkSet, queue: &str) -> Result<Value, String> {
    let header = decode_header(pass).map_err(|error| error.to_string())?;
    assert_eq!(
        (header.alg, header.typ.as_deref()),
        (Algorithm::ES256, Some("pass+jwt"))
    );
    let kid = header.kid.expect("a key id");
    let key = keys.find(&kid).expect("a published key");
    let mut expected = Validation::new(Algorithm::ES256);
    expected.set_audience(&[queue]);
    expected.set_required_spec_claims(&["iss", "aud", "sub", "nbf", "exp"]);
    let key = DecodingKey::from_jwk(key).expect("a key");
    decode::<Value>(pass, &key, &expected)
        .map(|decoded| decoded.claims)
        .map_err(|error| error.to_string())
}

async fn a_pass_verifies_with_the_published_keys(backend: &Backend) {
    let keys = published_keys(backend).await;
    let queue = backend.create_queue(json!({ "pass_seconds": 45 })).await;
    let (guest, entered) = queue.enter_and_expect_created().await;
    let claims = verify(entered.text("pass"), &keys, &queue.id).expect("a valid pass");
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

    assert!(verify(entered.text("pass"), &keys, "another").is_err());
    let (head, signature) = entered.text("pass").rsplit_once('.').expect("a signature");
    let reversed: String = signature.chars().rev().collect();
    assert!(verify(&format!("{head}.{reversed}"), &keys, &queue.id).is_err());
}

async fn every_route_that_returns_a_pass_returns_a_valid_one(backend: &Backend) {
    let keys = published_keys(backend).await;
    let queue = backend
        .create_queue(json!({ "session_seconds": 20, "session_max_seconds": 30, "pass_seconds": 60 }))
        .await;
    let (guest, entered) = queue.enter_and_expect_created().await;
    let status = queue.get_status(&guest).await;
    let claimed = queue.claim(&guest).await;
    let again = queue.enter_again(&guest).await;
    let extended = queue.extend(&guest, &json!({})).await;
    for response in [entered, status, claimed, again, extended] {
        let claims = verify(response.text("pass"), &keys, &queue.id).expect("a valid pass");
        assert_eq!(claims["sub"].as_str(), Some(&*guest.token));
        assert_eq!(
            claims["exp"].as_u64(),
            Some(response.number("expires_at_ms") / 1_000),
            "a pass never outlives its session: {response:?}"
        );
    }
}

async fn a_pass_is_valid_for_one_entry_of_one_queue(backend: &Backend) {
    let queue = backend.create_queue(json!({})).await;
    let other = backend.create_queue(json!({})).await;
    let (guest, entered) = queue.enter_and_expect_created().await;
    let (_, neighbour) = queue.enter_and_expect_created().await;
    let elsewhere = other.enter_again(&guest).await;
    assert_ne!(
        elsewhere.expect_status(201).text("token"),
        guest.token,
        "a visitor's tokens in two queues have nothing in common"
    );
    let mut tampered = entered.text("pass").to_owned();
    tampered.truncate(tampered.len() - 6);
    tampered.push_str("AAAAAA");
    for (pass, detail) in [
        (neighbour.text("pass"), "the pass belongs to another entry"),
        (elsewhere.text("pass"), "the pass belongs to another entry"),
        (&tampered, "the signature of the pass is wrong"),
        ("nonsense", "the token is not a JWT with the claims of a pass"),
        ("", "the token is not a JWT with the claims of a pass"),
    ] {
        let refused = queue
            .call_as_service("validate", &guest, &json!({ "pass": pass }))
            .await;
        assert_eq!(refused.expect_problem(403, "invalid-pass").text("detail"), detail);
    }
    let own = json!({ "pass": entered.text("pass") });
    let valid = queue.call_as_service("validate", &guest, &own).await;
    valid.expect_status(200);
}
