//! Requests with an entry token that does not belong to the visitor who sends it.

use rand::{RngExt, rngs::StdRng};
use serde_json::json;
use uuid::Uuid;
use vestibule_domain::id::EntryId;
use vestibule_tests::{
    api::{ApiRequest, Guest, new_visitor_id},
    in_process::QUEUE,
};

use super::{
    scene::{OTHER_QUEUE, Scene},
    signed::pick,
};

/// A request of a visitor to claim, to extend or to leave, or of the protected service about the visitor.
pub(crate) fn act(random: &mut StdRng, queue: &str, token: &str, visitor: Option<&str>) -> ApiRequest {
    let path = format!("/queues/{queue}/entries/{token}");
    let request = match (random.random_range(0..4), visitor) {
        (0, Some(visitor)) => {
            let (consume, extend) = pick(random, &[(false, false), (true, false), (false, true)]);
            let body = json!({ "visitor": visitor, "consume": consume, "extend": extend });
            return ApiRequest::post(format!("{path}/validate")).json(&body);
        }
        (1, _) => ApiRequest::delete(path),
        (2, _) => ApiRequest::post(format!("{path}/extend")),
        _ => ApiRequest::post(format!("{path}/claim")),
    };
    match visitor {
        Some(visitor) => request.visitor(visitor),
        None => request,
    }
}

/// The active visitor, or the one whose turn it is.
fn victim<'a>(scene: &'a Scene, random: &mut StdRng) -> &'a Guest {
    pick(random, &[&scene.guest, &scene.ready])
}

fn flipped(token: &str, bit: usize) -> String {
    let mut bytes = token.parse::<Uuid>().expect("a token").into_bytes();
    bytes[bit / 8] ^= 1 << (bit % 8);
    Uuid::from_bytes(bytes).to_string()
}

/// The visitor's own token with some bits flipped.
pub(crate) fn flipped_token(scene: &Scene, random: &mut StdRng) -> ApiRequest {
    let guest = victim(scene, random);
    let mut token = flipped(&guest.token, random.random_range(0..128));
    for _ in 0..random.random_range(0..3) {
        let next = flipped(&token, random.random_range(0..128));
        if next != guest.token {
            token = next;
        }
    }
    act(random, QUEUE, &token, Some(&guest.id))
}

/// The visitor's own token with the other kind of visitor.
pub(crate) fn other_kind(scene: &Scene, random: &mut StdRng) -> ApiRequest {
    let guest = victim(scene, random);
    let kind = |token: &str| token.parse().map(EntryId::kind);
    let of_other_kind = (0..128)
        .map(|bit| flipped(&guest.token, bit))
        .find(|token| kind(token).is_ok_and(|kind_of_token| Ok(kind_of_token) != kind(&guest.token)));
    let token = of_other_kind.expect("one bit is the kind");
    act(random, QUEUE, &token, Some(&guest.id))
}

/// The token of another visitor.
pub(crate) fn foreign_token(scene: &Scene, random: &mut StdRng) -> ApiRequest {
    let guest = victim(scene, random);
    let visitor = pick(
        random,
        &[
            scene.neighbour.id.clone(),
            new_visitor_id(),
            Uuid::nil().to_string(),
            guest.token.clone(),
        ],
    );
    act(random, QUEUE, &guest.token, Some(&visitor))
}

/// The visitor's own id with some bits flipped.
pub(crate) fn flipped_visitor(scene: &Scene, random: &mut StdRng) -> ApiRequest {
    let guest = victim(scene, random);
    let visitor = flipped(&guest.id, random.random_range(0..128));
    act(random, QUEUE, &guest.token, Some(&visitor))
}

/// The token of the same visitor in another queue.
pub(crate) fn token_of_other_queue(scene: &Scene, random: &mut StdRng) -> ApiRequest {
    let own = scene.elsewhere.id.clone();
    let (queue, token) = pick(
        random,
        &[
            (QUEUE, &scene.elsewhere.token),
            (OTHER_QUEUE, &scene.guest.token),
            (OTHER_QUEUE, &scene.neighbour.token),
        ],
    );
    let visitor = if token == &scene.neighbour.token {
        scene.neighbour.id.clone()
    } else {
        own
    };
    act(random, queue, token, Some(&visitor))
}

/// The token alone.
pub(crate) fn no_visitor(scene: &Scene, random: &mut StdRng) -> ApiRequest {
    let token = victim(scene, random).token.clone();
    act(random, QUEUE, &token, None)
}

/// A text that is no token.
pub(crate) fn malformed_token(scene: &Scene, random: &mut StdRng) -> ApiRequest {
    let guest = victim(scene, random);
    let token = &guest.token;
    let cut = random.random_range(0..token.len());
    let texts = [
        token[..cut].to_owned() + "%20",
        format!("{token}{}", random.random::<u8>()),
        token.replace('-', ""),
        format!("%7B{token}%7D"),
        format!("urn:uuid:{token}"),
        format!("{token}%00"),
        format!("%2e%2e%2f{token}"),
        format!("{}%F0%9F%8E%AB", &token[..cut]),
        "x".repeat(random.random_range(1..4_000)),
    ];
    let token = pick(random, &texts);
    act(random, QUEUE, &token, Some(&guest.id))
}

/// The genuine pass, shown by another visitor for the entry that it belongs to.
pub(crate) fn pass_of_another_visitor(scene: &Scene, random: &mut StdRng) -> ApiRequest {
    let visitors = [
        scene.neighbour.id.clone(),
        scene.ready.id.clone(),
        new_visitor_id(),
    ];
    let request = ApiRequest::post(format!("/queues/{QUEUE}/entries/{}/validate", scene.guest.token));
    request.json(&json!({ "pass": scene.pass, "visitor": pick(random, &visitors) }))
}

/// The genuine pass at the entry of another visitor.
pub(crate) fn pass_at_another_token(scene: &Scene, random: &mut StdRng) -> ApiRequest {
    let other = pick(random, &[&scene.neighbour, &scene.ready]);
    let mut body = json!({ "pass": scene.pass });
    match random.random_range(0..3) {
        0 => body["visitor"] = json!(other.id),
        1 => body["visit"] = json!(other.visit),
        _ => {}
    }
    ApiRequest::post(format!("/queues/{QUEUE}/entries/{}/validate", other.token)).json(&body)
}
