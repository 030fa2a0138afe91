//! A queue of one test, and what visitors, the protected service and operators do with it.

use serde_json::{Value, json};

use super::{ApiRequest, ApiResponse, BOUND, Backend, Guest, new_visitor_id};
use crate::waiting::poll_until;

/// A queue of one test.
#[derive(Debug)]
pub struct Queue<'a> {
    /// The backend that serves it.
    pub backend: &'a Backend,
    /// Its id.
    pub id: String,
}

impl Queue<'_> {
    /// Returns a path below the queue.
    pub fn path(&self, below: &str) -> String {
        format!("/queues/{}{below}", self.id)
    }

    /// A request to enter.
    pub fn enter_request(&self) -> ApiRequest {
        ApiRequest::post(self.path("/entries"))
    }

    /// Enters as a new visitor.
    pub async fn enter_and_expect_created(&self) -> (Guest, ApiResponse) {
        let id = new_visitor_id();
        let response = self.backend.send(self.enter_request().visitor(&id)).await;
        let guest = Guest::from_response(id, response.expect_status(201));
        (guest, response)
    }

    /// Enters again as the same visitor.
    pub async fn enter_again(&self, guest: &Guest) -> ApiResponse {
        self.backend.send(self.enter_request().visitor(&guest.id)).await
    }

    /// Requests the status as the guest.
    pub async fn get_status(&self, guest: &Guest) -> ApiResponse {
        self.send_about(guest, guest.status()).await
    }

    /// Claims as the guest.
    pub async fn claim(&self, guest: &Guest) -> ApiResponse {
        self.send_about(guest, guest.claim()).await
    }

    /// Leaves as the guest.
    pub async fn leave(&self, guest: &Guest) -> ApiResponse {
        self.send_about(guest, guest.leave()).await
    }

    /// Completes the guest's visit as the protected service, which frees the slot.
    pub async fn complete(&self, guest: &Guest) -> ApiResponse {
        self.call_as_service("complete", guest, &json!({})).await
    }

    /// Calls a route below the guest's entry as the protected service.
    pub async fn call_as_service(&self, route: &str, guest: &Guest, body: &Value) -> ApiResponse {
        self.backend.send_as_service(guest.of_service(route, body)).await
    }

    /// Extends the session as the guest.
    pub async fn extend(&self, guest: &Guest, body: &Value) -> ApiResponse {
        self.send_about(guest, guest.extend(body)).await
    }

    /// Sends a request about a guest, which names the guest's queue. A guest of another queue would test something else.
    async fn send_about(&self, guest: &Guest, request: ApiRequest) -> ApiResponse {
        assert_eq!(guest.queue, self.id, "the guest is in this queue");
        self.backend.send(request).await
    }

    /// Runs an operator's command on this queue.
    pub async fn run_command(&self, mut command: Value) -> Value {
        command["queue"] = json!(self.id);
        self.backend.operator.run_command(&command).await
    }

    /// Promotes one entry after the other until the guest's is ready. A promoter may be faster.
    pub async fn promote_until_ready(&self, guest: &Guest) -> ApiResponse {
        let promote_and_look = async || {
            self.run_command(json!({ "op": "promote", "count": 1 })).await;
            self.get_status(guest).await
        };
        // This asks more often than a process answers one visitor.
        let is_ready =
            |status: &ApiResponse| status.status != 429 && status.expect_status(200).text("state") == "ready";
        poll_until(BOUND, promote_and_look, is_ready).await
    }
}
