//! Rotation of the signing key: processes that share a store of keys, visitors, and a service that checks passes offline
//! with the keys that it may cache.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use axum::Router;
use jsonwebtoken::{
    Algorithm, DecodingKey, Validation, dangerous::insecure_decode_claims, decode, decode_header, jwk::JwkSet,
};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use vestibule_api::{
    config::Keys,
    pass::{PassClaims, PassGrant, PassKeys, PassSigner, new_key_pem},
};
use vestibule_domain::{
    key_ring::{KeyRing, RotationTimes},
    score::Visit,
};
use vestibule_engine::key_store::KeyStore;
use vestibule_faults::MemoryKeyStore;
use vestibule_tests::{
    api::new_visitor_id,
    in_process::{ApiRequest, ApiResponse, BOUND, ISSUER, InProcessApi, QUEUE, keys, send_to},
    waiting::poll_until,
};

super::cases![
    no_pass_is_refused_while_the_keys_rotate,
    a_leaked_key_is_void_at_once_and_costs_no_visit,
    a_retiring_key_verifies_no_pass_that_is_dated_later,
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

/// The keys that the public document calls void.
async fn read_void_keys(process: &Router) -> Vec<String> {
    let document = send_to(process, ApiRequest::get(format!("/queues/{QUEUE}"))).await;
    let document = document.expect_status(200);
    match document.body.get("void_keys") {
        Some(void) => serde_json::from_value(void.clone()).expect("a list"),
        None => Vec::new(),
    }
}

/// A service that checks passes by itself. It reads the published keys when its copy has reached the age that the answer
/// allowed, and for no other reason.
struct OfflineVerifier {
    keys: JwkSet,
    void: Vec<String>,
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
            void: read_void_keys(process).await,
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
        if self.void.contains(&key_id(pass)) {
            return false;
        }
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
        .rotate(new_key, vestibule_telemetry::clock::now_ms(), times)
        .expect("rotated");
    deployment.store.write(&ring).await.expect("written");
    let retires_at_ms = ring.keys()[0].retires_at_ms.expect("it retires");

    let mut key_ids = Vec::new();
    let mut nth = 0;
    while vestibule_telemetry::clock::now_ms() < retires_at_ms {
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

async fn a_leaked_key_is_void_at_once_and_costs_no_visit() {
    let deployment = Deployment::start().await;
    let process = deployment.start_process(CACHE_SECONDS).await;
    let visitor = new_visitor_id();
    let entered = send_to(&process, ApiRequest::enter().visitor(&visitor)).await;
    let (token, old_pass) = (entered.expect_status(201).text("token"), entered.text("pass"));
    let path = vestibule_tests::in_process::entry_path(token);
    assert!(read_void_keys(&process).await.is_empty());
    // This one keeps the public keys for ever.
    let mut verifier = OfflineVerifier {
        max_age: BOUND * 10,
        ..OfflineVerifier::read(&process).await
    };
    assert!(verifier.accepts(&process, old_pass).await);

    let ring = deployment.store.read().await.expect("a ring");
    let replaced = ring.replace_leaked(new_key_pem(|| [6; 32]), vestibule_telemetry::clock::now_ms());
    deployment.store.write(&replaced).await.expect("written");
    verifier.void = poll_until(
        BOUND,
        async || read_void_keys(&process).await,
        |void| !void.is_empty(),
    )
    .await;
    assert_eq!(verifier.void, [key_id(old_pass)]);
    assert!(
        !verifier.accepts(&process, old_pass).await,
        "the public document is enough"
    );
    let published = OfflineVerifier::read(&process).await.keys;
    assert_eq!(
        (published.keys.len(), published.find(&key_id(old_pass))),
        (1, None)
    );
    let refused = validate(&process, &path, old_pass).await;
    refused.expect_problem(403, "invalid-pass");
    assert!(refused.text("detail").contains("leaked"), "{refused:?}");

    // The visit goes on, and the next request of the page has a new pass.
    let status = send_to(&process, ApiRequest::get(&path).visitor(&visitor)).await;
    let status = status.expect_status(200);
    assert_eq!(status.text("state"), "active");
    let new_pass = status.text("pass");
    assert_ne!(key_id(new_pass), key_id(old_pass));
    let validated = validate(&process, &path, new_pass).await;
    assert_eq!(validated.expect_status(200).body["valid"], true);
    let document = send_to(&process, ApiRequest::get(format!("/queues/{QUEUE}"))).await;
    assert_eq!((document.number("epoch"), document.number("min_epoch")), (1, 1));
}

async fn a_retiring_key_verifies_no_pass_that_is_dated_later() {
    let deployment = Deployment::start().await;
    let process = deployment.start_process(CACHE_SECONDS).await;
    let (path, own_pass) = enter(&process).await;
    let claims = insecure_decode_claims::<PassClaims>(&own_pass).expect("claims");
    let (now_ms, long_ms) = (vestibule_telemetry::clock::now_ms(), 3_600_000);
    // The old key stopped signing half an hour ago, and retires in half an hour.
    let old = KeyRing::single(new_key_pem(|| [5; 32]));
    let times = RotationTimes {
        key_cache_seconds: CACHE_SECONDS,
        pass_seconds_max: 3_600,
    };
    let rotated = old.rotate(new_key_pem(|| [6; 32]), now_ms - long_ms / 2, times);
    deployment
        .store
        .write(&rotated.expect("rotated"))
        .await
        .expect("written");
    let next = deployment.start_process(CACHE_SECONDS).await;
    let thief = PassSigner::from_pem(ISSUER, &new_key_pem(|| [5; 32])).expect("a key");
    let sign = |issued_at_ms: u64| {
        let grant = PassGrant {
            queue: &claims.aud.parse().expect("a queue id"),
            entry: claims.sub.parse().expect("a token"),
            visit: Visit::new(claims.visit).expect("in range"),
            epoch: claims.epoch,
            pass_end_ms: now_ms + long_ms,
        };
        thief
            .sign(&grant, issued_at_ms)
            .expect("signs")
            .reveal()
            .to_owned()
    };
    validate(&next, &path, &sign(now_ms - long_ms))
        .await
        .expect_status(200);
    let refused = validate(&next, &path, &sign(now_ms)).await;
    let detail = refused
        .expect_problem(403, "invalid-pass")
        .text("detail")
        .to_owned();
    assert!(detail.contains("had stopped signing"), "{detail}");
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
