//! The visitors of a queue, and the requests about them.

use serde_json::{Value, json};
use uuid::Uuid;
use vestibule_domain::id::EntryId;
use vestibule_tests::{
    in_process::{ApiRequest, ApiResponse, BOUND},
    waiting::poll_until,
};

use super::Scene;

/// A visitor who has entered.
#[derive(Debug, Clone)]
pub(crate) struct Guest {
    pub(crate) id: String,
    pub(crate) token: String,
}

impl Guest {
    pub(crate) fn member(&self) -> String {
        self.entry().to_member()
    }

    pub(crate) fn entry(&self) -> EntryId {
        self.token.parse().expect("a token")
    }
}

impl Scene {
    pub(crate) fn path(&self, guest: &Guest) -> String {
        format!("/queues/{}/entries/{}", self.queue, guest.token)
    }

    pub(crate) async fn enter_as(&self, id: &str) -> (Guest, ApiResponse) {
        let ask = ApiRequest::post(format!("/queues/{}/entries", self.queue)).visitor(id);
        let answer = self.send(ask).await;
        let token = answer.text("token").to_owned();
        let guest = Guest {
            id: id.to_owned(),
            token,
        };
        if answer.text("state") == "waiting" {
            // As each client, the visitor polls at once.
            self.line.check_in(&self.queue, guest.entry()).await.ok();
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
        self.send(ApiRequest::get(self.path(guest)).visitor(&guest.id))
            .await
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
        self.send_until_served(|| ApiRequest::get(self.path(guest)).visitor(&guest.id))
            .await
    }

    pub(crate) fn service(&self, guest: &Guest, what: &str, body: &Value) -> ApiRequest {
        ApiRequest::post(format!("{}/{what}", self.path(guest))).json(body)
    }

    /// Leaves the queue.
    pub(crate) async fn leave(&self, guest: &Guest) {
        let leave = ApiRequest::delete(self.path(guest)).visitor(&guest.id);
        self.send(leave).await.expect_status(204);
    }

    /// Completes the visit as the protected service does.
    pub(crate) async fn complete(&self, guest: &Guest) {
        self.send(self.service(guest, "complete", &json!({})))
            .await
            .expect_status(204);
    }

    /// The request that claims a turn.
    pub(crate) fn claim(&self, guest: &Guest) -> ApiRequest {
        ApiRequest::post(format!("{}/claim", self.path(guest))).visitor(&guest.id)
    }

    /// The request that consumes the entry.
    pub(crate) fn consume(&self, guest: &Guest) -> ApiRequest {
        self.service(
            guest,
            "validate",
            &json!({ "visitor": guest.id, "consume": true }),
        )
    }

    /// The request for a longer session.
    pub(crate) fn extend(&self, guest: &Guest) -> ApiRequest {
        let longer = json!({ "seconds": 400 });
        self.service(guest, "extend", &longer).visitor(&guest.id)
    }
}
