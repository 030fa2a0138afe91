//! Who is who: three ways to be known, and none to be somebody else.

use serde_json::json;
use uuid::Uuid;
use vestibule_api::config::{ApiConfig, VisitorRoutes};
use vestibule_tests::edge::{Ask, EdgeUnderTest, QUEUE, entry, event, local, with_claims, with_header};

use crate::{enters, full, stranger};

const ENTER: &str = "/queues/{queue}/entries";
const LOOK: &str = "/queues/{queue}/entries/{token}";
const CLAIM: &str = "/queues/{queue}/entries/{token}/claim";

fn cookie_pair(set_cookie: &str) -> &str {
    set_cookie.split(';').next().expect("a pair")
}

#[tokio::test]
async fn a_visitor_who_brings_nothing_is_drawn_and_known_again_by_the_cookie() {
    let edge = full(json!({})).await;
    let first = edge.send(Ask::enter()).await;
    let drawn = first.is(201).text("visitor");
    assert_eq!(drawn.parse::<Uuid>().expect("a UUID").get_version_num(), 4);
    let set_cookie = first.header("set-cookie");
    assert_eq!(
        set_cookie,
        format!("vestibule-visitor={drawn}; HttpOnly; SameSite=Lax; Path=/; Max-Age=86400")
    );
    let again = edge
        .send(Ask::enter().header("cookie", cookie_pair(set_cookie)))
        .await;
    assert_eq!(again.is(200).text("token"), first.text("token"));
    assert!(again.body.get("visitor").is_none() && !again.headers.contains_key("set-cookie"));
    let by_header = edge.send(Ask::enter().visitor(drawn)).await;
    assert_eq!(
        by_header.is(200).text("token"),
        first.text("token"),
        "the same visitor, either way"
    );
}

#[tokio::test]
async fn behind_the_gateway_the_cookie_is_bound_to_the_host() {
    let edge = EdgeUnderTest::with(ApiConfig::default(), json!({})).await;
    let first = edge
        .send_event(&event("POST", ENTER, &json!({ "queue": QUEUE })))
        .await;
    let set_cookie = first.is(201).header("set-cookie");
    let (name, rest) = set_cookie.split_once('=').expect("a pair");
    assert_eq!(name, "__Host-vestibule-visitor");
    assert!(
        rest.ends_with("; HttpOnly; SameSite=Lax; Secure; Path=/; Max-Age=86400"),
        "{set_cookie}"
    );
    // The plain one is anybody's to set: it is not read here.
    let plain = cookie_pair(set_cookie).replace("__Host-", "");
    let other = with_header(event("POST", ENTER, &json!({ "queue": QUEUE })), "Cookie", &plain);
    edge.send_event(&other).await.is(201);
}

#[tokio::test]
async fn the_header_wins_over_the_cookie_and_a_broken_cookie_is_ignored() {
    let edge = full(json!({})).await;
    let (guest, _) = enters(&edge).await;
    let cookie = format!("vestibule-visitor={}", stranger());
    let both = edge
        .send(Ask::enter().visitor(&guest.id).header("cookie", &cookie))
        .await;
    assert_eq!(both.is(200).text("token"), guest.token);
    let broken = format!("vestibule-visitor=admin; x; =; vestibule-visitor={}", guest.id);
    let ignored = edge.send(Ask::enter().header("cookie", &broken)).await;
    assert_eq!(ignored.is(200).text("token"), guest.token);
    let nobody = edge
        .send(Ask::enter().header("cookie", "vestibule-visitor=admin"))
        .await;
    assert!(nobody.is(201).body["visitor"].is_string());
}

#[tokio::test]
async fn a_name_that_could_be_guessed_is_refused() {
    let edge = EdgeUnderTest::open(json!({})).await;
    let version_1 = "c232ab00-9414-11ec-b3c8-9f6bdeced846";
    for id in ["", "ada", "ada@example.com", version_1, "ü"] {
        edge.send(Ask::enter().visitor(id)).await.refuses("X-Visitor-Id");
    }
    edge.send(Ask::enter().visitor(&stranger()).visitor(&stranger()))
        .await
        .refuses("X-Visitor-Id");
}

