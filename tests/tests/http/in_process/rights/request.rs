//! The requests that an attacker sends.

use serde_json::{Value, json};
use vestibule_tests::in_process::{QUEUE, event, with_claims, with_header};

use super::credential::{Attacker, Credential, Place, Shop};

/// A request about an entry, or one to enter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Route {
    Enter,
    Status,
    /// The same in a browser without JavaScript.
    Page,
    Claim,
    Extend,
    /// Tells that the page closes.
    Close,
    Validate,
    Consume,
    Complete,
    Leave,
}

impl Route {
    /// The routes that name an entry. Those that end a visit are the last.
    pub(super) const OF_AN_ENTRY: [Self; 9] = [
        Self::Status,
        Self::Page,
        Self::Claim,
        Self::Extend,
        Self::Close,
        Self::Validate,
        Self::Consume,
        Self::Complete,
        Self::Leave,
    ];

    fn is_of_service(self) -> bool {
        matches!(self, Self::Validate | Self::Consume | Self::Complete)
    }

    /// Whether the route reads a credential in this place. The service is trusted, so it names the visitor by what the
    /// visitor showed to it.
    fn reads(self, place: Place) -> bool {
        match place {
            Place::Header => true,
            Place::Body => self == Self::Enter,
            Place::Nowhere | Place::Cookie | Place::Authorizer => !self.is_of_service(),
            Place::Pass => self.is_of_service() || self == Self::Status,
        }
    }

    /// Whether the route reads all of these credentials. Any other pair is tested without the one that is not read.
    pub(super) fn takes(self, pair: [Credential; 2]) -> bool {
        let [first, second] = pair;
        let alone = first == Credential::Nothing && self.reads(second.place());
        alone || (self.reads(first.place()) && self.reads(second.place()))
    }

    /// The event of the request about `token`.
    pub(super) fn event(
        self,
        token: &str,
        attacker: &Attacker,
        pair: [Credential; 2],
        shop: &Shop<'_>,
    ) -> Value {
        let (method, below) = match self {
            Self::Enter => ("POST", ""),
            Self::Status | Self::Page => ("GET", "/{token}"),
            Self::Claim => ("POST", "/{token}/claim"),
            Self::Extend => ("POST", "/{token}/extend"),
            Self::Close | Self::Leave => ("DELETE", "/{token}"),
            Self::Validate | Self::Consume => ("POST", "/{token}/validate"),
            Self::Complete => ("POST", "/{token}/complete"),
        };
        let mut parameters = json!({ "queue": QUEUE });
        if self != Self::Enter {
            parameters["token"] = json!(token);
        }
        let mut event = event(method, &format!("/queues/{{queue}}/entries{below}"), &parameters);
        let text = |place| {
            let found = attacker.present(pair, place, shop)?;
            Some(found.as_str().expect("a text").to_owned())
        };
        let (header, pass) = (text(Place::Header), text(Place::Pass));
        let mut body = json!({});
        if self.is_of_service() {
            insert(&mut body, "visitor", header);
            insert(&mut body, "pass", pass);
        } else {
            insert(&mut body, "ticket", text(Place::Body));
            if let Some(id) = header {
                event = with_header(event, "X-Visitor-Id", &id);
            }
            if let Some(pass) = pass {
                event = with_header(event, "Authorization", &format!("Bearer {pass}"));
            }
        }
        if let Some(cookie) = text(Place::Cookie) {
            event = with_header(event, "Cookie", &format!("__Host-vestibule-visitor={cookie}"));
        }
        if let Some(claims) = attacker.present(pair, Place::Authorizer, shop) {
            event = with_claims(event, &claims);
        }
        match self {
            Self::Page => return with_header(event, "Accept", "text/html"),
            Self::Status => return event,
            Self::Close => event["multiValueQueryStringParameters"] = json!({ "closed": ["true"] }),
            Self::Consume => body["consume"] = json!(true),
            _ => {}
        }
        if method == "POST" {
            event["body"] = json!(body.to_string());
        }
        with_header(event, "Content-Type", "application/json")
    }
}

fn insert(body: &mut Value, field: &str, value: Option<String>) {
    if let Some(value) = value {
        body[field] = json!(value);
    }
}
