//! Who is who.

use serde_json::json;
use uuid::Uuid;
use vestibule_tests::{
    api::{Backend, stranger},
    edge::Ask,
};

crate::cases![
    a_visitor_who_brings_nothing_is_drawn_and_known_again_by_the_cookie,
    the_header_wins_over_the_cookie,
    a_name_that_could_be_guessed_is_refused,
    a_token_serves_its_own_visitor_and_nobody_else,
    a_token_alone_only_looks,
];

async fn a_visitor_who_brings_nothing_is_drawn_and_known_again_by_the_cookie(backend: &Backend) {
    let (queue, _) = backend.full_queue(json!({})).await;
    let first = backend.send(queue.entering()).await;
    let drawn = first.is(201).text("visitor").to_owned();
    assert_eq!(drawn.parse::<Uuid>().expect("a UUID").get_version_num(), 4);
    let set_cookie = first.header("set-cookie").to_owned();
    let (pair, attributes) = set_cookie.split_once(';').expect("attributes");
    assert_eq!(pair, format!("{}={drawn}", backend.kind.cookie()));
    let is_secure = attributes.contains("; Secure");
    assert_eq!(is_secure, !backend.kind.is_runner(), "{set_cookie}");
    for attribute in ["HttpOnly", "SameSite=Lax", "Path=/"] {
        assert!(attributes.contains(attribute), "{set_cookie}");
    }
    let again = backend.send(queue.entering().header("cookie", pair)).await;
    assert_eq!(again.is(200).body["token"], first.body["token"]);
    assert!(again.body.get("visitor").is_none() && !again.headers.contains_key("set-cookie"));
    let by_header = backend.send(queue.entering().visitor(&drawn)).await;
    assert_eq!(by_header.is(200).body["token"], first.body["token"]);
}

async fn the_header_wins_over_the_cookie(backend: &Backend) {
    let (queue, _) = backend.full_queue(json!({})).await;
    let (guest, _) = queue.enters().await;
    let cookie = format!("a=b; {}={}", backend.kind.cookie(), stranger());
    let both = queue.entering().visitor(&guest.id).header("cookie", &cookie);
    assert_eq!(backend.send(both).await.is(200).text("token"), guest.token);
    let broken = format!("{}=admin", backend.kind.cookie());
    let nobody = backend.send(queue.entering().header("cookie", &broken)).await;
    assert!(nobody.is(201).body["visitor"].is_string(), "{nobody:?}");
}

async fn a_name_that_could_be_guessed_is_refused(backend: &Backend) {
    let queue = backend.queue(json!({})).await;
    let version_1 = "c232ab00-9414-11ec-b3c8-9f6bdeced846";
    for id in [
        "ada",
        "ada@example.com",
        version_1,
        "0f8fad5bd9cb4469a16570867728950e",
    ] {
        backend
            .send(queue.entering().visitor(id))
            .await
            .refuses("X-Visitor-Id");
    }
}

async fn a_token_serves_its_own_visitor_and_nobody_else(backend: &Backend) {
    let (queue, inside) = backend.full_queue(json!({})).await;
    let (guest, _) = queue.enters().await;
    for guest in [inside, guest] {
        let thief = stranger();
        for ask in [
            Ask::get(queue.of(&guest, "")),
            Ask::delete(queue.of(&guest, "")),
            Ask::post(queue.of(&guest, "/claim")),
        ] {
            let stolen = backend.send(ask.visitor(&thief)).await;
            stolen.is_problem(403, "token-owner-mismatch");
        }
        let extended = backend
            .send_as_service(Ask::post(queue.of(&guest, "/extend")).visitor(&thief))
            .await;
        extended.is_problem(403, "token-owner-mismatch");
        let stolen = json!({ "visitor": thief });
        queue
            .service("validate", &guest, &stolen)
            .await
            .is_problem(403, "token-owner-mismatch");
        queue.looks(&guest).await.is(200);
    }
}

async fn a_token_alone_only_looks(backend: &Backend) {
    let (queue, inside) = backend.full_queue(json!({})).await;
    let look = backend.send(Ask::get(queue.of(&inside, ""))).await;
    assert_eq!(look.is(200).text("state"), "active");
    assert!(look.body.get("pass").is_none(), "{look:?}");
    for ask in [
        Ask::delete(queue.of(&inside, "")),
        Ask::post(queue.of(&inside, "/claim")),
    ] {
        backend.send(ask).await.is_problem(403, "visitor-required");
    }
    assert!(queue.looks(&inside).await.is(200).body["pass"].is_string());
}
