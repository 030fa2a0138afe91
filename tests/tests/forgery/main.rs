//! Forged passes and foreign tokens: none admits a visitor, and none causes a failure.
//!
//! A generator makes mutants of a genuine pass and of genuine tokens, class by class. Each mutant is sent through the routes,
//! and each pass is also shown to a verifier that has only the published keys. The number of a mutant decides what it
//! is, so a failure can be repeated: the message has the seed and the number.

mod altered;
mod classes;
mod jose;
mod scene;
mod signed;
mod tickets;
mod tokens;
mod verifier;

use std::{collections::BTreeMap, sync::Arc, time::Instant};

use rand::{RngExt, SeedableRng, rngs::StdRng};
use serde_json::json;
use vestibule_tests::{
    api::{ApiRequest, ApiResponse},
    in_process::entry_path,
};

use self::{
    classes::{CLASSES, Forge},
    scene::Scene,
};

/// Decides all mutants.
const SEED: u64 = 20_250_101;
/// How many tasks send mutants at the same time.
const SENDERS: u64 = 4;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_mutants_are_refused() {
    refuse_mutants(10_000).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_million_mutants_are_refused() {
    refuse_mutants(1_000_000).await;
}

/// Sends mutants of all classes in turn. The genuine pass is admitted before and after.
async fn refuse_mutants(count: u64) {
    let scene = Arc::new(Scene::build().await);
    let session_end_ms = scene.validate(&scene.pass).await.number("expires_at_ms");
    scene.expect_untouched(session_end_ms).await;
    let started = Instant::now();
    let senders: Vec<_> = (0..SENDERS)
        .map(|sender| {
            let scene = Arc::clone(&scene);
            tokio::spawn(async move {
                let mut sent = BTreeMap::<&str, u64>::new();
                for number in (sender..count).step_by(usize::try_from(SENDERS).expect("a few")) {
                    *sent.entry(refuse_mutant(&scene, number).await).or_default() += 1;
                }
                sent
            })
        })
        .collect();
    let mut sent = BTreeMap::<&str, u64>::new();
    for sender in senders {
        for (class, mutants) in sender.await.expect("every mutant is refused") {
            *sent.entry(class).or_default() += mutants;
        }
    }
    let seconds = started.elapsed().as_secs_f64();
    scene.expect_untouched(session_end_ms).await;
    println!("forgery_seed={SEED} mutants={count} admitted=0 seconds={seconds:.1}");
    for (class, mutants) in &sent {
        println!("{mutants:>8} {class}");
    }
    assert_eq!(sent.len(), CLASSES.len(), "every class has mutants");
    assert_eq!(sent.values().sum::<u64>(), count);
}

/// Sends one mutant. Returns its class.
async fn refuse_mutant(scene: &Scene, number: u64) -> &'static str {
    let mut random = StdRng::seed_from_u64(SEED.wrapping_add(number));
    let class = &CLASSES[usize::try_from(number).expect("an index") % CLASSES.len()];
    let (shown, request) = match class.forge {
        Forge::Pass {
            forge,
            is_genuine_offline,
        } => {
            let pass = forge_pass(scene, &mut random, forge);
            if !is_genuine_offline {
                let verified = scene.verifier.verify(&pass);
                assert!(
                    verified.is_err(),
                    "seed {SEED}, number {number}, {}: offline {pass:?}",
                    class.name
                );
            }
            let request = show_pass(scene, &mut random, &pass, !is_genuine_offline);
            (pass, request)
        }
        Forge::Request(forge) => (String::new(), forge(scene, &mut random)),
    };
    let answer = scene.api.send(request).await;
    assert!(
        is_refusal(&answer),
        "seed {SEED}, number {number}, {}: {answer:?} to {shown:?}",
        class.name
    );
    class.name
}

fn forge_pass(scene: &Scene, random: &mut StdRng, forge: fn(&Scene, &mut StdRng) -> String) -> String {
    loop {
        let pass = forge(scene, random);
        // A change may change nothing.
        if pass != scene.pass {
            return pass;
        }
    }
}

/// A request of the protected service with the pass. A service that completes another visit is told that this is done, and
/// changes nothing, so only forged passes are shown there.
fn show_pass(scene: &Scene, random: &mut StdRng, pass: &str, may_complete: bool) -> ApiRequest {
    let path = entry_path(&scene.guest.token);
    match random.random_range(0..8) {
        0 if may_complete => ApiRequest::post(format!("{path}/complete")).json(&json!({ "pass": pass })),
        1 => ApiRequest::post(format!("{path}/validate")).json(&json!({ "pass": pass, "consume": true })),
        2 => ApiRequest::post(format!("{path}/validate")).json(&json!({ "pass": pass, "extend": true })),
        _ => ApiRequest::post(format!("{path}/validate")).json(&json!({ "pass": pass })),
    }
}

/// Whether the caller was told that the request is at fault, and neither that it succeeded nor that the server failed.
fn is_refusal(answer: &ApiResponse) -> bool {
    answer.status.is_client_error() && answer.body["code"].is_string()
}

/// A class of mutants has the second signature, too. This says why it is refused.
#[tokio::test]
async fn the_second_signature_of_a_pass_is_refused() {
    let scene = Scene::build().await;
    let second = scene.parts.with_other_signature();
    assert_ne!(second.join(), scene.pass);
    assert_eq!(second.with_other_signature().join(), scene.pass);
    let refused = scene.validate(&second.join()).await;
    let detail = refused
        .expect_problem(403, "invalid-pass")
        .text("detail")
        .to_owned();
    assert_eq!(detail, "the signature of the pass is wrong");
    scene.validate(&scene.pass).await.expect_status(200);
}
