//! What the protected service asks, and who may ask it.

use serde_json::json;
use vestibule_api::{
    config::{ApiConfig, ServiceCallers, ServiceRoutes, VisitorRoutes},
    pass::{PassGrant, PassSigner, new_key_pem},
};
use vestibule_domain::score::Visit;
use vestibule_tests::edge::{
    Answer, Ask, EdgeUnderTest, ISSUER, QUEUE, entry, event, queue, signer, with_header,
};

use crate::{Guest, enters, full, stranger};

fn at(guest: &Guest, what: &str) -> Ask {
    Ask::post(format!("{}/{what}", entry(&guest.token)))
}

#[tokio::test]
async fn a_visitor_may_act_by_name_or_by_pass() {
    let edge = EdgeUnderTest::open(json!({})).await;
    let (guest, entered) = enters(&edge).await;
    let pass = entered.text("pass");
    for question in [
        json!({ "visitor": guest.id }),
        json!({ "pass": pass }),
        json!({ "visitor": guest.id, "pass": pass, "visit": entered.number("visit"), "consume": false }),
    ] {
        let answer = edge.send(at(&guest, "validate").json(&question)).await;
        let expected = json!({
            "valid": true, "state": "active",
            "visit": entered.body["visit"], "expires_at_ms": entered.body["expires_at_ms"],
        });
        assert_eq!(answer.is(200).body, expected, "{question}");
    }
    let consume = json!({ "visitor": guest.id, "consume": true });
    assert_eq!(
        edge.send(at(&guest, "validate").json(&consume))
            .await
            .is(200)
            .body["durable"],
        true
    );
    edge.send(at(&guest, "validate").json(&consume))
        .await
        .is_problem(410, "completed");
}

#[tokio::test]
async fn nobody_acts_for_another_or_without_proof() {
    let edge = EdgeUnderTest::open(json!({})).await;
    let (guest, entered) = enters(&edge).await;
    let (_, other) = enters(&edge).await;
    edge.send(at(&guest, "validate").json(&json!({})))
        .await
        .refuses("visitor");
    for visitor in [stranger(), "ada".to_owned()] {
        let stolen = json!({ "visitor": visitor });
        edge.send(at(&guest, "validate").json(&stolen))
            .await
            .is_problem(403, "token-owner-mismatch");
    }
    for nobody in ["a\nb", " ada", &format!("{} ", guest.id)] {
        edge.send(at(&guest, "validate").json(&json!({ "visitor": nobody })))
            .await
            .refuses("visitor");
    }
    let refused = async |pass: &str| {
        let answer = edge
            .send(at(&guest, "validate").json(&json!({ "pass": pass })))
            .await;
        answer.is_problem(403, "invalid-pass").text("detail").to_owned()
    };
    assert_eq!(refused(other.text("pass")).await, "it belongs to another entry");
    assert_eq!(refused("nonsense").await, "it is not a pass");
    let mut tampered = entered.text("pass").to_owned();
    tampered.truncate(tampered.len() - 6);
    tampered.push_str("AAAAAA");
    assert_eq!(refused(&tampered).await, "its signature is wrong");
    edge.pass_seconds(61);
    // By the view of the line, which is a second old at most.
    let expired = |answer: &Answer| answer.status == 403 && answer.text("detail") == "it has expired";
    let by_pass = || at(&guest, "validate").json(&json!({ "pass": entered.text("pass") }));
    edge.send_until(by_pass, expired).await;
}

