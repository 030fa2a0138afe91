//! Entry tickets and the secrets that they give.

mod bypass;
mod enter;
mod keys;
mod lanes;
mod names;
mod refusals;
mod returning;
mod secrets;

use libtest_mimic::Trial;
use serde_json::{Value, json};
use vestibule_tests::{
    api::{ApiRequest, ApiResponse},
    in_process::{InProcessApi, entry_path},
    tickets::{TicketIssuer, claims, key_set},
};

pub(crate) fn trials() -> Vec<Trial> {
    [
        bypass::trials(),
        enter::trials(),
        keys::trials(),
        lanes::trials(),
        names::trials(),
        refusals::trials(),
        returning::trials(),
        secrets::trials(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// A queue in which a visit begins with a ticket only, and the issuer of its tickets.
pub(super) struct TicketScene {
    pub(super) api: InProcessApi,
    pub(super) shop: TicketIssuer,
}

impl TicketScene {
    pub(super) async fn start(mut settings: Value) -> Self {
        let shop = TicketIssuer::ec("shop-1", 21);
        if settings["visitors"].is_null() {
            settings["visitors"] = json!("ticket");
        }
        settings["ticket_keys"] = key_set(&[&shop]);
        let api = InProcessApi::start(settings).await;
        Self { api, shop }
    }

    /// A queue with one slot, which another visitor has taken.
    async fn start_full() -> Self {
        let scene = Self::start(json!({ "capacity": 1, "batch": 1, "presence_seconds": 0 })).await;
        scene.enter("first").await.expect_status(201);
        scene
    }

    pub(super) fn ticket(&self, visitor: &str) -> String {
        self.shop.ticket(visitor, self.api.now_ms())
    }

    /// The claims of a ticket, changed by these.
    pub(super) fn claims_with(&self, changes: &Value) -> Value {
        let mut claims = claims("ada", self.api.now_ms());
        for (name, value) in changes.as_object().expect("an object") {
            match value {
                Value::Null => drop(claims.as_object_mut().expect("an object").remove(name)),
                value => claims[name] = value.clone(),
            }
        }
        claims
    }

    /// Enters with a new ticket.
    async fn enter(&self, visitor: &str) -> ApiResponse {
        self.api.send(with_ticket(&self.ticket(visitor))).await
    }

    /// Sends a ticket that is to be refused.
    async fn expect_refused(&self, ticket: &str, reason: &str) -> ApiResponse {
        let refused = self.api.send(with_ticket(ticket)).await;
        refused.expect_problem(403, "invalid-ticket");
        assert_eq!(refused.text("reason"), reason, "{refused:?}");
        refused
    }
}

/// A request to enter with a ticket.
pub(super) fn with_ticket(ticket: &str) -> ApiRequest {
    ApiRequest::enter().json(&json!({ "ticket": ticket }))
}

/// A status request with the secret of the entry.
fn status(token: &str, secret: &str) -> ApiRequest {
    ApiRequest::get(entry_path(token)).visitor(secret)
}
