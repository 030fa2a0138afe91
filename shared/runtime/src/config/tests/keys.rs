use aws_config::{BehaviorVersion, SdkConfig};
use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use vestibule_api::{config::Keys, pass::new_key_pem};

use super::{
    super::{ConfigErrors, KeysConfig},
    vars,
};

/// A text of the form that `CloudFormation`'s `GenerateSecretString` creates: 64 letters and digits.
const GENERATED_TEXT: &str = "Zk3vQ9sT1xWb7LrN5yPcE2mHdJ8fGaU0oKiVXtR4uSqYwMzBnCjDhFgA6eIlOpT1";
/// The public key that [`GENERATED_TEXT`] must yield, computed by another implementation (Python's
/// `hmac`, and `cryptography` for P-256): `derive_private_key(int.from_bytes(hmac.digest(text,
/// b"vestibule ES256 signing key 1.1", "sha256"), "big"), SECP256R1()).public_key()`
const GENERATED_PUBLIC_KEY: (&str, &str) = (
    "XTZJ2q78xW94AOaMPjvvADAzqw4402QRJx3aamF7ThE",
    "vFRJL49qrmFz2785daXsCNpauZcPYnytnzLoItSIMDA",
);

/// Reads and fetches keys, none of which is in Secrets Manager.
async fn keys(set: &[(&str, &str)]) -> Result<Keys, ConfigErrors> {
    let aws = SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .build();
    let issuer = [("VESTIBULE_ISSUER", "https://wait.example")];
    KeysConfig::read(&vars(&[&issuer, set].concat()))?
        .fetch(&aws)
        .await
}

#[tokio::test]
async fn keys_of_every_form_are_read_and_never_printed() {
    let pem = new_key_pem(|| [5; 32]).replace('\n', "\\n");
    for root in [
        "ab".repeat(32),
        STANDARD.encode([7; 32]),
        URL_SAFE_NO_PAD.encode([0xff; 40]),
        GENERATED_TEXT.to_owned(),
    ] {
        for signing in [pem.as_str(), GENERATED_TEXT] {
            let set = [
                ("VESTIBULE_ROOT_KEY", root.as_str()),
                ("VESTIBULE_SIGNING_KEY", signing),
            ];
            let keys = keys(&set).await.expect("valid");
            let shown = format!("{keys:?}");
            assert!(
                !shown.contains(&root) && shown.contains("RootKey(***)"),
                "{shown}"
            );
            let config = format!(
                "{:?}",
                KeysConfig::read(&vars(&[&set[..], &[("VESTIBULE_ISSUER", "x")]].concat()))
            );
            assert!(!config.contains(&root) && !config.contains(signing), "{config}");
        }
    }
}

#[tokio::test]
async fn invalid_key_is_named_and_not_printed() {
    let pem = new_key_pem(|| [5; 32]);
    let good = "ab".repeat(32);
    for (root, signing, named) in [
        ("abcd", pem.as_str(), "VESTIBULE_ROOT_KEY"),
        ("not a key", &pem, "VESTIBULE_ROOT_KEY"),
        (&good, "not a key", "VESTIBULE_SIGNING_KEY"),
        (&good, &GENERATED_TEXT[1..], "VESTIBULE_SIGNING_KEY"),
    ] {
        let error = keys(&[("VESTIBULE_ROOT_KEY", root), ("VESTIBULE_SIGNING_KEY", signing)]).await;
        let error = error.expect_err(named);
        assert_eq!(error.names(), [named]);
        assert!(
            !error.to_string().contains(root) && !error.to_string().contains(signing),
            "{error}"
        );
    }
}

#[tokio::test]
async fn generated_text_always_derives_the_same_key() {
    let keys = keys(&[
        ("VESTIBULE_ROOT_KEY", GENERATED_TEXT),
        ("VESTIBULE_SIGNING_KEY", GENERATED_TEXT),
    ])
    .await;
    let jwks = serde_json::to_value(keys.expect("valid").passes.jwks()).expect("JSON");
    let key = &jwks["keys"][0];
    assert_eq!(
        (key["x"].as_str(), key["y"].as_str()),
        (Some(GENERATED_PUBLIC_KEY.0), Some(GENERATED_PUBLIC_KEY.1))
    );
}

#[tokio::test]
async fn key_given_twice_or_not_at_all_is_refused() {
    let plain = ("VESTIBULE_ROOT_KEY", GENERATED_TEXT);
    let secret = ("VESTIBULE_SIGNING_KEY_SECRET", "vestibule/signing");
    for (set, named, says) in [
        (
            &[plain][..],
            "VESTIBULE_SIGNING_KEY",
            "neither is VESTIBULE_SIGNING_KEY_SECRET",
        ),
        (
            &[secret],
            "VESTIBULE_ROOT_KEY",
            "neither is VESTIBULE_ROOT_KEY_SECRET",
        ),
        (
            &[plain, secret, ("VESTIBULE_ROOT_KEY_SECRET", "vestibule/root")],
            "VESTIBULE_ROOT_KEY_SECRET",
            "beside VESTIBULE_ROOT_KEY:",
        ),
        (
            &[plain, secret, ("VESTIBULE_SIGNING_KEY", GENERATED_TEXT)],
            "VESTIBULE_SIGNING_KEY_SECRET",
            "beside VESTIBULE_SIGNING_KEY:",
        ),
    ] {
        let error = keys(set).await.expect_err(says);
        assert_eq!(error.names(), [named]);
        assert!(
            error.to_string().contains(says) && !error.to_string().contains(GENERATED_TEXT),
            "{error}"
        );
    }
}
