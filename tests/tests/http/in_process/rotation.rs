//! Rotation of the signing key: processes that share a store of keys, visitors, and a service that checks passes offline
//! with the keys that it may cache.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use axum::Router;
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header, jwk::JwkSet};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use vestibule_api::{
    config::Keys,
    pass::{PassKeys, new_key_pem},
};
use vestibule_domain::key_ring::{KeyRing, RotationTimes};
use vestibule_engine::key_store::KeyStore;
use vestibule_faults::MemoryKeyStore;
use vestibule_tests::{
    api::new_visitor_id,
    in_process::{ApiRequest, ApiResponse, BOUND, ISSUER, InProcessApi, QUEUE, keys, send_to},
    waiting::poll_until,
};

super::cases![
    no_pass_is_refused_while_the_keys_rotate,
    a_process_reads_the_keys_again_for_a_key_that_it_does_not_know,
    without_the_store_a_process_goes_on_with_its_keys,
];

const CACHE_SECONDS: u32 = 1;
const SESSION_SECONDS: u32 = 3;
/// How often the service and the visitors act.
const PAUSE: Duration = Duration::from_millis(50);

/// Processes of one deployment, which share a store of keys.
struct Deployment {
    api: InProcessApi,
    store: Arc<MemoryKeyStore>,
}

impl Deployment {
    async fn start() -> Self {
        let settings = json!({
            "capacity": 10_000, "batch": 10_000, "interval_seconds": 1, "session_seconds": SESSION_SECONDS,
            "session_max_seconds": SESSION_SECONDS,
        });
        Self {
            api: InProcessApi::start(settings).await,
            store: Arc::new(MemoryKeyStore::new(KeyRing::single(new_key_pem(|| [5; 32])))),
        }
    }

    async fn start_process(&self, cache_seconds: u32) -> Router {
        let passes = PassKeys::load(ISSUER, self.store.clone(), cache_seconds).await;
        let passes = passes.expect("the store has keys");
        self.api.start_process_with_keys(Keys { passes, ..keys() })
    }
}

/// Enters, and returns the path of the entry and its pass.
async fn enter(process: &Router) -> (String, String) {
    let entered = send_to(process, ApiRequest::enter().visitor(&new_visitor_id())).await;
    let entered = entered.expect_status(201);
    let path = vestibule_tests::in_process::entry_path(entered.text("token"));
    (path, entered.text("pass").to_owned())
}

async fn validate(process: &Router, path: &str, pass: &str) -> ApiResponse {
    let validate = ApiRequest::post(format!("{path}/validate"));
    send_to(process, validate.json(&json!({ "pass": pass }))).await
}

fn key_id(pass: &str) -> String {
    decode_header(pass).expect("a header").kid.expect("a key id")
}

/// A service that checks passes by itself. It reads the published keys when its copy has reached the age that the answer
/// allowed, and for no other reason.
struct OfflineVerifier {
    keys: JwkSet,
    read_at: Instant,
    max_age: Duration,
}

impl OfflineVerifier {
    async fn read(process: &Router) -> Self {
        let answer = send_to(process, ApiRequest::get("/.well-known/jwks.json")).await;
        let answer = answer.expect_status(200);
        let max_age = answer
            .header("cache-control")
            .rsplit_once("max-age=")
            .expect("an age")
            .1;
        Self {
            max_age: Duration::from_secs(max_age.parse().expect("seconds")),
            keys: serde_json::from_value(answer.body.clone()).expect("a key set"),
            read_at: Instant::now(),
        }
    }

    async fn accepts(&mut self, process: &Router, pass: &str) -> bool {
        if self.read_at.elapsed() >= self.max_age {
            *self = Self::read(process).await;
        }
        let Some(key) = self.keys.find(&key_id(pass)) else {
            return false;
        };
        let mut expected = Validation::new(Algorithm::ES256);
        expected.set_audience(&[QUEUE]);
        let key = DecodingKey::from_jwk(key).expect("a key");
        decode::<Value>(pass, &key, &expected).is_ok()
    }
}

async fn no_pass_is_refused_while_the_keys_rotate() {
    let deployment = Deployment::start().await;
    let mut processes = Vec::new();
    for _ in 0..3 {
        processes.push(deployment.start_process(CACHE_SECONDS).await);
    }
    let mut verifier = OfflineVerifier::read(&processes[0]).await;
    let (old_path, old_pass) = enter(&processes[0]).await;

    let ring = deployment.store.read().await.expect("a ring");
    let times = RotationTimes {
        key_cache_seconds: CACHE_SECONDS,
        pass_seconds_max: SESSION_SECONDS,
    };
    let new_key = new_key_pem(|| [6; 32]);
    let ring = ring
        .rotate(new_key, vestibule_clock::now_ms(), times)
        .expect("rotated");
    deployment.store.write(&ring).await.expect("written");
    let retires_at_ms = ring.keys()[0].retires_at_ms.expect("it retires");

    let mut key_ids = Vec::new();
    let mut nth = 0;
    while vestibule_clock::now_ms() < retires_at_ms {
        nth += 1;
        let (path, pass) = enter(&processes[nth % 3]).await;
        assert!(
            verifier.accepts(&processes[(nth + 1) % 3], &pass).await,
            "pass {nth}"
        );
        let validated = validate(&processes[(nth + 2) % 3], &path, &pass).await;
        assert_eq!(validated.expect_status(200).body["valid"], true, "pass {nth}");
        key_ids.push(key_id(&pass));
        sleep(PAUSE).await;
    }
    let used: BTreeSet<_> = key_ids.iter().collect();
    assert_eq!(used.len(), 2, "both keys signed");
    let first_new = key_ids
        .iter()
        .position(|id| *id != key_ids[0])
        .expect("a new key");
    assert!(
        key_ids[first_new..].iter().all(|id| *id != key_ids[0]),
        "the old key signs no more"
    );

    let published = async || OfflineVerifier::read(&processes[1]).await.keys.keys.len();
    poll_until(BOUND, published, |keys| *keys == 1).await;
    let refused = validate(&processes[1], &old_path, &old_pass).await;
    assert_eq!(refused.status, 403, "a pass of the retired key: {refused:?}");
}

async fn a_process_reads_the_keys_again_for_a_key_that_it_does_not_know() {
    let deployment = Deployment::start().await;
    let old = deployment.start_process(86_400).await;
    // An operator replaces the whole secret by hand.
    deployment
        .store
        .write(&KeyRing::single(new_key_pem(|| [6; 32])))
        .await
        .expect("written");
    let new = deployment.start_process(86_400).await;
    let reads = deployment.store.reads();
    let accepted = poll_until(
        BOUND,
        async || {
            let (path, pass) = enter(&new).await;
            validate(&old, &path, &pass).await
        },
        |answer| answer.status == 200,
    )
    .await;
    assert_eq!(accepted.body["valid"], true);
    assert_eq!(
        deployment.store.reads(),
        reads + 1,
        "the ring is not read for each pass"
    );
}

async fn without_the_store_a_process_goes_on_with_its_keys() {
    let deployment = Deployment::start().await;
    let process = deployment.start_process(CACHE_SECONDS).await;
    deployment.store.set_down(true);
    let reads = deployment.store.reads();
    poll_until(
        BOUND,
        async || {
            let (path, pass) = enter(&process).await;
            validate(&process, &path, &pass).await.expect_status(200);
            deployment.store.reads()
        },
        |now| *now > reads + 1,
    )
    .await;
}