#[tokio::test]
async fn a_pass_of_another_queue_or_key_is_refused() {
    let edge = EdgeUnderTest::open(json!({})).await;
    edge.create("other", json!({})).await;
    let (guest, entered) = enters(&edge).await;
    let other = "other".parse().expect("a queue id");
    let here = queue();
    for (signer, queue, why) in [
        (signer(), &other, "it is for another queue"),
        (stranger_signer(), &here, "it names a key that is not known here"),
    ] {
        let grant = PassGrant {
            queue,
            entry: guest.token.parse().expect("a token"),
            visit: Visit::new(entered.number("visit")).expect("a visit"),
            epoch: 1,
            session_end_ms: entered.number("expires_at_ms"),
            pass_seconds: 60,
        };
        let pass = signer.sign(&grant, edge.now_ms()).expect("signs");
        let ask = at(&guest, "validate").json(&json!({ "pass": pass.reveal() }));
        assert_eq!(
            edge.send(ask)
                .await
                .is_problem(403, "invalid-pass")
                .text("detail"),
            why
        );
    }
    // A token of another queue was never anybody's here.
    let there = edge
        .send(Ask::post("/queues/other/entries").visitor(&guest.id))
        .await;
    edge.send(Ask::get(entry(there.is(201).text("token"))))
        .await
        .is_problem(404, "unknown-entry");
}

fn stranger_signer() -> PassSigner {
    PassSigner::from_pem(ISSUER, &new_key_pem([9; 32])).expect("a key")
}

#[tokio::test]
async fn a_ready_visitor_is_claimed_by_name_and_not_by_a_token() {
    let edge = full(json!({ "session_seconds": 20 })).await;
    let (guest, _) = enters(&edge).await;
    let by_name = || at(&guest, "validate").json(&json!({ "visitor": guest.id }));
    edge.send(by_name()).await.is_problem(409, "not-your-turn");
    edge.pass_seconds(20);
    edge.promote().await;
    edge.send(at(&guest, "complete"))
        .await
        .is_problem(409, "not-your-turn");
    edge.send(at(&guest, "extend").visitor(&guest.id))
        .await
        .is_problem(409, "not-your-turn");
    let claimed = edge.send(by_name()).await;
    assert_eq!(
        (claimed.is(200).text("state"), &claimed.body["durable"]),
        ("active", &json!(true))
    );
}

#[tokio::test]
async fn completing_is_harmless_again_and_unknown_where_nobody_ever_was() {
    let edge = EdgeUnderTest::open(json!({})).await;
    let (guest, _) = enters(&edge).await;
    for _ in 0..2 {
        assert!(edge.send(at(&guest, "complete")).await.is(204).body.is_null());
    }
    let nobody = Guest {
        id: stranger(),
        token: "0f8fad5b-d9cb-869f-a165-70867728950e".to_owned(),
    };
    edge.send(at(&nobody, "complete"))
        .await
        .is_problem(404, "unknown-entry");
    edge.send(Ask::get(entry(&nobody.token)))
        .await
        .is_problem(404, "unknown-entry");
}

#[tokio::test]
async fn a_session_is_extended_and_never_past_its_longest() {
    let settings = json!({ "session_seconds": 100, "session_max_seconds": 250 });
    let edge = EdgeUnderTest::open(settings).await;
    let (guest, entered) = enters(&edge).await;
    let began_ms = edge.now_ms();
    edge.pass_seconds(50);
    let extended = edge.send(at(&guest, "extend").visitor(&guest.id)).await;
    assert_eq!(
        extended.is(200).number("expires_at_ms"),
        began_ms + 150_000,
        "session_seconds from now"
    );
    let wish = json!({ "seconds": 10_000, "visit": entered.number("visit") });
    let by_visitor = edge
        .send(at(&guest, "extend").visitor(&guest.id).json(&wish))
        .await;
    assert_eq!(
        by_visitor.is(200).number("expires_at_ms"),
        began_ms + 250_000,
        "from the claim"
    );
    assert!(by_visitor.body["pass"].is_string());
    let never_shorter = edge
        .send(
            at(&guest, "extend")
                .visitor(&guest.id)
                .json(&json!({ "seconds": 1 })),
        )
        .await;
    assert_eq!(never_shorter.is(200).number("expires_at_ms"), began_ms + 250_000);
    let thief = at(&guest, "extend").visitor(&stranger());
    edge.send(thief).await.is_problem(403, "token-owner-mismatch");
    // Nobody guards these routes, so nobody is proven to be the service.
    edge.send(at(&guest, "extend"))
        .await
        .is_problem(403, "visitor-required");
}

