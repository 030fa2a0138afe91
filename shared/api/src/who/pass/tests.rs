use serde_json::{Value, json};
use vestibule_domain::{
    id::{IdKey, RootKey, Salt, Visitor},
    key_ring::KeyRing,
};

use super::{key_set::PassKeySet, *};

const NOW_MS: u64 = 1_800_000_000_400;
/// The private key of RFC 7515, appendix A.3.1.
const RFC_KEY: [u8; 32] = [
    0x8e, 0x9b, 0x10, 0x9e, 0x71, 0x90, 0x98, 0xbf, 0x98, 0x04, 0x87, 0xdf, 0x1f, 0x5d, 0x77, 0xe9, 0xcb,
    0x29, 0x60, 0x6e, 0xbe, 0xd2, 0x26, 0x3b, 0x5f, 0x57, 0xc2, 0x13, 0xdf, 0x84, 0xf4, 0xb2,
];
/// Its thumbprint by another implementation: Python's `hashlib` over the members that RFC 7638 names.
const RFC_THUMBPRINT: &str = "oKIywvGUpTVTyxMQ3bwIIeQUudfr_CkLMjCE19ECD-U";

fn signer() -> PassSigner {
    PassSigner::from_pem("https://wait.example", &new_key_pem(|| RFC_KEY)).expect("a key")
}

fn queue(name: &str) -> QueueId {
    name.parse().expect("a queue id")
}

fn entry(visitor: &str) -> EntryId {
    let root = RootKey::new(vec![7; 32]).expect("long enough");
    IdKey::derive_for_queue(&root, &queue("a"), &Salt::new([1; 32]))
        .expect("the key of the salt")
        .entry_id(&Visitor::known(visitor).expect("valid"))
}

fn sign_pass(signer: &PassSigner, pass_end_ms: u64) -> Pass {
    let grant = PassGrant {
        queue: &queue("a"),
        entry: entry("ada"),
        visit: Visit::new(7).expect("in range"),
        epoch: 3,
        pass_end_ms,
    };
    signer.sign(&grant, NOW_MS).expect("signs")
}

#[test]
fn the_key_id_is_the_rfc_7638_thumbprint() {
    let ring = KeyRing::single(new_key_pem(|| RFC_KEY));
    let keys = PassKeySet::from_ring("https://wait.example", ring).expect("a key");
    let jwks = serde_json::to_value(keys.jwks(NOW_MS)).expect("JSON");
    let expected = json!({ "keys": [{
        "kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": RFC_THUMBPRINT,
        "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
        "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
    }] });
    assert_eq!(jwks, expected);
}

#[test]
fn a_pass_names_entry_queue_visit_and_expiry() {
    let signer = signer();
    let signed = sign_pass(&signer, NOW_MS + 60_000);
    let claims = signer
        .verify(signed.reveal(), &queue("a"), entry("ada"), NOW_MS)
        .expect("good");
    assert_eq!((claims.visit, claims.epoch), (7, 3));
    assert_eq!((claims.iat, claims.nbf), (1_800_000_000, 1_800_000_000));
    assert_eq!(claims.exp, 1_800_000_060);
    let header = decode_header(signed.reveal()).expect("a header");
    assert_eq!(
        (header.typ.as_deref(), header.kid.as_deref(), header.alg),
        (Some(PASS_TYPE), Some(RFC_THUMBPRINT), Algorithm::ES256)
    );
}

#[test]
fn a_pass_is_valid_until_the_second_of_its_end() {
    let signer = signer();
    let signed = sign_pass(&signer, NOW_MS + 10_000);
    let check = |now_ms| signer.verify(signed.reveal(), &queue("a"), entry("ada"), now_ms);
    assert_eq!(check(NOW_MS + 9_000).expect("good").exp, 1_800_000_010);
    assert_eq!(check(NOW_MS + 10_000), Err(PassError::Expired));
    assert_eq!(check(NOW_MS - 1_000), Err(PassError::TooEarly));
}