#[tokio::test]
async fn a_trusted_caller_names_the_visitor() {
    let trusting = json!({ "trust_client_visitor_id": true });
    let edge = EdgeUnderTest::with(local(), trusting.clone()).await;
    let ada = edge.send(Ask::enter().visitor("ada")).await;
    assert_eq!(
        edge.send(Ask::enter().visitor("ada")).await.text("token"),
        ada.is(201).text("token")
    );
    let look = |id: &str| Ask::get(entry(ada.text("token"))).visitor(id);
    assert!(edge.send(look("ada")).await.is(200).body["pass"].is_string());
    edge.send(look("bob"))
        .await
        .is_problem(403, "token-owner-mismatch");

    // The setting alone is not enough where anybody can reach the routes.
    let open = EdgeUnderTest::with(ApiConfig::default(), trusting.clone()).await;
    let named = with_header(
        event("POST", ENTER, &json!({ "queue": QUEUE })),
        "X-Visitor-Id",
        "ada",
    );
    open.send_event(&named).await.refuses("X-Visitor-Id");

    let config = ApiConfig {
        visitor_routes: VisitorRoutes::ApiKey,
        ..ApiConfig::default()
    };
    let guarded = EdgeUnderTest::with(config, trusting).await;
    guarded.send_event(&named).await.refuses("X-Visitor-Id");
    let mut with_key = named.clone();
    with_key["requestContext"]["identity"]["apiKeyId"] = json!("key1");
    guarded.send_event(&with_key).await.is(201);
    // A verified claim is worth more than the word of whoever holds a key.
    let claimed = with_claims(with_key, &json!({ "sub": "bob" }));
    guarded.send_event(&claimed).await.refuses("X-Visitor-Id");
    let forged = with_header(named, "X-Api-Key", "key1");
    guarded.send_event(&forged).await.refuses("X-Visitor-Id");
}

