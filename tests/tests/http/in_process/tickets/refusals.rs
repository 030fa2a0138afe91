//! Tickets that are refused, each with its reason.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::{Value, json};
use vestibule_tests::{
    in_process::{ApiRequest, InProcessApi, QUEUE},
    tickets::{TicketIssuer, key_set},
};

use super::{TicketScene, with_ticket};

crate::in_process::cases![
    a_ticket_with_wrong_claims_is_refused_by_its_reason,
    a_ticket_counts_within_its_times,
    a_ticket_that_is_no_jwt_is_malformed,
    a_ticket_of_another_key_is_refused,
    the_key_decides_the_algorithm,
    a_queue_without_keys_accepts_no_ticket,
    the_request_has_a_ticket_field_alone,
];

async fn a_ticket_with_wrong_claims_is_refused_by_its_reason() {
    let scene = TicketScene::start(json!({})).await;
    for (changes, reason, named) in [
        (json!({ "sub": null }), "missing-claim", "sub"),
        (json!({ "aud": null }), "missing-claim", "aud"),
        (json!({ "exp": null }), "missing-claim", "exp"),
        (json!({ "sub": 7 }), "invalid-claim", "sub"),
        (json!({ "sub": "" }), "invalid-claim", "sub"),
        (json!({ "sub": "ada " }), "invalid-claim", "sub"),
        (json!({ "sub": ["ada"] }), "invalid-claim", "sub"),
        (json!({ "aud": 7 }), "invalid-claim", "aud"),
        (json!({ "exp": "soon" }), "invalid-claim", "exp"),
        (json!({ "exp": -1 }), "invalid-claim", "exp"),
        (json!({ "nbf": "now" }), "invalid-claim", "nbf"),
        (json!({ "iat": true }), "invalid-claim", "iat"),
        (json!({ "jti": 7 }), "invalid-claim", "jti"),
        (json!({ "lane": 8 }), "invalid-claim", "lane"),
        (json!({ "lane": -1 }), "invalid-claim", "lane"),
        (json!({ "lane": "0" }), "invalid-claim", "lane"),
        (json!({ "bypass": "yes" }), "invalid-claim", "bypass"),
        (json!({ "aud": "TIMEDEAL:124" }), "wrong-queue", "aud"),
        (json!({ "aud": [] }), "wrong-queue", "aud"),
        (json!({ "aud": ["TIMEDEAL:124", 7] }), "wrong-queue", "aud"),
    ] {
        let ticket = scene.shop.sign(&scene.claims_with(&changes));
        let refused = scene.expect_refused(&ticket, reason).await;
        assert!(refused.text("detail").contains(named), "{changes}: {refused:?}");
    }
    for changes in [
        json!({}),
        json!({ "aud": ["TIMEDEAL:124", QUEUE] }),
        json!({ "lane": 0 }),
        json!({ "lane": 7, "jti": "once", "bypass": false, "email": "ada@example.com" }),
    ] {
        let ticket = scene.shop.sign(&scene.claims_with(&changes));
        let entered = scene.api.send(with_ticket(&ticket)).await;
        assert!(entered.status.is_success(), "{changes}: {entered:?}");
    }
}

async fn a_ticket_counts_within_its_times() {
    let scene = TicketScene::start(json!({})).await;
    let now = scene.api.now_ms() / 1_000;
    let in_seconds = |name: &str, seconds: i64| {
        let time = i64::try_from(now).expect("a time") + seconds;
        scene.shop.sign(&scene.claims_with(&json!({ name: time })))
    };
    // A minute beyond the tolerance of 5 s, because the clock of the line may move on meanwhile.
    scene
        .expect_refused(&in_seconds("nbf", 65), "not-yet-valid")
        .await;
    scene
        .expect_refused(&in_seconds("iat", 65), "not-yet-valid")
        .await;
    scene.expect_refused(&in_seconds("exp", -5), "expired").await;
    for (name, seconds) in [("nbf", 4), ("iat", 4), ("exp", 60)] {
        let entered = scene.api.send(with_ticket(&in_seconds(name, seconds))).await;
        assert!(entered.status.is_success(), "{name}: {entered:?}");
    }
    let now_ms = scene.api.now_ms();
    for name in ["nbf", "iat", "exp"] {
        // In seconds, these would be the past of no ticket, and the future of any.
        for time in [json!(now_ms), json!(now_ms + 600_000), json!(1.5e12)] {
            let ticket = scene.shop.sign(&scene.claims_with(&json!({ name: time })));
            let refused = scene.expect_refused(&ticket, "invalid-claim").await;
            let detail = refused.text("detail");
            assert!(
                detail.contains(name) && detail.contains("in milliseconds"),
                "{detail}"
            );
        }
    }
    let fraction = scene.claims_with(&json!({ "exp": 4_000_000_000.5_f64 }));
    let entered = scene.api.send(with_ticket(&scene.shop.sign(&fraction))).await;
    assert!(entered.status.is_success(), "{entered:?}");
}

