//! A queue of one test, and what visitors, the protected service and operators do with it.

use serde_json::{Value, json};
use uuid::Uuid;

use super::{ApiRequest, ApiResponse, BOUND, Backend};
use crate::waiting::poll_until;

/// A queue of one test.
#[derive(Debug)]
pub struct Queue<'a> {
    /// The backend that serves it.
    pub backend: &'a Backend,
    /// Its id.
    pub id: String,
}

/// A visitor who has an entry.
#[derive(Debug, Clone)]
pub struct Guest {
    /// The visitor's id.
    pub id: String,
    /// The token of the entry.
    pub token: String,
    /// The number of the visit.
    pub visit: u64,
}

impl Guest {
    /// The visitor `id`, whose entry this response describes.
    pub fn from_response(id: String, response: &ApiResponse) -> Self {
        Self {
            id,
            token: response.text("token").to_owned(),
            visit: response.number("visit"),
        }
    }
}

impl Queue<'_> {
    /// Returns a path below the queue.
    pub fn path(&self, below: &str) -> String {
        format!("/queues/{}{below}", self.id)
    }

    /// Returns a path below the guest's entry.
    pub fn entry_path(&self, guest: &Guest, below: &str) -> String {
        self.path(&format!("/entries/{}{below}", guest.token))
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
        self.backend
            .send(ApiRequest::get(self.entry_path(guest, "")).visitor(&guest.id))
            .await
    }

    /// Claims as the guest.
    pub async fn claim(&self, guest: &Guest) -> ApiResponse {
        self.backend
            .send(ApiRequest::post(self.entry_path(guest, "/claim")).visitor(&guest.id))
            .await
    }

    /// Leaves as the guest.
    pub async fn leave(&self, guest: &Guest) -> ApiResponse {
        self.backend
            .send(ApiRequest::delete(self.entry_path(guest, "")).visitor(&guest.id))
            .await
    }

    /// Completes the guest's visit as the protected service, which frees the slot.
    pub async fn complete(&self, guest: &Guest) -> ApiResponse {
        self.call_as_service("complete", guest, &json!({})).await
    }

    /// Calls a route below the guest's entry as the protected service.
    pub async fn call_as_service(&self, route: &str, guest: &Guest, body: &Value) -> ApiResponse {
        let request = ApiRequest::post(self.entry_path(guest, &format!("/{route}"))).json(body);
        self.backend.send_as_service(request).await
    }

    /// Extends the session as the guest.
    pub async fn extend(&self, guest: &Guest, body: &Value) -> ApiResponse {
        let request = ApiRequest::post(self.entry_path(guest, "/extend")).visitor(&guest.id);
        self.backend.send(request.json(body)).await
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

/// Returns the id of a visitor who has never entered a queue.
pub fn new_visitor_id() -> String {
    Uuid::new_v4().to_string()
}
