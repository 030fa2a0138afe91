//! The protected service repeats a request that consumed a visit, because it got no answer.

use std::time::Duration;

use serde_json::{Value, json};
use vestibule_domain::state::EntryState;
use vestibule_faults::Fault;
use vestibule_line::{ValidateOutcome, Validation};
use vestibule_tests::{api::Guest, in_process::ApiResponse, lines::Backend};

use crate::scene::{Scene, default_settings};

const USE_ID: &str = "6f9619ff-8b86-4d01-b42d-00cf4fc964ff";
const OTHER_USE_ID: &str = "0d3a5a3c-9a0e-4c3b-8d6e-1f1f6ed2b7aa";

impl Scene {
    /// Consumes the visit, with this proof of the visitor.
    async fn consume_as(&self, guest: &Guest, proof: &Value, use_id: &str) -> ApiResponse {
        let mut body = proof.clone();
        (body["consume"], body["use"]) = (json!(true), json!(use_id));
        self.send(guest.of_service("validate", &body)).await
    }

    /// Consumes the visit as a request does that is killed before it writes the end to the backup.
    async fn consume_in_line(&self, guest: &Guest) {
        let validation = Validation {
            visit: None,
            claims: true,
            consumes: true,
            use_id: Some(USE_ID.parse().expect("a UUID")),
            reactivate_until_ms: None,
        };
        let consumed = self
            .line
            .validate(&self.queue, guest.entry_id(), validation)
            .await;
        let has_change = matches!(consumed, Ok(ValidateOutcome::Active { change: Some(_), .. }));
        assert!(has_change, "{consumed:?}");
    }
}

pub(crate) async fn a_repeated_use_is_answered_from_the_record(backend: Backend) {
    let scene = Scene::open(backend, default_settings()).await;
    let guests = scene.enter_many(1).await;
    let proof = json!({ "visitor": guests[0].id });
    let first = scene.consume_as(&guests[0], &proof, USE_ID).await;
    assert_eq!(first.expect_status(200).body["durable"], true);
    scene.forget_entries(&guests).await;
    let repeat = scene.consume_as(&guests[0], &proof, USE_ID).await;
    assert_eq!(repeat.expect_status(200).body, first.body);
    let other = scene.consume_as(&guests[0], &proof, OTHER_USE_ID).await;
    other.expect_problem(410, "completed");
}

pub(crate) async fn a_repeated_use_writes_what_a_killed_request_did_not(backend: Backend) {
    let scene = Scene::open(backend, default_settings()).await;
    let guest = scene.enter_many(1).await.remove(0);
    scene.consume_in_line(&guest).await;
    assert_eq!(scene.record(&guest).await.state, EntryState::Active);
    let proof = json!({ "visitor": guest.id });
    let repeat = scene.consume_as(&guest, &proof, USE_ID).await;
    assert_eq!(repeat.expect_status(200).body["durable"], true);
    let record = scene.record(&guest).await;
    assert_eq!(record.state, EntryState::Completed);
    assert_eq!(record.use_id.map(|id| id.to_string()).as_deref(), Some(USE_ID));
}

pub(crate) async fn a_repeated_use_is_known_before_the_backup_has_it(backend: Backend) {
    let scene = Scene::open(backend, default_settings()).await;
    let guest = scene.enter_many(1).await.remove(0);
    scene.consume_in_line(&guest).await;
    let first_visit = scene.record(&guest).await.visit();
    let again = scene.enter_as(&guest.id).await.1;
    let next_visit = again.expect_status(201).number("visit");
    for proof in [
        json!({ "visitor": guest.id }),
        json!({ "visitor": guest.id, "visit": first_visit.number() }),
    ] {
        let repeat = scene.consume_as(&guest, &proof, USE_ID).await;
        assert_eq!(
            repeat.expect_status(200).number("visit"),
            first_visit.number(),
            "{proof}"
        );
        assert_eq!(repeat.body["durable"], true);
    }
    assert_eq!(scene.status(&guest).await.number("visit"), next_visit);
    let record = scene.record(&guest).await;
    assert_eq!(record.visit().number(), next_visit);
    assert!(record.state.is_live(), "{record:?}");
    assert_eq!(
        record.uses().map(|known| known.visit).collect::<Vec<_>>(),
        [first_visit]
    );
}

pub(crate) async fn a_repeated_use_succeeds_while_the_table_is_down(backend: Backend) {
    let scene = Scene::open(backend, default_settings()).await;
    let guest = scene.enter_many(1).await.remove(0);
    let pass = scene.status(&guest).await.text("pass").to_owned();
    let faults = scene.backup.faults();
    faults.fail_all(Fault::Unavailable);
    for proof in [json!({ "visitor": guest.id }), json!({ "pass": pass })] {
        let answer = scene.consume_as(&guest, &proof, USE_ID).await;
        assert_eq!(answer.expect_status(200).body["durable"], false, "{proof}");
    }
    faults.heal_all();
    scene.flush().await;
    scene.check_until_clean().await;
    let answer = scene.consume_as(&guest, &json!({ "pass": pass }), USE_ID).await;
    assert_eq!(answer.expect_status(200).body["durable"], true);
}

pub(crate) async fn a_use_is_repeated_after_the_pass_has_ended(backend: Backend) {
    let settings = json!({ "pass_seconds": 60, "session_seconds": 600 });
    let (scene, clock) = Scene::open_with_clock(backend, settings).await;
    let guest = scene.enter_many(1).await.remove(0);
    let pass = scene.status(&guest).await.text("pass").to_owned();
    let proof = json!({ "pass": pass });
    let first = scene.consume_as(&guest, &proof, USE_ID).await;
    assert_eq!(first.expect_status(200).body["durable"], true);
    clock.advance(Duration::from_mins(2));
    let look = scene.send(guest.of_service("validate", &proof)).await;
    look.expect_problem(410, "completed");
    let repeat = scene.consume_as(&guest, &proof, USE_ID).await;
    assert_eq!(repeat.expect_status(200).body, first.body);
    let other = scene.consume_as(&guest, &proof, OTHER_USE_ID).await;
    other.expect_problem(410, "completed");
}
