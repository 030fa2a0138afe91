//! A queue of one test, and who comes to it.

use serde_json::{Value, json};
use uuid::Uuid;

use super::{BOUND, Backend};
use crate::{
    edge::{Answer, Ask},
    waiting::poll_until,
};

/// A queue of one test.
#[derive(Debug)]
pub struct Queue<'a> {
    /// Where it is.
    pub backend: &'a Backend,
    /// Its id.
    pub id: String,
}

/// A visitor who has a place.
#[derive(Debug, Clone)]
pub struct Guest {
    /// The visitor's id.
    pub id: String,
    /// The token of the place.
    pub token: String,
    /// The number of the visit.
    pub visit: u64,
}

impl Queue<'_> {
    /// An address in it.
    pub fn path(&self, below: &str) -> String {
        format!("/queues/{}{below}", self.id)
    }

    /// Asks to enter.
    pub fn entering(&self) -> Ask {
        Ask::post(self.path("/entries"))
    }

    /// Somebody new enters.
    pub async fn enters(&self) -> (Guest, Answer) {
        let id = stranger();
        let answer = self.backend.send(self.entering().visitor(&id)).await;
        let token = answer.is(201).text("token").to_owned();
        let visit = answer.number("visit");
        (Guest { id, token, visit }, answer)
    }

    /// A path of a guest's entry.
    pub fn of(&self, guest: &Guest, below: &str) -> String {
        self.path(&format!("/entries/{}{below}", guest.token))
    }

    /// The guest looks.
    pub async fn looks(&self, guest: &Guest) -> Answer {
        self.backend
            .send(Ask::get(self.of(guest, "")).visitor(&guest.id))
            .await
    }

    /// The guest says to be there.
    pub async fn claims(&self, guest: &Guest) -> Answer {
        self.backend
            .send(Ask::post(self.of(guest, "/claim")).visitor(&guest.id))
            .await
    }

    /// The guest goes.
    pub async fn leaves(&self, guest: &Guest) -> Answer {
        self.backend
            .send(Ask::delete(self.of(guest, "")).visitor(&guest.id))
            .await
    }

    /// The protected service asks something of a guest's entry.
    pub async fn service(&self, what: &str, guest: &Guest, body: &Value) -> Answer {
        let ask = Ask::post(self.of(guest, &format!("/{what}"))).json(body);
        self.backend.send_as_service(ask).await
    }

    /// An operator's order.
    pub async fn order(&self, mut order: Value) -> Value {
        order["queue"] = json!(self.id);
        self.backend.operator.order(&order).await
    }

    /// Until somebody has promoted the guest, a promoter or this test.
    pub async fn is_promoted(&self, guest: &Guest) -> Answer {
        let promoted = async || {
            self.order(json!({ "op": "promote", "count": 1 })).await;
            self.looks(guest).await
        };
        poll_until(BOUND, promoted, |answer| answer.is(200).text("state") == "ready").await
    }
}

/// The id of somebody new.
pub fn stranger() -> String {
    Uuid::new_v4().to_string()
}
