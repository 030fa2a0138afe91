//! An independent verifier collects every pass that visitors get and checks it offline with the published keys, as a
//! service does. The visitors with an unexpired pass are never more than the capacity, whatever the visitors do.

use std::{collections::BTreeMap, time::Duration};

use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header, jwk::JwkSet};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use serde_json::{Value, json};
use tokio::time::sleep;
use vestibule_line::{EntryLookup, LeaveReason};
use vestibule_tests::{
    api::{Guest, new_visitor_id},
    in_process::{ApiRequest, ApiResponse, InProcessApi, QUEUE, entry_path, queue_id},
    lines::tick_order,
};

super::cases![
    visitors_with_a_pass_never_exceed_the_capacity,
    a_visitor_who_comes_back_extends_no_further
];

const CAPACITY: usize = 3;
const VISITORS: usize = 9;
const STEPS: usize = 400;
/// Each process learns of new settings within this time.
const SETTINGS_SPREAD: Duration = Duration::from_millis(1_100);

/// What a service knows that checks passes by itself.
struct OfflineVerifier {
    keys: JwkSet,
    /// By visitor, when the last pass ends, in Unix seconds.
    ends: BTreeMap<String, u64>,
}

impl OfflineVerifier {
    async fn new(api: &InProcessApi) -> Self {
        let published = api.send(ApiRequest::get("/.well-known/jwks.json")).await;
        Self {
            keys: serde_json::from_value(published.body).expect("a key set"),
            ends: BTreeMap::new(),
        }
    }

    /// Takes note of the pass in an answer, if it has one.
    fn see(&mut self, answer: &ApiResponse) {
        let Some(pass) = answer.body["pass"].as_str() else {
            return;
        };
        let kid = decode_header(pass).expect("a header").kid.expect("a key id");
        let key = DecodingKey::from_jwk(self.keys.find(&kid).expect("a published key")).expect("a key");
        let mut expected = Validation::new(Algorithm::ES256);
        expected.set_audience(&[QUEUE]);
        // The clock of this test is not that of the process.
        (expected.validate_exp, expected.validate_nbf) = (false, false);
        let claims = decode::<Value>(pass, &key, &expected)
            .expect("a valid pass")
            .claims;
        let (holder, end) = (
            claims["sub"].as_str().expect("text"),
            claims["exp"].as_u64().expect("a time"),
        );
        let known = self.ends.entry(holder.to_owned()).or_default();
        *known = end.max(*known);
    }

    fn holders(&self, now_ms: u64) -> usize {
        self.ends.values().filter(|end| **end * 1_000 > now_ms).count()
    }
}

async fn visitors_with_a_pass_never_exceed_the_capacity() {
    for seed in 0..4 {
        let mut random = StdRng::seed_from_u64(seed);
        let settings = |pass_seconds: u32| {
            json!({
                "capacity": CAPACITY, "batch": CAPACITY, "interval_seconds": 1, "session_seconds": 60,
                "session_max_seconds": 150, "claim_seconds": 20, "pass_seconds": pass_seconds,
                "presence_seconds": 0,
            })
        };
        let api = InProcessApi::start(settings(0)).await;
        let mut verifier = OfflineVerifier::new(&api).await;
        let mut guests: Vec<Option<Guest>> = vec![None; VISITORS];
        let ids: Vec<_> = (0..VISITORS).map(|_| new_visitor_id()).collect();
        let mut taken_back = 0;
        for step in 0..STEPS {
            let number = random.random_range(0..VISITORS);
            match (random.random_range(0..12), guests[number].clone()) {
                (0..=2, _) | (3..=8, None) => {
                    let had_left = guests[number].is_some();
                    let entered = api.send(ApiRequest::enter().visitor(&ids[number])).await;
                    taken_back +=
                        usize::from(had_left && entered.status == 201 && entered.body["pass"].is_string());
                    verifier.see(&entered);
                    guests[number] = Some(Guest::from_response(ids[number].clone(), &entered));
                }
                (action @ 3..=8, Some(guest)) => {
                    act_as_visitor(&api, &mut verifier, &guest, action).await;
                }
                (9, _) => {
                    if random.random_range(0..8) == 0 {
                        let pass_seconds = [0, 10, 40][random.random_range(0..3)];
                        api.configure_line(settings(pass_seconds), &format!("r{step}"))
                            .await;
                        sleep(SETTINGS_SPREAD).await;
                    }
                }
                _ => {
                    api.advance_seconds(random.random_range(1..10));
                    api.line
                        .promote(&queue_id(), tick_order(u64::MAX))
                        .await
                        .expect("a tick");
                }
            }
            let view = api.line.queue_view(&queue_id()).await.expect("a view");
            let (holders, now_ms) = (verifier.holders(view.now_ms), view.now_ms);
            assert!(
                holders <= CAPACITY,
                "seed {seed}, step {step}, {now_ms}: {holders} visitors have a pass"
            );
            assert!(
                view.taken_slots() <= CAPACITY as u64,
                "seed {seed}, step {step}: {view:?}"
            );
        }
        assert!(taken_back > 5, "{taken_back} visitors took their slots back");
    }
}

/// Claims, leaves, extends, polls, or is evicted by an operator.
async fn act_as_visitor(api: &InProcessApi, verifier: &mut OfflineVerifier, guest: &Guest, action: usize) {
    let path = |below: &str| format!("{}{below}", entry_path(&guest.token));
    let request = match action {
        3 => ApiRequest::post(path("/claim")),
        4 => ApiRequest::post(path("/extend")).json(&json!({ "seconds": 50 })),
        5 | 6 => ApiRequest::delete(path("")),
        7 => ApiRequest::get(path("")),
        _ => {
            let id = guest.token.parse().expect("a token");
            let evicted = api.line.leave(&queue_id(), id, None, LeaveReason::Evict).await;
            evicted.expect("an answer");
            return;
        }
    };
    verifier.see(&api.send(request.visitor(&guest.id)).await);
}

/// The longest session counts from the first claim, however often the visitor leaves and comes back.
async fn a_visitor_who_comes_back_extends_no_further() {
    let settings = json!({ "capacity": 1, "session_seconds": 60, "session_max_seconds": 150 });
    let api = InProcessApi::start(settings).await;
    let id = new_visitor_id();
    let entered = api.send(ApiRequest::enter().visitor(&id)).await;
    let began_ms = entered.expect_status(201).number("joined_at_ms");
    let guest = Guest::from_response(id.clone(), &entered);
    for seconds in [30, 60, 50] {
        let extend = ApiRequest::post(format!("{}/extend", entry_path(&guest.token)));
        let extended = api
            .send(extend.visitor(&id).json(&json!({ "seconds": 600 })))
            .await;
        assert_eq!(
            extended.expect_status(200).number("expires_at_ms"),
            began_ms + 150_000
        );
        api.send(ApiRequest::delete(entry_path(&guest.token)).visitor(&id))
            .await
            .expect_status(204);
        let back = api.send(ApiRequest::enter().visitor(&id)).await;
        assert_eq!(
            back.expect_status(201).number("expires_at_ms"),
            began_ms + 150_000
        );
        let lookup = api
            .line
            .status(&queue_id(), guest.token.parse().expect("a token"))
            .await;
        assert!(matches!(lookup, Ok(EntryLookup::Found(_))), "{lookup:?}");
        api.advance_seconds(seconds - 10);
    }
}
