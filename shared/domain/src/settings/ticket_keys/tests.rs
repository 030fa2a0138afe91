use serde_json::json;

use super::*;

fn ec(kid: Option<&str>) -> Value {
    // The public key of RFC 7515, appendix A.3.1.
    let mut key = json!({
        "kty": "EC", "crv": "P-256",
        "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
        "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
    });
    if let Some(kid) = kid {
        key["kid"] = json!(kid);
    }
    key
}

fn ed() -> Value {
    // The public key of RFC 8037, appendix A.2.
    json!({ "kty": "OKP", "crv": "Ed25519", "kid": "ed", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" })
}

fn rsa(bytes: usize) -> Value {
    json!({ "kty": "RSA", "kid": "rsa", "n": URL_SAFE_NO_PAD.encode(vec![0xc3; bytes]), "e": "AQAB" })
}

fn parse(keys: &[Value]) -> Result<TicketKeys, String> {
    TicketKeys::parse(&json!({ "keys": keys }))
}

fn with(mut key: Value, name: &str, value: Value) -> Value {
    key[name] = value;
    key
}

#[test]
fn a_set_and_its_text_give_the_same_keys() {
    let set = json!({ "keys": [ec(Some("ec")), ed(), rsa(256)] });
    let keys = TicketKeys::parse(&set).expect("valid");
    assert_eq!(TicketKeys::parse(&json!(set.to_string())), Ok(keys.clone()));
    let stored = serde_json::to_value(&keys).expect("JSON");
    assert_eq!(stored, set);
    let algorithm = |kid| keys.find(Some(kid)).expect("a key").algorithm().name();
    assert_eq!(
        [algorithm("ec"), algorithm("ed"), algorithm("rsa")],
        ["ES256", "EdDSA", "RS256"]
    );
    assert!(keys.find(Some("other")).is_none() && keys.find(None).is_none());
}

#[test]
fn a_single_key_needs_no_id() {
    let unnamed = parse(&[ec(None)]).expect("valid");
    assert!(unnamed.find(None).is_some() && unnamed.find(Some("any")).is_some());
    let named = parse(&[ec(Some("a"))]).expect("valid");
    assert!(named.find(None).is_some() && named.find(Some("a")).is_some());
    assert!(
        named.find(Some("b")).is_none(),
        "a ticket of a key that was removed"
    );
}

#[test]
fn a_set_is_refused_with_its_reason() {
    let many: Vec<_> = (0..11).map(|number| ec(Some(&number.to_string()))).collect();
    for (set, reason) in [
        (json!([]), "must be a JWK set: an object"),
        (json!({}), "must be a JWK set: an object"),
        (json!("{\"keys\": ["), "a JSON text of one"),
        (json!({ "keys": {} }), "must be a JWK set: an object"),
        (ec(None), "is a single key"),
        (json!({ "keys": [] }), "at least one key"),
        (json!({ "keys": many }), "at most 10 keys"),
        (json!({ "keys": ["x".repeat(16_400)] }), "at most 16384 bytes"),
        (json!({ "keys": ["x"] }), "key number 1 must be an object"),
        (json!({ "keys": [{ "kid": "a" }] }), "must have a `kty`"),
        (
            json!({ "keys": [ec(None), ec(Some("b"))] }),
            "key number 1 must have a kid",
        ),
        (
            json!({ "keys": [ec(Some("b")), ed(), ec(Some("b"))] }),
            "the kid of key number 3",
        ),
        (json!({ "keys": [{ "kty": "oct", "k": "AAAA" }] }), "is symmetric"),
    ] {
        let refused = TicketKeys::parse(&set).expect_err(reason);
        assert!(refused.contains(reason), "{reason}: {refused}");
    }
}

#[test]
fn a_key_is_refused_with_its_reason() {
    for (key, reason) in [
        (with(ec(None), "d", json!("jpsQnnGQ")), "is a private key"),
        (with(rsa(256), "p", json!("AAAA")), "is a private key"),
        (with(ec(None), "crv", json!("P-384")), "must be of the type"),
        (with(ed(), "crv", json!("X25519")), "must be of the type"),
        (with(ec(None), "kty", json!("ec")), "must be of the type"),
        (with(ec(None), "alg", json!("HS256")), "must have the `alg` ES256"),
        (with(rsa(256), "alg", json!("PS256")), "must have the `alg` RS256"),
        (with(ec(None), "use", json!("enc")), "must have the `use` sig"),
        (with(ec(None), "x", json!("AAAA")), "must have `x`: 32 bytes"),
        (with(ec(None), "y", json!(7)), "must have `y`: 32 bytes"),
        (with(ed(), "x", json!("A".repeat(43))), "must have `x`: 32 bytes"),
        (rsa(255), "must have `n`: 256 to 1024 bytes"),
        (with(rsa(256), "e", json!("")), "must have `e`: 1 to 8 bytes"),
        (with(ec(None), "kid", json!(7)), "must have a kid of 1 to 256"),
        (with(ec(None), "kid", json!("")), "must have a kid of 1 to 256"),
    ] {
        let refused = parse(&[key]).expect_err(reason);
        assert!(refused.contains(reason), "{reason}: {refused}");
    }
}