#[test]
fn a_pass_is_valid_only_for_its_queue_and_entry() {
    let signer = signer();
    let signed = sign_pass(&signer, NOW_MS + 60_000);
    let check = |queue: &QueueId, entry| signer.verify(signed.reveal(), queue, entry, NOW_MS);
    assert_eq!(check(&queue("b"), entry("ada")), Err(PassError::WrongQueue));
    assert_eq!(check(&queue("a"), entry("bob")), Err(PassError::WrongEntry));
    let elsewhere = PassSigner::from_pem("https://other.example", &new_key_pem(|| RFC_KEY)).expect("a key");
    let refused = elsewhere.verify(signed.reveal(), &queue("a"), entry("ada"), NOW_MS);
    assert_eq!(refused, Err(PassError::WrongIssuer));
    let rotated = PassSigner::from_pem("https://wait.example", &new_key_pem(|| [9; 32])).expect("a key");
    let refused = rotated.verify(signed.reveal(), &queue("a"), entry("ada"), NOW_MS);
    assert_eq!(refused, Err(PassError::UnknownKey));
}

/// Builds a token with fixed claims, with the given header and signing key.
fn forge_token(header: &Header, key: &EncodingKey) -> String {
    let claims = json!({
        "iss": "https://wait.example", "aud": "a", "sub": entry("ada").to_string(), "visit": 7,
        "jti": Uuid::new_v4(), "epoch": 3, "iat": 1_800_000_000, "nbf": 1_800_000_000, "exp": 1_800_000_060,
    });
    with_low_signature(encode::<Value>(header, &claims, key).expect("signs"))
}

#[test]
fn a_forged_pass_is_refused() {
    let signer = signer();
    let check = |token: &str| signer.verify(token, &queue("a"), entry("ada"), NOW_MS);
    let good = Header {
        typ: Some(PASS_TYPE.to_owned()),
        kid: Some(RFC_THUMBPRINT.to_owned()),
        ..Header::new(Algorithm::ES256)
    };
    let ours = EncodingKey::from_ec_pem(new_key_pem(|| RFC_KEY).as_bytes()).expect("a key");
    let theirs = EncodingKey::from_ec_pem(new_key_pem(|| [9; 32]).as_bytes()).expect("a key");
    assert!(
        check(&forge_token(&good, &ours)).is_ok(),
        "without a forged part, the hand-made token is a valid pass"
    );
    assert_eq!(
        check(&forge_token(&good, &theirs)),
        Err(PassError::WrongSignature)
    );

    let plain = Header {
        typ: Some("JWT".to_owned()),
        ..good.clone()
    };
    assert_eq!(check(&forge_token(&plain, &ours)), Err(PassError::WrongType));
    // The algorithm confusion attack: the public key used as an HMAC secret.
    let confused = Header {
        alg: Algorithm::HS256,
        ..good
    };
    let secret = EncodingKey::from_secret(b"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU");
    assert_eq!(check(&forge_token(&confused, &secret)), Err(PassError::WrongType));
    for nonsense in ["", "a.b.c", "eyJhbGciOiJub25lIn0.e30.", "\u{0}"] {
        assert_eq!(check(nonsense), Err(PassError::Malformed), "{nonsense:?}");
    }
}

#[test]
fn debug_output_hides_keys_and_passes() {
    let signer = signer();
    let signed = sign_pass(&signer, NOW_MS + 60_000);
    let shown = format!("{signer:?} {signed:?}");
    assert!(
        !shown.contains(signed.reveal()) && !shown.contains("jpsQnnGQ"),
        "{shown}"
    );
}

#[test]
fn a_signing_key_of_another_type_is_refused() {
    // The Ed25519 key of RFC 8410, section 10.3.
    let ed25519 = "-----BEGIN PRIVATE KEY-----\n\
        MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n-----END PRIVATE KEY-----\n";
    for bad in [
        "",
        ed25519,
        "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
    ] {
        assert_eq!(
            PassSigner::from_pem("x", bad).err(),
            Some(PassError::InvalidSigningKey)
        );
    }
}