#[tokio::test]
async fn the_authorizers_claim_is_the_visitor_and_no_header_changes_that() {
    let edge = EdgeUnderTest::with(ApiConfig::default(), json!({ "trust_client_visitor_id": true })).await;
    let enter = || event("POST", ENTER, &json!({ "queue": QUEUE }));
    let ada = edge
        .send_event(&with_claims(enter(), &json!({ "sub": "ada" })))
        .await;
    let token = ada.is(201).text("token").to_owned();
    assert!(ada.body.get("visitor").is_none() && !ada.headers.contains_key("set-cookie"));

    let at = |what: &str, method: &str| event(method, what, &json!({ "queue": QUEUE, "token": token }));
    let ada_looks = with_claims(at(LOOK, "GET"), &json!({ "sub": "ada" }));
    assert!(edge.send_event(&ada_looks).await.is(200).body["pass"].is_string());

    let bob = || with_claims(at(CLAIM, "POST"), &json!({ "sub": "bob" }));
    edge.send_event(&bob())
        .await
        .is_problem(403, "token-owner-mismatch");
    let mut in_body = bob();
    in_body["body"] = json!(r#"{"sub":"ada","visitor":"ada"}"#);
    in_body = with_header(in_body, "Content-Type", "application/json");
    edge.send_event(&in_body).await.refuses("sub");
    // Headers that look like the gateway's own word.
    for (name, value) in [
        ("X-Visitor-Id", "ada"),
        (
            "X-Amzn-Request-Context",
            r#"{"authorizer":{"claims":{"sub":"ada"}}}"#,
        ),
        ("Authorization", "Bearer ada"),
        ("Cookie", "__Host-vestibule-visitor=ada"),
    ] {
        let answer = edge.send_event(&with_header(bob(), name, value)).await;
        assert!(answer.status.is_client_error(), "{name}: {answer:?}");
    }
    // A claim of another name is nobody's.
    let principal = with_claims(at(CLAIM, "POST"), &json!({ "name": "ada", "principalId": "ada" }));
    edge.send_event(&principal)
        .await
        .is_problem(403, "visitor-required");
    // And an anonymous visitor of the same name is another one.
    let uuid = stranger();
    let known = edge
        .send_event(&with_claims(enter(), &json!({ "sub": uuid })))
        .await;
    let anonymous = edge
        .send_event(&with_header(enter(), "X-Visitor-Id", &uuid))
        .await;
    assert_ne!(known.is(201).text("token"), anonymous.is(201).text("token"));
}

#[tokio::test]
async fn a_custom_authorizers_field_serves_where_it_is_configured() {
    let config = ApiConfig {
        visitor_claim: "principalId".to_owned(),
        ..ApiConfig::default()
    };
    let edge = EdgeUnderTest::with(config, json!({})).await;
    let mut enter = event("POST", ENTER, &json!({ "queue": QUEUE }));
    enter["requestContext"]["authorizer"] = json!({ "principalId": "ada", "sub": "bob" });
    let first = edge.send_event(&enter).await;
    enter["requestContext"]["authorizer"] = json!({ "principalId": "ada", "sub": "eve" });
    assert_eq!(
        edge.send_event(&enter).await.is(200).text("token"),
        first.is(201).text("token")
    );
}

#[tokio::test]
async fn a_claim_that_names_nobody_is_refused_by_its_own_name() {
    for name in ["sub", "email"] {
        let config = ApiConfig {
            visitor_claim: name.to_owned(),
            ..ApiConfig::default()
        };
        let edge = EdgeUnderTest::with(config, json!({})).await;
        for (value, why) in [
            ("", "without control characters"),
            ("a\nb", "without control characters"),
            ("ada ", "must not begin or end with a blank"),
        ] {
            let enter = event("POST", ENTER, &json!({ "queue": QUEUE }));
            let mut claims = json!({});
            claims[name] = json!(value);
            let answer = edge.send_event(&with_claims(enter, &claims)).await;
            let detail = answer.refuses(name).text("detail");
            assert!(detail.contains(why), "{detail}");
        }
    }
}

#[tokio::test]
async fn whoever_joined_anonymously_and_then_logged_in_keeps_the_place() {
    let edge = EdgeUnderTest::with(ApiConfig::default(), json!({ "capacity": 1, "batch": 1 })).await;
    let enter = || event("POST", ENTER, &json!({ "queue": QUEUE }));
    edge.send_event(&enter()).await.is(201);
    let id = stranger();
    let before = edge.send_event(&with_header(enter(), "X-Visitor-Id", &id)).await;
    let token = before.is(201).text("token").to_owned();

    let both = |event| with_claims(with_header(event, "X-Visitor-Id", &id), &json!({ "sub": "ada" }));
    let after = edge.send_event(&both(enter())).await;
    assert_eq!(after.is(200).text("token"), token);
    assert_eq!(after.number("position"), before.number("position"));
    let at = |what, method| both(event(method, what, &json!({ "queue": QUEUE, "token": token })));
    edge.send_event(&at(CLAIM, "POST"))
        .await
        .is_problem(409, "not-your-turn");
    edge.send_event(&at(LOOK, "DELETE")).await.is(204);
    // Gone is gone: from now on it is the known visitor who enters.
    let known = edge.send_event(&both(enter())).await;
    assert_ne!(known.is(201).text("token"), token);
}

#[tokio::test]
async fn a_token_alone_looks_and_gets_no_pass() {
    let edge = EdgeUnderTest::open(json!({})).await;
    let (guest, _) = enters(&edge).await;
    let alone = edge.send(Ask::get(entry(&guest.token))).await;
    assert_eq!(alone.is(200).text("state"), "active");
    assert!(alone.body.get("pass").is_none(), "{alone:?}");
    let thief = || stranger();
    edge.send(Ask::get(entry(&guest.token)).visitor(&thief()))
        .await
        .is_problem(403, "token-owner-mismatch");
    for (ask, other) in [
        (
            Ask::post(format!("{}/claim", entry(&guest.token))),
            Ask::post(format!("{}/claim", entry(&guest.token))),
        ),
        (Ask::delete(entry(&guest.token)), Ask::delete(entry(&guest.token))),
    ] {
        edge.send(ask).await.is_problem(403, "visitor-required");
        edge.send(other.visitor(&thief()))
            .await
            .is_problem(403, "token-owner-mismatch");
    }
    let owner = edge.send(Ask::get(entry(&guest.token)).visitor(&guest.id)).await;
    assert!(owner.is(200).body["pass"].is_string());
}
