//! The visitors of a queue, and the requests about them.

use serde_json::json;
use uuid::Uuid;
use vestibule_tests::{
    api::Guest,
    in_process::{ApiRequest, ApiResponse, BOUND},
    waiting::poll_until,
};

use super::Scene;

impl Scene {
    pub(crate) async fn enter_as(&self, id: &str) -> (Guest, ApiResponse) {
        let answer = self.send(Guest::enter(self.queue.as_str(), id)).await;
        let guest = Guest::from_response(id, &answer);
        if answer.text("state") == "waiting" {
            // As each client, the visitor polls at once.
            self.line.check_in(&self.queue, guest.entry_id()).await.ok();
        }
        (guest, answer)
    }

    /// Lets this many visitors enter one after the other. The first one is let in at once.
    pub(crate) async fn enter_many(&self, many: usize) -> Vec<Guest> {
        let mut guests = Vec::new();
        for _ in 0..many {
            let (guest, answer) = self.enter_as(&Uuid::new_v4().to_string()).await;
            answer.expect_status(201);
            guests.push(guest);
        }
        guests
    }

    pub(crate) async fn status(&self, guest: &Guest) -> ApiResponse {
        self.send(guest.status()).await
    }

    /// The positions of these visitors.
    pub(crate) async fn positions(&self, guests: &[Guest]) -> Vec<u64> {
        let mut positions = Vec::new();
        for guest in guests {
            positions.push(self.status(guest).await.expect_status(200).number("position"));
        }
        positions
    }

    /// Repeats a request until the answer is not 503.
    pub(crate) async fn send_until_served(&self, ask: impl Fn() -> ApiRequest) -> ApiResponse {
        poll_until(
            BOUND,
            async || self.send(ask()).await,
            |answer| answer.status != 503,
        )
        .await
    }

    pub(crate) async fn status_once_served(&self, guest: &Guest) -> ApiResponse {
        self.send_until_served(|| guest.status()).await
    }

    /// Leaves the queue.
    pub(crate) async fn leave(&self, guest: &Guest) {
        self.send(guest.leave()).await.expect_status(204);
    }

    /// Completes the visit as the protected service does.
    pub(crate) async fn complete(&self, guest: &Guest) {
        self.send(guest.of_service("complete", &json!({})))
            .await
            .expect_status(204);
    }
}

/// The request that consumes the entry.
pub(crate) fn consume(guest: &Guest) -> ApiRequest {
    guest.of_service("validate", &json!({ "visitor": guest.id, "consume": true }))
}
