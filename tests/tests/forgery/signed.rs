//! Mutants with a signature of their own: by a foreign key, by a public key used as a secret, or by the deployment's key over
//! other claims.

use jsonwebtoken::{Algorithm, EncodingKey};
use rand::{Rng, RngExt, rngs::StdRng, seq::IndexedRandom};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    jose::{decode, encode, sign_json, sign_texts},
    scene::{OTHER_QUEUE, Scene},
};

/// The claims of a pass.
const CLAIMS: [&str; 9] = ["iss", "aud", "sub", "visit", "jti", "epoch", "iat", "nbf", "exp"];

/// One of the values.
pub(crate) fn pick<T: Clone>(random: &mut StdRng, values: &[T]) -> T {
    values.choose(random).expect("there are values").clone()
}

/// Gives a claim another plausible value.
fn change_claim(scene: &Scene, random: &mut StdRng, claims: &mut Value, claim: &str) {
    let later = |value: &Value, seconds: u64| json!(value.as_u64().expect("a number") + seconds);
    let seconds = random.random_range(1..100_000);
    claims[claim] = match claim {
        "iss" => json!(pick(
            random,
            &[
                "vestibule-local",
                "https://wait.example/",
                "https://evil.example",
                ""
            ]
        )),
        "aud" => json!(pick(random, &[OTHER_QUEUE, "timedeal:123", "*", ""])),
        "sub" => json!(pick(
            random,
            &[
                scene.neighbour.token.as_str(),
                scene.elsewhere.token.as_str(),
                scene.ready.token.as_str()
            ]
        )),
        "jti" => json!(Uuid::from_u128(random.random())),
        claim => later(&claims[claim], seconds),
    };
}

pub(crate) fn foreign_key_with_one_claim_changed(scene: &Scene, random: &mut StdRng) -> String {
    let mut claims = scene.claims();
    let claim = pick(random, &CLAIMS);
    change_claim(scene, random, &mut claims, claim);
    sign_json(&scene.header(), &claims, &scene.foreign_key)
}

/// The claims are right, and the header names the key of the deployment, another one, or none.
pub(crate) fn foreign_key(scene: &Scene, random: &mut StdRng) -> String {
    let mut header = scene.header();
    match random.random_range(0..4) {
        0 => {}
        1 => header["kid"] = json!(encode(random.random::<[u8; 32]>())),
        2 => header["kid"] = json!(""),
        _ => drop(header.as_object_mut().expect("an object").remove("kid")),
    }
    sign_json(&header, &scene.claims(), &scene.foreign_key)
}

/// The header brings the foreign key along, or says where to read it.
pub(crate) fn embedded_key(scene: &Scene, random: &mut StdRng) -> String {
    let public = jsonwebtoken::jwk::Jwk::from_encoding_key(&scene.foreign_key, Algorithm::ES256)
        .expect("a public key");
    let (mut header, certificate) = (scene.header(), encode(random.random::<[u8; 32]>()));
    let (name, value) = pick(
        random,
        &[
            ("jwk", json!(public)),
            ("jku", json!("https://evil.example/.well-known/jwks.json")),
            ("x5u", json!("https://evil.example/cert.pem")),
            ("x5c", json!([certificate])),
        ],
    );
    header[name] = value;
    if random.random() {
        header["kid"] = json!(
            public
                .thumbprint(jsonwebtoken::jwk::ThumbprintHash::SHA256)
                .expect("a thumbprint")
        );
    }
    sign_json(&header, &scene.claims(), &scene.foreign_key)
}

/// The algorithm confusion attack: the published key as the secret of an HMAC.
pub(crate) fn public_key_as_secret(scene: &Scene, random: &mut StdRng) -> String {
    let public =
        jsonwebtoken::jwk::Jwk::from_encoding_key(&scene.own_key, Algorithm::ES256).expect("a public key");
    let public = json!(public);
    let (x, y) = (public["x"].as_str().expect("x"), public["y"].as_str().expect("y"));
    let point = [vec![4], decode(x), decode(y)].concat();
    let secrets = [
        public.to_string().into_bytes(),
        x.as_bytes().to_vec(),
        decode(x),
        point[1..].to_vec(),
        point,
    ];
    let secret = EncodingKey::from_secret(&pick(random, &secrets));
    let algorithm = pick(random, &[Algorithm::HS256, Algorithm::HS384, Algorithm::HS512]);
    let mut header = scene.header();
    header["alg"] = json!(algorithm);
    sign_texts(
        &header.to_string(),
        &scene.claims().to_string(),
        &secret,
        algorithm,
    )
}

/// A token that the deployment signed for another purpose.
pub(crate) fn other_type(scene: &Scene, random: &mut StdRng) -> String {
    let mut header = scene.header();
    match random.random_range(0..8) {
        0 => drop(header.as_object_mut().expect("an object").remove("typ")),
        1 => header["typ"] = json!(encode(random.random::<[u8; 6]>())),
        _ => {
            let types = [
                json!("JWT"),
                json!("at+jwt"),
                json!("pass"),
                json!("PASS+JWT"),
                json!(" pass+jwt"),
                json!(null),
                json!(""),
            ];
            header["typ"] = pick(random, &types);
        }
    }
    sign_json(&header, &scene.claims(), &scene.own_key)
}

/// The deployment signed with a key that it does not publish by this name.
pub(crate) fn other_key_id(scene: &Scene, random: &mut StdRng) -> String {
    let mut header = scene.header();
    let kid = header["kid"].as_str().expect("a key id").to_owned();
    match random.random_range(0..6) {
        0 => drop(header.as_object_mut().expect("an object").remove("kid")),
        1 => header["kid"] = json!(kid[..random.random_range(0..kid.len())]),
        2 => header["kid"] = json!(format!("{kid}{}", random.random::<u8>())),
        3 => header["kid"] = json!(kid.to_lowercase()),
        4 => header["kid"] = json!(null),
        _ => header["kid"] = json!(encode(random.random::<[u8; 32]>())),
    }
    sign_json(&header, &scene.claims(), &scene.own_key)
}

