//! The queues, visitors, passes and keys that the mutants are made from.

use jsonwebtoken::EncodingKey;
use serde_json::{Value, json};
use vestibule_tests::{
    api::{ApiRequest, ApiResponse, Guest, new_visitor_id},
    in_process::{InProcessApi, QUEUE, entry_path},
    tickets::{TicketIssuer, key_set},
};

use super::{
    jose::{Segments, key_of},
    verifier::OfflineVerifier,
};

/// A second queue of the same deployment.
pub(crate) const OTHER_QUEUE: &str = "TIMEDEAL:124";
/// The byte of the deployment's key: see `vestibule_tests::in_process::signer`.
const OWN_KEY: u8 = 3;

/// A deployment with two queues.
pub(crate) struct Scene {
    pub api: InProcessApi,
    pub verifier: OfflineVerifier,
    /// The active visitor whose pass is forged.
    pub guest: Guest,
    /// The pass of this visitor.
    pub pass: String,
    /// The pass in its parts.
    pub parts: Segments,
    /// Passes that are genuine and not of this visit: of the earlier visit, of another visitor, and of the other queue.
    pub earlier_pass: String,
    pub neighbour: Guest,
    pub neighbour_pass: String,
    pub elsewhere: Guest,
    pub elsewhere_pass: String,
    /// A visitor whose turn it is.
    pub ready: Guest,
    /// The shop that signs tickets for the queue.
    pub shop: TicketIssuer,
    /// A visitor who waits, and entered with a ticket. The id is the secret.
    pub member: Guest,
    pub own_key: EncodingKey,
    pub foreign_key: EncodingKey,
}

impl Scene {
    pub(crate) async fn build() -> Self {
        let shop = TicketIssuer::ec("shop-1", 21);
        let settings = json!({
            "capacity": 3, "batch": 3, "interval_seconds": 1, "session_seconds": 36_000, "claim_seconds": 3_600,
            "presence_seconds": 0, "ticket_keys": key_set(&[&shop]),
        });
        let api = InProcessApi::start(settings.clone()).await;
        api.create_queue(OTHER_QUEUE, settings).await;
        let (id, others) = (
            new_visitor_id(),
            [new_visitor_id(), new_visitor_id(), new_visitor_id()],
        );
        let (first_visit, earlier_pass) = enter(&api, QUEUE, &id).await;
        let (elsewhere, elsewhere_pass) = enter(&api, OTHER_QUEUE, &id).await;
        let (neighbour, neighbour_pass) = enter(&api, QUEUE, &others[0]).await;
        complete(&api, &first_visit).await;
        api.advance_seconds(10);
        let (guest, pass) = enter(&api, QUEUE, &id).await;
        assert!(guest.visit > first_visit.visit && guest.token == first_visit.token);
        let (done, _) = enter(&api, QUEUE, &others[1]).await;
        let (ready, no_pass) = enter(&api, QUEUE, &others[2]).await;
        assert!(no_pass.is_empty(), "the queue is full");
        complete(&api, &done).await;
        api.advance_seconds(10);
        api.promote().await;
        // The routes know the time of the line from a snapshot that is at most two seconds old.
        let validate = || {
            ApiRequest::post(format!("{}/validate", entry_path(&guest.token))).json(&json!({ "pass": pass }))
        };
        api.send_until(validate, |answer| answer.status == 200).await;
        let ticket = json!({ "ticket": shop.ticket("member", api.now_ms()) });
        let member = api.send(ApiRequest::enter().json(&ticket)).await;
        let secret = member.expect_status(201).text("visitor").to_owned();
        let member = Guest::from_response(secret, &member);
        let verifier = OfflineVerifier::read_keys(&api).await;
        let parts = Segments::of(&pass);
        Self {
            api,
            verifier,
            guest,
            pass,
            parts,
            earlier_pass,
            neighbour,
            neighbour_pass,
            elsewhere,
            elsewhere_pass,
            ready,
            shop,
            member,
            own_key: key_of(OWN_KEY),
            foreign_key: key_of(9),
        }
    }

    pub(crate) fn header(&self) -> Value {
        self.parts.header_json()
    }

    pub(crate) fn claims(&self) -> Value {
        self.parts.claims_json()
    }

    /// Asserts that the genuine pass and the genuine visitors are served, and that the forgeries changed nothing.
    pub(crate) async fn expect_untouched(&self, session_end_ms: u64) {
        let valid = self.validate(&self.pass).await;
        assert_eq!(valid.expect_status(200).text("state"), "active");
        assert_eq!(valid.number("expires_at_ms"), session_end_ms);
        assert_eq!(self.verifier.verify(&self.pass), Ok(()));
        for (guest, state) in [
            (&self.guest, "active"),
            (&self.ready, "ready"),
            (&self.neighbour, "active"),
            (&self.member, "waiting"),
        ] {
            let status = self.api.send(guest.status()).await;
            assert_eq!(status.expect_status(200).text("state"), state);
            assert_eq!(status.number("visit"), guest.visit);
        }
    }

    /// Asks whether the visitor of this pass may act.
    pub(crate) async fn validate(&self, pass: &str) -> ApiResponse {
        let request = ApiRequest::post(format!("{}/validate", entry_path(&self.guest.token)));
        self.api.send(request.json(&json!({ "pass": pass }))).await
    }
}

/// Enters a queue. Returns the visitor and the pass, which is empty if the visitor waits.
async fn enter(api: &InProcessApi, queue: &str, id: &str) -> (Guest, String) {
    let entered = api
        .send(ApiRequest::post(format!("/queues/{queue}/entries")).visitor(id))
        .await;
    let guest = Guest::from_response(id.to_owned(), entered.expect_status(201));
    let pass = entered.body["pass"].as_str().unwrap_or_default();
    (guest, pass.to_owned())
}

/// The protected service has finished with the visitor.
async fn complete(api: &InProcessApi, guest: &Guest) {
    let request = ApiRequest::post(format!("{}/complete", entry_path(&guest.token)));
    let completed = api.send(request.json(&json!({ "visitor": guest.id }))).await;
    completed.expect_status(204);
}
