//! Forged entry tickets, and secrets that prove another entry or nothing.

use jsonwebtoken::{Algorithm, EncodingKey, Header, encode as encode_jwt};
use rand::{RngExt, rngs::StdRng};
use serde_json::{Value, json};
use vestibule_domain::id::{IdKey, Salt, Visitor};
use vestibule_tests::{
    api::ApiRequest,
    functions::root_key,
    in_process::QUEUE,
    tickets::{TicketIssuer, claims},
};

use super::{
    jose::{Segments, decode, encode},
    scene::{OTHER_QUEUE, Scene},
    signed::pick,
    tokens::act,
};

/// A request to enter with the ticket: as a new visitor, or as one who is in line.
fn enter(scene: &Scene, random: &mut StdRng, ticket: &str) -> ApiRequest {
    let request = ApiRequest::enter().json(&json!({ "ticket": ticket }));
    match random.random_range(0..3) {
        0 => request.visitor(&scene.guest.id),
        1 => request.visitor(&scene.ready.id),
        _ => request,
    }
}

/// Right claims, of the member or of a new visitor.
fn right_claims(scene: &Scene, random: &mut StdRng) -> Value {
    let visitor = pick(random, &["member", "eve"]);
    let mut claims = claims(visitor, scene.api.now_ms());
    claims["bypass"] = json!(random.random::<bool>());
    claims
}

pub(crate) fn foreign_key(scene: &Scene, random: &mut StdRng) -> ApiRequest {
    let byte = random.random_range(100..200);
    let issuer = TicketIssuer::ec(pick(random, &["shop-1", "shop-2", ""]), byte);
    let mut header = issuer.header();
    if random.random() {
        header.kid = None;
    }
    if random.random() {
        header.jwk = serde_json::from_value(issuer.jwk()).ok();
    }
    let ticket = encode_jwt(&header, &right_claims(scene, random), &issuer.key).expect("signs");
    enter(scene, random, &ticket)
}

pub(crate) fn public_key_as_secret(scene: &Scene, random: &mut StdRng) -> ApiRequest {
    let jwk = scene.shop.jwk();
    let x = jwk["x"].as_str().expect("a coordinate").to_owned();
    let secret = pick(
        random,
        &[
            x.clone().into_bytes(),
            decode(&x),
            jwk.to_string().into_bytes(),
            Vec::new(),
        ],
    );
    let header = Header {
        alg: pick(random, &[Algorithm::HS256, Algorithm::HS384, Algorithm::HS512]),
        ..scene.shop.header()
    };
    let key = EncodingKey::from_secret(&secret);
    let ticket = encode_jwt(&header, &right_claims(scene, random), &key).expect("signs");
    enter(scene, random, &ticket)
}

pub(crate) fn no_algorithm(scene: &Scene, random: &mut StdRng) -> ApiRequest {
    let name = pick(
        random,
        &[
            json!("none"),
            json!("None"),
            json!("nOnE"),
            json!(""),
            json!(null),
        ],
    );
    let header = json!({ "alg": name, "kid": "shop-1", "typ": "JWT" });
    let message = format!(
        "{}.{}",
        encode(header.to_string()),
        encode(right_claims(scene, random).to_string())
    );
    let ticket = match random.random_range(0..3) {
        0 => format!("{message}."),
        1 => message,
        _ => format!("{message}.{}", encode(random.random::<[u8; 32]>())),
    };
    enter(scene, random, &ticket)
}

pub(crate) fn other_queue(scene: &Scene, random: &mut StdRng) -> ApiRequest {
    let mut claims = right_claims(scene, random);
    claims["aud"] = pick(
        random,
        &[
            json!(OTHER_QUEUE),
            json!([OTHER_QUEUE]),
            json!(QUEUE.to_lowercase()),
            json!(format!("{QUEUE},")),
            json!("*"),
            json!([[QUEUE]]),
            json!({ QUEUE: true }),
        ],
    );
    enter(scene, random, &scene.shop.sign(&claims))
}

pub(crate) fn expired(scene: &Scene, random: &mut StdRng) -> ApiRequest {
    let mut claims = right_claims(scene, random);
    let now = scene.api.now_ms() / 1_000;
    if random.random() {
        claims["exp"] = json!(now - random.random_range(10..1_000_000));
    } else {
        let name = pick(random, &["nbf", "iat"]);
        claims[name] = json!(now + random.random_range(100..1_000_000));
    }
    enter(scene, random, &scene.shop.sign(&claims))
}

fn flip_a_bit(random: &mut StdRng, bytes: &mut [u8]) {
    let bit = random.random_range(0..bytes.len() * 8);
    bytes[bit / 8] ^= 1 << (bit % 8);
}

pub(crate) fn flipped(scene: &Scene, random: &mut StdRng) -> ApiRequest {
    let mut segments = Segments::of(&scene.shop.sign(&right_claims(scene, random)));
    let segment = match random.random_range(0..3) {
        0 => &mut segments.header,
        1 => &mut segments.claims,
        _ => &mut segments.signature,
    };
    let mut bytes = decode(segment);
    flip_a_bit(random, &mut bytes);
    *segment = encode(bytes);
    enter(scene, random, &segments.join())
}

/// The claims of one visitor under the signature of another one.
pub(crate) fn spliced(scene: &Scene, random: &mut StdRng) -> ApiRequest {
    let now = scene.api.now_ms();
    let (own, victim) = (scene.shop.ticket("eve", now), scene.shop.ticket("member", now));
    let spliced = Segments {
        claims: Segments::of(&victim).claims,
        ..Segments::of(&own)
    };
    enter(scene, random, &spliced.join())
}

pub(crate) fn incomplete(scene: &Scene, random: &mut StdRng) -> ApiRequest {
    let mut claims = right_claims(scene, random);
    let name = pick(random, &["sub", "aud", "exp"]);
    match random.random_range(0..3) {
        0 => drop(claims.as_object_mut().expect("an object").remove(name)),
        1 => claims[name] = json!(null),
        _ => claims[name] = json!({ "value": claims[name] }),
    }
    enter(scene, random, &scene.shop.sign(&claims))
}

pub(crate) fn flipped_secret(scene: &Scene, random: &mut StdRng) -> ApiRequest {
    let mut bytes = decode(scene.member.id.strip_prefix("vst_").expect("a secret"));
    flip_a_bit(random, &mut bytes);
    let secret = format!("vst_{}", encode(bytes));
    act(random, QUEUE, &scene.member.token, Some(&secret))
}

/// A genuine secret, and not of this entry of this queue in this generation.
pub(crate) fn foreign_secret(scene: &Scene, random: &mut StdRng) -> ApiRequest {
    let (queue, visitor, salt) = pick(
        random,
        &[
            (QUEUE, "eve", 1),
            (OTHER_QUEUE, "member", 1),
            (QUEUE, "member", 2),
        ],
    );
    let queue = queue.parse().expect("a queue id");
    let ids =
        IdKey::derive_for_queue(&root_key(), &queue, &Salt::new([salt; 32])).expect("the key of the salt");
    let entry = ids.entry_id(&Visitor::known(visitor).expect("a visitor"));
    let secret = ids.visitor_secret(entry);
    let victim = pick(random, &[&scene.member, &scene.guest, &scene.ready]);
    act(random, QUEUE, &victim.token, Some(secret.reveal()))
}