/// A genuine pass of the other queue, or one that names several queues.
pub(crate) fn other_queue(scene: &Scene, random: &mut StdRng) -> String {
    let mut claims = scene.claims();
    let queue = claims["aud"].clone();
    claims["aud"] = match random.random_range(0..5) {
        0 => return scene.elsewhere_pass.clone(),
        1 => json!([OTHER_QUEUE, random.random::<u32>().to_string()]),
        2 => json!(format!("{} ", queue.as_str().expect("text"))),
        3 => json!(format!("queue-{}", random.random::<u32>())),
        _ => json!(OTHER_QUEUE),
    };
    sign_json(&scene.header(), &claims, &scene.own_key)
}

/// A genuine pass of another visitor.
pub(crate) fn other_entry(scene: &Scene, random: &mut StdRng) -> String {
    let mut claims = scene.claims();
    if random.random_range(0..4) == 0 {
        return scene.neighbour_pass.clone();
    }
    change_claim(scene, random, &mut claims, "sub");
    sign_json(&scene.header(), &claims, &scene.own_key)
}

/// A genuine pass of an earlier visit of the same visitor, or of any other visit.
pub(crate) fn other_visit(scene: &Scene, random: &mut StdRng) -> String {
    let mut claims = scene.claims();
    let visit = claims["visit"].as_u64().expect("a number");
    claims["visit"] = match random.random_range(0..5) {
        0 => return scene.earlier_pass.clone(),
        1 => json!(visit + random.random_range(1..1_000_000)),
        2 => json!(visit - random.random_range(1..1_000_000)),
        3 => json!(visit % 4_096),
        _ => json!(random.random_range((1_u64 << 49)..=u64::MAX)),
    };
    // Times at the ends of what a number can hold must not matter.
    if random.random() {
        claims["exp"] = json!(pick(random, &[0, 1, u64::MAX / 1_000, u64::MAX]));
    }
    sign_json(&scene.header(), &claims, &scene.own_key)
}

/// A genuine pass from before a reset.
pub(crate) fn earlier_epoch(scene: &Scene, random: &mut StdRng) -> String {
    let mut claims = scene.claims();
    claims["epoch"] = pick(
        random,
        &[
            json!(0),
            json!(-1),
            json!(0.5),
            json!("1"),
            json!(null),
            json!(1_u64 << 32),
        ],
    );
    claims["jti"] = json!(Uuid::from_u128(random.random()));
    sign_json(&scene.header(), &claims, &scene.own_key)
}

pub(crate) fn other_issuer(scene: &Scene, random: &mut StdRng) -> String {
    let mut claims = scene.claims();
    change_claim(scene, random, &mut claims, "iss");
    claims["jti"] = json!(Uuid::from_u128(random.random()));
    sign_json(&scene.header(), &claims, &scene.own_key)
}

/// A claim is missing or has another type.
pub(crate) fn incomplete_claims(scene: &Scene, random: &mut StdRng) -> String {
    let mut claims = scene.claims();
    let claim = pick(random, &CLAIMS);
    if random.random() {
        claims.as_object_mut().expect("an object").remove(claim);
    } else {
        let others = [
            json!(null),
            json!(true),
            json!({}),
            json!([[]]),
            json!(-1.5),
            json!("\u{0}"),
        ];
        claims[claim] = pick(random, &others);
    }
    sign_json(&scene.header(), &claims, &scene.own_key)
}

/// A name is given twice, so that two parsers may read different values.
pub(crate) fn duplicate_names(scene: &Scene, random: &mut StdRng) -> String {
    let twice = |object: &Value, name: &str, other: &Value, is_first: bool| {
        let text = object.to_string();
        let pair = format!("{}:{other}", json!(name));
        if is_first {
            format!("{{{pair},{}", &text[1..])
        } else {
            format!("{},{pair}}}", &text[..text.len() - 1])
        }
    };
    let (header, claims) = (scene.header(), scene.claims());
    let (name, is_first) = (pick(random, &CLAIMS), random.random());
    let mut changed = claims.clone();
    change_claim(scene, random, &mut changed, name);
    let texts = if random.random_range(0..4) == 0 {
        let (name, other) = pick(
            random,
            &[("alg", json!("none")), ("typ", json!("JWT")), ("kid", json!("x"))],
        );
        (twice(&header, name, &other, is_first), claims.to_string())
    } else {
        (header.to_string(), twice(&claims, name, &changed[name], is_first))
    };
    sign_texts(&texts.0, &texts.1, &scene.own_key, Algorithm::ES256)
}

/// The token is longer than any pass.
pub(crate) fn very_long(scene: &Scene, random: &mut StdRng) -> String {
    // The body of a request has 8 KiB at most. Of the longest ones a few are enough, because they take long to make.
    let length = match random.random_range(0..100) {
        0 => 70_000,
        _ => pick(random, &[1_000, 3_000, 5_000, 7_000, 9_000]),
    };
    let mut filler = vec![0; length];
    random.fill_bytes(&mut filler);
    let (mut header, mut claims) = (scene.header(), scene.claims());
    let part = if random.random() { &mut header } else { &mut claims };
    part[pick(random, &["x", "kid", "crit", "jti"])] = json!(encode(filler));
    sign_json(&header, &claims, &scene.foreign_key)
}
