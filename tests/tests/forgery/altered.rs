//! Mutants that alter the genuine pass and keep what they can of its signature.

use base64::{Engine, engine::general_purpose::STANDARD_NO_PAD};
use rand::{Rng, RngExt, rngs::StdRng};
use serde_json::json;

use super::{
    jose::{CURVE_ORDER, Segments, decode, encode},
    scene::Scene,
    signed::pick,
};

/// The characters of base64url.
const BASE64URL: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The header says that there is no signature.
pub(crate) fn no_algorithm(scene: &Scene, random: &mut StdRng) -> String {
    let mut header = scene.header();
    header["alg"] = pick(
        random,
        &[
            json!("none"),
            json!("None"),
            json!("NONE"),
            json!("nOnE"),
            json!(""),
            json!(null),
        ],
    );
    let segments = with_header(scene, &header);
    match random.random_range(0..3) {
        0 => segments.join(),
        1 => format!("{}.{}.", segments.header, segments.claims),
        _ => format!("{}.{}", segments.header, segments.claims),
    }
}

/// The header names another algorithm than the one that signed.
pub(crate) fn other_algorithm(scene: &Scene, random: &mut StdRng) -> String {
    let names = [
        "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES384", "ES512", "ES256K", "EdDSA", "HS256",
        "es256", "ES256 ", "ECDSA",
    ];
    let mut header = scene.header();
    header["alg"] = json!(pick(random, &names));
    if random.random() {
        header["typ"] = json!("JWT");
    }
    with_header(scene, &header).join()
}

fn with_header(scene: &Scene, header: &serde_json::Value) -> Segments {
    Segments {
        header: encode(header.to_string()),
        ..scene.parts.clone()
    }
}

fn flip_bits(random: &mut StdRng, segment: &str) -> String {
    let mut bytes = decode(segment);
    for _ in 0..random.random_range(1..=3) {
        let at = random.random_range(0..bytes.len());
        bytes[at] ^= 1 << random.random_range(0..8);
    }
    encode(bytes)
}

pub(crate) fn flipped_header(scene: &Scene, random: &mut StdRng) -> String {
    let mut parts = scene.parts.clone();
    parts.header = flip_bits(random, &parts.header);
    parts.join()
}

pub(crate) fn flipped_claims(scene: &Scene, random: &mut StdRng) -> String {
    let mut parts = scene.parts.clone();
    parts.claims = flip_bits(random, &parts.claims);
    parts.join()
}

pub(crate) fn flipped_signature(scene: &Scene, random: &mut StdRng) -> String {
    let mut parts = scene.parts.clone();
    parts.signature = flip_bits(random, &parts.signature);
    parts.join()
}

pub(crate) fn changed_character(scene: &Scene, random: &mut StdRng) -> String {
    let mut bytes = scene.pass.clone().into_bytes();
    let at = random.random_range(0..bytes.len());
    bytes[at] = pick(random, BASE64URL);
    String::from_utf8(bytes).expect("ASCII")
}

/// A signature that is too short or too long.
pub(crate) fn other_signature_length(scene: &Scene, random: &mut StdRng) -> String {
    let mut parts = scene.parts.clone();
    let mut signature = decode(&parts.signature);
    if random.random() {
        signature.truncate(random.random_range(0..signature.len()));
    } else {
        signature.extend((0..random.random_range(1..200)).map(|_| random.random::<u8>()));
    }
    parts.signature = encode(signature);
    parts.join()
}

/// A signature of numbers that no signature has, or in another encoding.
pub(crate) fn degenerate_signature(scene: &Scene, random: &mut StdRng) -> String {
    let mut parts = scene.parts.clone();
    let genuine = decode(&parts.signature);
    let (r, s) = genuine.split_at(32);
    let number = |random: &mut StdRng| {
        let mut one = [0; 32];
        one[31] = random.random_range(0..4);
        pick(random, &[[0; 32], one, [0xff; 32], CURVE_ORDER])
    };
    let signature = match random.random_range(0..5) {
        0 => [r, &number(random)[..]].concat(),
        1 => [&number(random)[..], s].concat(),
        2 => [number(random), number(random)].concat(),
        3 => [s, r].concat(),
        _ => {
            // ASN.1, as ECDSA signatures are written elsewhere.
            let integer = |number: &[u8]| [&[2, 33, 0], number].concat();
            [vec![0x30, 70], integer(r), integer(s)].concat()
        }
    };
    parts.signature = encode(signature);
    parts.join()
}