#[tokio::test]
async fn where_visitors_come_with_the_services_sort_of_credentials_a_list_tells_them_apart() {
    const SHOP: &str = "arn:aws:sts::123456789012:assumed-role/shop/i-0123";
    const APP: &str = "arn:aws:sts::123456789012:assumed-role/app/visitor";
    for (listed, service_routes, visitor_routes, field, service, visitor) in [
        (
            "arn:aws:iam::123456789012:role/shop",
            ServiceRoutes::Iam,
            VisitorRoutes::Iam,
            "userArn",
            SHOP,
            APP,
        ),
        (
            "key1,key2",
            ServiceRoutes::ApiKey,
            VisitorRoutes::ApiKey,
            "apiKeyId",
            "key2",
            "key3",
        ),
        // Whoever forgets the list has no service, rather than one for everybody.
        ("", ServiceRoutes::Iam, VisitorRoutes::Iam, "userArn", "", SHOP),
    ] {
        let config = ApiConfig {
            service_routes,
            visitor_routes,
            service_callers: ServiceCallers::from_list(listed),
            ..ApiConfig::default()
        };
        let edge = EdgeUnderTest::with(config, json!({})).await;
        let (guest, _) = enters(&edge).await;
        let call = |what: &str, caller: &str| {
            let resource = format!("/queues/{{queue}}/entries/{{token}}/{what}");
            let mut event = event(
                "POST",
                &resource,
                &json!({ "queue": QUEUE, "token": guest.token }),
            );
            event["body"] = json!("{}");
            event["requestContext"]["identity"][field] = json!(caller);
            with_header(event, "Content-Type", "application/json")
        };
        edge.send_event(&call("extend", visitor))
            .await
            .is_problem(403, "visitor-required");
        edge.send_event(&call("complete", visitor))
            .await
            .is_problem(403, "service-only");
        let own = with_header(call("extend", visitor), "X-Visitor-Id", &guest.id);
        assert!(edge.send_event(&own).await.is(200).body["pass"].is_string());
        if !listed.is_empty() {
            let extended = edge.send_event(&call("extend", service)).await;
            assert!(
                extended.is(200).body.get("pass").is_none(),
                "the service is not the visitor: {extended:?}"
            );
            edge.send_event(&call("complete", service)).await.is(204);
        }
    }
}

#[tokio::test]
async fn the_services_routes_take_nobodys_word_but_the_gateways() {
    const RESOURCE: &str = "/queues/{queue}/entries/{token}/";
    for (service_routes, field, value) in [
        (
            ServiceRoutes::Iam,
            "userArn",
            "arn:aws:iam::123456789012:role/shop",
        ),
        (ServiceRoutes::ApiKey, "apiKeyId", "key1"),
    ] {
        let config = ApiConfig {
            service_routes,
            ..ApiConfig::default()
        };
        let edge = EdgeUnderTest::with(config, json!({})).await;
        let (guest, _) = enters(&edge).await;
        let parameters = json!({ "queue": QUEUE, "token": guest.token });
        let call = |what: &str| {
            let mut event = event("POST", &format!("{RESOURCE}{what}"), &parameters);
            if what == "validate" {
                event["body"] = json!(json!({ "visitor": guest.id }).to_string());
            }
            with_header(event, "Content-Type", "application/json")
        };
        edge.send_event(&call("extend"))
            .await
            .is_problem(403, "visitor-required");
        for what in ["validate", "complete"] {
            edge.send_event(&call(what)).await.is_problem(403, "service-only");
            let forged = with_header(call(what), "X-Api-Key", "key1");
            edge.send_event(&forged).await.is_problem(403, "service-only");
        }
        for (what, status) in [("validate", 200), ("extend", 200), ("complete", 204)] {
            let mut vouched = call(what);
            vouched["requestContext"]["identity"][field] = json!(value);
            edge.send_event(&vouched).await.is(status);
        }
    }
}
