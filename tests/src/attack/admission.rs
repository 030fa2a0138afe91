//! Who may enter a queue under attack: any visitor, or those to whom the shop gave a ticket.

use std::{
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde_json::{Value, json};
use uuid::Uuid;
use vestibule_crowd::door::Caller;

use crate::tickets::{TicketIssuer, key_set};

/// How long a ticket opens the queue.
const TICKET_LIFETIME: Duration = Duration::from_hours(1);

/// Who may enter a queue under attack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// Any visitor, as often as requests come: `visitors: anyone`.
    Anyone,
    /// Visitors with a ticket: `visitors: ticket`. Each honest visitor has one, and the attacker has one of its own.
    Ticket,
}

/// The tickets of one queue.
#[derive(Clone)]
pub(super) struct Tickets(Option<Arc<Issuers>>);

struct Issuers {
    queue: String,
    shop: TicketIssuer,
    /// A key that the attacker made itself, under the name of the shop's key.
    forger: TicketIssuer,
    /// The ticket that the shop gave the attacker, who is a customer, too.
    of_attacker: String,
}

impl Tickets {
    pub(super) fn new(admission: Admission, queue: &str) -> Self {
        Self((admission == Admission::Ticket).then(|| {
            let shop = TicketIssuer::ec("shop", 7);
            Arc::new(Issuers {
                of_attacker: sign(&shop, queue),
                queue: queue.to_owned(),
                forger: TicketIssuer::ec("shop", 8),
                shop,
            })
        }))
    }

    /// Adds to the settings of the queue that each visitor needs a ticket, if so.
    pub(super) fn require_in(&self, settings: &mut Value) {
        if let Some(issuers) = &self.0 {
            settings["visitors"] = json!("ticket");
            settings["ticket_keys"] = key_set(&[&issuers.shop]);
        }
    }

    /// The most entries that one attacker can have.
    pub(super) fn entries_of_one_client(&self) -> Option<usize> {
        self.0.is_some().then_some(1)
    }

    /// A new honest visitor.
    pub(super) fn honest_caller(&self) -> Caller {
        match &self.0 {
            Some(issuers) => Caller::with_ticket(sign(&issuers.shop, &issuers.queue)),
            None => Caller::anonymous(),
        }
    }

    /// What the attacker sends to enter: its own ticket again and again, a forged one, or none.
    pub(super) fn attacking_body(&self, turn: usize) -> Value {
        match (&self.0, turn % 3) {
            (None, _) | (Some(_), 0) => json!({}),
            (Some(issuers), 1) => json!({ "ticket": issuers.of_attacker }),
            (Some(issuers), _) => json!({ "ticket": sign(&issuers.forger, &issuers.queue) }),
        }
    }
}

/// Signs a ticket for a person who has none yet.
fn sign(issuer: &TicketIssuer, queue: &str) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    let person = Uuid::new_v4().to_string();
    issuer.sign(&json!({ "sub": person, "aud": queue, "exp": (now + TICKET_LIFETIME).as_secs() }))
}