async fn a_ticket_that_is_no_jwt_is_malformed() {
    let scene = TicketScene::start(json!({})).await;
    let good = scene.ticket("ada");
    let encode_json = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let (_, rest) = good.split_once('.').expect("three parts");
    let with_header = |header: Value| format!("{}.{rest}", encode_json(header));
    for malformed in [
        String::new(),
        "ada".to_owned(),
        format!("{good}.x"),
        format!("x{good}"),
        good.replace('.', ""),
        with_header(json!([])),
        with_header(json!({})),
        with_header(json!({ "alg": 7 })),
        with_header(json!({ "alg": "ES256", "kid": 7 })),
        with_header(json!({ "alg": "ES256", "kid": "shop-1", "crit": ["b64"], "b64": false })),
        format!("{good}{}", "A".repeat(4_096)),
    ] {
        scene.expect_refused(&malformed, "malformed").await;
    }
    let no_object = encode(&scene.shop.header(), &json!(["ada"]), &scene.shop.key).expect("signs");
    scene.expect_refused(&no_object, "malformed").await;
}

async fn a_ticket_of_another_key_is_refused() {
    let scene = TicketScene::start(json!({})).await;
    let now = scene.api.now_ms();
    let (same_name, other_name) = (TicketIssuer::ec("shop-1", 22), TicketIssuer::ec("shop-2", 21));
    scene
        .expect_refused(&same_name.ticket("ada", now), "bad-signature")
        .await;
    scene
        .expect_refused(&other_name.ticket("ada", now), "unknown-key")
        .await;
    // The claims of one ticket under the signature of another.
    let (adas, bobs) = (scene.ticket("ada"), scene.ticket("bob"));
    let (claims, _) = adas.rsplit_once('.').expect("three parts");
    let (_, signature) = bobs.rsplit_once('.').expect("three parts");
    scene
        .expect_refused(&format!("{claims}.{signature}"), "bad-signature")
        .await;
}

/// The algorithm confusion attack (RFC 8725, section 2.1).
async fn the_key_decides_the_algorithm() {
    let (rsa, ec) = (TicketIssuer::rsa("rsa"), TicketIssuer::ec("ec", 21));
    let settings = json!({ "visitors": "ticket", "ticket_keys": key_set(&[&rsa, &ec]) });
    let api = InProcessApi::start(settings).await;
    let claims = vestibule_tests::tickets::claims("ada", api.now_ms());
    let jwk = rsa.jwk();
    let modulus = jwk["n"].as_str().expect("a modulus");
    let secrets = [
        modulus.as_bytes().to_vec(),
        URL_SAFE_NO_PAD.decode(modulus).expect("base64url"),
        jwk.to_string().into_bytes(),
    ];
    let refuse = async |ticket: &str| {
        let refused = api.send(with_ticket(ticket)).await;
        refused.expect_problem(403, "invalid-ticket");
        assert_eq!(refused.text("reason"), "wrong-algorithm", "{refused:?}");
    };
    for secret in secrets {
        for algorithm in [Algorithm::HS256, Algorithm::HS384, Algorithm::HS512] {
            let header = Header {
                kid: Some("rsa".to_owned()),
                ..Header::new(algorithm)
            };
            let ticket = encode(&header, &claims, &EncodingKey::from_secret(&secret)).expect("signs");
            refuse(&ticket).await;
        }
    }
    // A key with the algorithm of another, and a padding that the key does not have.
    let of_rsa = Header {
        kid: Some("ec".to_owned()),
        ..rsa.header()
    };
    refuse(&encode(&of_rsa, &claims, &rsa.key).expect("signs")).await;
    let padded = Header {
        alg: Algorithm::PS256,
        ..rsa.header()
    };
    refuse(&encode(&padded, &claims, &rsa.key).expect("signs")).await;
    for name in ["none", "None", "NONE", ""] {
        let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let header = part(json!({ "alg": name, "kid": "ec" }));
        for signature in ["", "AAAA"] {
            refuse(&format!("{header}.{}.{signature}", part(claims.clone()))).await;
        }
    }
}

async fn a_queue_without_keys_accepts_no_ticket() {
    let api = InProcessApi::start(json!({})).await;
    let ticket = TicketIssuer::ec("shop-1", 21).ticket("ada", api.now_ms());
    let refused = api.send(with_ticket(&ticket)).await;
    refused.expect_problem(403, "invalid-ticket");
    assert_eq!(refused.text("reason"), "unknown-key");
}

async fn the_request_has_a_ticket_field_alone() {
    let scene = TicketScene::start(json!({})).await;
    for (body, field) in [
        (json!({ "ticket": 7 }), "ticket"),
        (json!({ "ticket": null }), "ticket"),
        (json!({ "tickets": "x" }), "tickets"),
        (json!({ "ticket": scene.ticket("ada"), "sub": "bob" }), "sub"),
    ] {
        let refused = scene.api.send(ApiRequest::enter().json(&body)).await;
        refused.expect_invalid_field(field);
    }
    let none = scene.api.send(ApiRequest::enter()).await;
    none.expect_problem(403, "ticket-required");
}