/// ECDSA has two signatures for each message, and anyone can compute the other from one. A pass has one text.
pub(crate) fn other_signature(scene: &Scene, random: &mut StdRng) -> String {
    let pass = pick(random, &[&scene.pass, &scene.earlier_pass, &scene.neighbour_pass]);
    Segments::of(pass).with_other_signature().join()
}

/// Segments of different genuine passes.
pub(crate) fn spliced(scene: &Scene, random: &mut StdRng) -> String {
    let passes = [
        &scene.pass,
        &scene.earlier_pass,
        &scene.neighbour_pass,
        &scene.elsewhere_pass,
    ];
    let passes = passes.map(|pass| Segments::of(pass));
    let claims = random.random_range(0..passes.len());
    let signature = (claims + random.random_range(1..passes.len())) % passes.len();
    Segments {
        header: passes[0].header.clone(),
        claims: passes[claims].claims.clone(),
        signature: passes[signature].signature.clone(),
    }
    .join()
}

/// Segments are missing, repeated, empty or in another order.
pub(crate) fn other_segments(scene: &Scene, random: &mut StdRng) -> String {
    let Segments {
        header,
        claims,
        signature,
    } = &scene.parts;
    let mut segments = vec![header.as_str(), claims, signature];
    match random.random_range(0..4) {
        0 => {
            segments.remove(random.random_range(0..3));
        }
        1 => segments.insert(
            random.random_range(0..4),
            pick(random, &["", "e30", header, signature]),
        ),
        2 => segments[random.random_range(0..3)] = pick(random, &["", "e30", "bnVsbA", "."]),
        _ => segments.rotate_left(random.random_range(1..3)),
    }
    segments.join(".")
}

pub(crate) fn whitespace(scene: &Scene, random: &mut StdRng) -> String {
    let added = pick(
        random,
        &[
            " ", "\n", "\t", "\r\n", "\u{0}", "\u{a0}", "\u{feff}", "Bearer ", "%20", "=",
        ],
    );
    let mut text = scene.pass.clone();
    let at = match random.random_range(0..4) {
        0 => 0,
        1 => text.len(),
        _ => random.random_range(0..text.len()),
    };
    text.insert_str(at, added);
    text
}

/// Another text for the same bytes of a segment. Of the signature, it is no forgery, and is refused all the same: a pass has
/// one text.
pub(crate) fn other_base64(scene: &Scene, random: &mut StdRng) -> String {
    let mut parts = scene.parts.clone();
    let text = match random.random_range(0..3) {
        0 => &mut parts.header,
        1 => &mut parts.claims,
        _ => &mut parts.signature,
    };
    match random.random_range(0..3) {
        0 => *text += &"=".repeat(random.random_range(1..4)),
        1 => *text = format!("{}=", STANDARD_NO_PAD.encode(decode(text))),
        _ => {
            // The unused bits of the last character, if there are any.
            let last = text.pop().expect("not empty");
            let value = BASE64URL
                .iter()
                .position(|character| char::from(*character) == last);
            let other = value.expect("a character of base64url") ^ random.random_range(1..4);
            text.push(char::from(BASE64URL[other]));
        }
    }
    parts.join()
}

/// Texts that are no JWT at all.
pub(crate) fn garbage(scene: &Scene, random: &mut StdRng) -> String {
    match random.random_range(0..4) {
        0 => {
            let mut bytes = vec![0; random.random_range(0..600)];
            random.fill_bytes(&mut bytes);
            String::from_utf8_lossy(&bytes).into_owned()
        }
        1 => {
            let deep = "[".repeat(random.random_range(1..2_000));
            format!("{}.{}.{}", encode(&deep), encode(&deep), scene.parts.signature)
        }
        2 => {
            // The JSON serialization of a JWS (RFC 7515, section 7.2.2).
            let Segments {
                header,
                claims,
                signature,
            } = &scene.parts;
            json!({ "protected": header, "payload": claims, "signature": signature }).to_string()
        }
        _ => {
            let nonsense = (0..random.random_range(1..80)).map(|_| random.random::<char>());
            nonsense.collect()
        }
    }
}
