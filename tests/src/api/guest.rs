//! A visitor whom a test sends: the requests about its entry. A test sends each by its own way to the API, when it wants, and
//! asserts the answer. A visitor who follows the rules of the client is one of crowd's.

use serde_json::Value;
use uuid::Uuid;
use vestibule_domain::id::EntryId;

use super::{ApiRequest, ApiResponse};

/// A visitor who has an entry.
#[derive(Debug, Clone)]
pub struct Guest {
    /// The id of the queue.
    pub queue: String,
    /// The visitor's id.
    pub id: String,
    /// The token of the entry.
    pub token: String,
    /// The number of the visit.
    pub visit: u64,
}

impl Guest {
    /// The visitor `id`, whose entry this response describes.
    pub fn from_response(id: impl Into<String>, response: &ApiResponse) -> Self {
        Self {
            queue: response.text("queue").to_owned(),
            id: id.into(),
            token: response.text("token").to_owned(),
            visit: response.number("visit"),
        }
    }

    /// The request of the visitor `id` to enter this queue.
    pub fn enter(queue: &str, id: &str) -> ApiRequest {
        ApiRequest::post(format!("/queues/{queue}/entries")).visitor(id)
    }

    /// The id of the entry.
    pub fn entry_id(&self) -> EntryId {
        self.token.parse().expect("a token")
    }

    /// The entry as a member of the line's sets.
    pub fn member(&self) -> String {
        self.entry_id().to_member()
    }

    /// A path below the entry, which may be a query only.
    pub fn path(&self, below: &str) -> String {
        format!("/queues/{}/entries/{}{below}", self.queue, self.token)
    }

    /// Asks for the state of the entry.
    pub fn status(&self) -> ApiRequest {
        ApiRequest::get(self.path("")).visitor(&self.id)
    }

    /// The same, and the server may hold the answer for so long.
    pub fn held_poll(&self, seconds: u32) -> ApiRequest {
        ApiRequest::get(self.path(&format!("?wait={seconds}"))).visitor(&self.id)
    }

    /// Claims the turn.
    pub fn claim(&self) -> ApiRequest {
        ApiRequest::post(self.path("/claim")).visitor(&self.id)
    }

    /// Leaves the queue, whichever visit it is.
    pub fn leave(&self) -> ApiRequest {
        ApiRequest::delete(self.path("")).visitor(&self.id)
    }

    /// Makes the session longer.
    pub fn extend(&self, body: &Value) -> ApiRequest {
        ApiRequest::post(self.path("/extend"))
            .visitor(&self.id)
            .json(body)
    }

    /// A request of the protected service about the entry. Behind a gateway it needs a proof besides.
    pub fn of_service(&self, route: &str, body: &Value) -> ApiRequest {
        ApiRequest::post(self.path(&format!("/{route}"))).json(body)
    }
}

/// Returns the id of a visitor who has never entered a queue.
pub fn new_visitor_id() -> String {
    Uuid::new_v4().to_string()
}
