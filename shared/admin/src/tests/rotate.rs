//! The command `rotate`.

use std::sync::Arc;

use serde_json::{Value, json};
use vestibule_domain::key_ring::KeyRing;
use vestibule_engine::key_store::{FixedKey, KeyStore};
use vestibule_faults::MemoryKeyStore;

use super::AdminFixture;
use crate::SigningKeys;

const ROTATE: &str = "rotate";
/// The cache time of the fixture, in milliseconds.
const CACHE_MS: u64 = 300_000;
const CLOCKS_MS: u64 = 5_000;

#[tokio::test]
async fn the_old_key_retires_after_the_longest_session_of_any_queue() {
    let desk =
        AdminFixture::with_queue(json!({ "session_max_seconds": 7_200, "outage_grace_seconds": 60 })).await;
    desk.run(json!({ "op": "create", "queue": "short", "settings": { "session_max_seconds": 600 } }))
        .await;
    let rotated = desk.run(json!({ "op": ROTATE })).await;
    let at = |name: &str| rotated[name].as_u64().expect("a time");
    assert_eq!(
        at("signs_from_ms") - at("published_at_ms"),
        2 * CACHE_MS + CLOCKS_MS
    );
    assert_eq!(
        at("old_key_retires_at_ms") - at("signs_from_ms"),
        CACHE_MS + CLOCKS_MS + 7_260_000
    );
    assert_eq!(
        (&rotated["keys"], &rotated["key_cache_seconds"]),
        (&json!(2), &json!(300))
    );
    let ring = desk.admin.signing_keys.store.read().await.expect("stored");
    let [old, new] = ring.keys() else {
        panic!("{ring:?}")
    };
    assert_ne!(old.key, new.key);
    assert!(!rotated.to_string().contains(&new.key), "no answer shows a key");
}

#[tokio::test]
async fn a_second_rotation_waits_for_the_first() {
    let desk = AdminFixture::new();
    let first = desk.run(json!({ "op": ROTATE })).await;
    let ring = desk.admin.signing_keys.store.read().await;
    let second = desk.admin.handle(json!({ "op": ROTATE })).await;
    assert_eq!(second["problem"]["code"], "rotation-under-way", "{second}");
    assert_eq!(second["problem"]["signs_from_ms"], first["signs_from_ms"]);
    assert_eq!(
        desk.admin.signing_keys.store.read().await,
        ring,
        "it changes nothing"
    );
}

#[tokio::test]
async fn a_leak_voids_all_keys_also_while_another_rotation_waits() {
    let desk = AdminFixture::new();
    desk.run(json!({ "op": ROTATE })).await;
    let before = desk.admin.signing_keys.store.read().await.expect("stored");
    let rotated = desk.run(json!({ "op": ROTATE, "leaked": true })).await;
    assert_eq!(rotated["signs_from_ms"], rotated["published_at_ms"], "at once");
    assert_eq!(
        (
            &rotated["keys"],
            &rotated["void_keys"],
            &rotated["old_key_retires_at_ms"]
        ),
        (&json!(1), &json!(2), &Value::Null)
    );
    let ring = desk.admin.signing_keys.store.read().await.expect("stored");
    let void: Vec<_> = before.keys().iter().map(|key| key.key.clone()).collect();
    assert_eq!(ring.void_keys(), void);
    desk.expect_refused_field(json!({ "op": ROTATE, "leaked": "yes" }), "leaked")
        .await;
}

#[tokio::test]
async fn keys_without_a_store_and_stores_that_fail_are_named() {
    let mut desk = AdminFixture::new();
    let store = Arc::new(MemoryKeyStore::new(KeyRing::single("one")));
    store.set_down(true);
    for (store, code) in [
        (
            Arc::new(FixedKey(KeyRing::single("one"))) as Arc<dyn KeyStore>,
            "key-fixed",
        ),
        (store, "keys-unavailable"),
    ] {
        desk.admin.signing_keys = SigningKeys {
            store,
            cache_seconds: 300,
        };
        let answer = desk.admin.handle(json!({ "op": ROTATE })).await;
        assert_eq!(answer["problem"]["code"], code, "{answer}");
    }
}
