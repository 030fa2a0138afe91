//! The credentials that an attacker presents, each with what it names.

use serde_json::{Value, json};
use vestibule_domain::id::{EntryId, IdKey, Salt, Visitor};
use vestibule_tests::{
    api::new_visitor_id,
    functions::root_key,
    in_process::{anonymous_visitor, id_key},
    tickets::{TicketIssuer, claims},
};

/// The lane that tickets and claims name here.
pub(super) const LANE: u8 = 2;

/// What a request may present.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Credential {
    Nothing,
    /// The id of a visitor who never entered.
    ForeignId,
    /// The id of an anonymous visitor in line.
    OwnId,
    /// The cookie of another anonymous visitor in line.
    Cookie,
    /// The secret of an entry whose visitor had a ticket.
    Secret,
    /// The secret of the anonymous entry of `OwnId`.
    AnonymousSecret,
    /// A secret of another queue.
    VoidSecret,
    Ticket,
    BypassTicket,
    LaneTicket,
    /// The claim of an authorizer, which also names a lane.
    Claim,
    /// The pass of a visitor who is inside.
    Pass,
}

/// Where a request has a credential. A request has one in each place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Nowhere,
    Header,
    Cookie,
    Body,
    Authorizer,
    /// In the body of the service's requests, and in `Authorization` elsewhere.
    Pass,
}

/// What a credential gives to the entry that it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Right {
    /// To act as the visitor on every route.
    Own,
    /// To enter.
    Enter,
    /// To become active past the line.
    Bypass,
    /// To have the lane.
    Lane,
    /// To begin a visit in a queue that takes tickets only.
    Begin,
}

impl Credential {
    pub(super) const ALL: [Self; 12] = [
        Self::Nothing,
        Self::ForeignId,
        Self::OwnId,
        Self::Cookie,
        Self::Secret,
        Self::AnonymousSecret,
        Self::VoidSecret,
        Self::Ticket,
        Self::BypassTicket,
        Self::LaneTicket,
        Self::Claim,
        Self::Pass,
    ];

    pub(super) fn place(self) -> Place {
        match self {
            Self::Nothing => Place::Nowhere,
            Self::ForeignId | Self::OwnId | Self::Secret | Self::AnonymousSecret | Self::VoidSecret => {
                Place::Header
            }
            Self::Cookie => Place::Cookie,
            Self::Ticket | Self::BypassTicket | Self::LaneTicket => Place::Body,
            Self::Claim => Place::Authorizer,
            Self::Pass => Place::Pass,
        }
    }

    /// All pairs that fit into one request.
    pub(super) fn pairs() -> impl Iterator<Item = [Self; 2]> {
        let pairs =
            |(at, first): (usize, Self)| Self::ALL.into_iter().skip(at).map(move |second| [first, second]);
        Self::ALL
            .into_iter()
            .enumerate()
            .flat_map(pairs)
            .filter(|[first, second]| *first == Self::Nothing || first.place() != second.place())
    }
}

/// A person with several credentials: two anonymous places, and the name by which tickets and claims know the person.
#[derive(Debug, Clone)]
pub(super) struct Attacker {
    pub(super) own: (String, EntryId),
    pub(super) cookie: (String, EntryId),
    pub(super) name: String,
    pub(super) member: EntryId,
    foreign: String,
    /// The pass of somebody who is inside, and the entry that it names.
    pass: (String, EntryId),
}

impl Attacker {
    pub(super) fn new(number: u64, pass: (String, EntryId)) -> Self {
        let name = format!("mallory-{number}");
        Self {
            own: anonymous_visitor(2 * number),
            cookie: anonymous_visitor(2 * number + 1),
            member: known_entry(&name),
            name,
            foreign: new_visitor_id(),
            pass,
        }
    }

    /// What the request has in this place, if one of its credentials is there.
    pub(super) fn present(&self, pair: [Credential; 2], place: Place, shop: &Shop<'_>) -> Option<Value> {
        let credential = pair.into_iter().find(|credential| credential.place() == place)?;
        let secret = |entry| json!(id_key().visitor_secret(entry).reveal());
        let ticket = |changes: Value| json!(shop.ticket(&self.name, &changes));
        match credential {
            Credential::Nothing => None,
            Credential::ForeignId => Some(json!(self.foreign)),
            Credential::OwnId => Some(json!(self.own.0)),
            Credential::Cookie => Some(json!(self.cookie.0)),
            Credential::Secret => Some(secret(self.member)),
            Credential::AnonymousSecret => Some(secret(self.own.1)),
            Credential::VoidSecret => Some(json!(secret_of_another_queue(&self.name))),
            Credential::Ticket => Some(ticket(json!({}))),
            Credential::BypassTicket => Some(ticket(json!({ "bypass": true }))),
            Credential::LaneTicket => Some(ticket(json!({ "lane": LANE }))),
            Credential::Claim => Some(json!({ "sub": self.name, "tier": LANE })),
            Credential::Pass => Some(json!(self.pass.0)),
        }
    }

    /// Whether one of these credentials names the entry and gives this right to it. This is the specification: no code
    /// of the API is used.
    pub(super) fn has_right(&self, pair: [Credential; 2], entry: EntryId, right: Right) -> bool {
        let foreign = id_key().entry_id(&Visitor::anonymous(&self.foreign).expect("a visitor id"));
        pair.into_iter().any(|credential| {
            let (named, rights): (EntryId, &[Right]) = match credential {
                Credential::Nothing | Credential::VoidSecret => return false,
                Credential::ForeignId => (foreign, &[Right::Own, Right::Enter]),
                Credential::OwnId | Credential::AnonymousSecret => (self.own.1, &[Right::Own, Right::Enter]),
                Credential::Cookie => (self.cookie.1, &[Right::Own, Right::Enter]),
                Credential::Secret => (self.member, &[Right::Own, Right::Enter]),
                Credential::Ticket => (self.member, &[Right::Enter, Right::Begin]),
                Credential::BypassTicket => (self.member, &[Right::Enter, Right::Begin, Right::Bypass]),
                Credential::LaneTicket => (self.member, &[Right::Enter, Right::Begin, Right::Lane]),
                Credential::Claim => (self.member, &[Right::Own, Right::Enter, Right::Lane]),
                Credential::Pass => (self.pass.1, &[Right::Own]),
            };
            named == entry && rights.contains(&right)
        })
    }

    /// All entries of the attacker.
    pub(super) fn entries(&self) -> [EntryId; 3] {
        [self.own.1, self.cookie.1, self.member]
    }
}

/// The shop that signs tickets.
pub(super) struct Shop<'a> {
    pub(super) issuer: &'a TicketIssuer,
    pub(super) now_ms: u64,
}

impl Shop<'_> {
    fn ticket(&self, visitor: &str, changes: &Value) -> String {
        let mut claims = claims(visitor, self.now_ms);
        let fields = claims.as_object_mut().expect("an object");
        fields.extend(changes.as_object().expect("an object").clone());
        self.issuer.sign(&claims)
    }
}

/// The entry of a visitor whom a ticket or a claim names.
pub(super) fn known_entry(name: &str) -> EntryId {
    id_key().entry_id(&Visitor::known(name).expect("a visitor id"))
}

fn secret_of_another_queue(name: &str) -> String {
    let other = "TIMEDEAL:124".parse().expect("a queue id");
    let ids = IdKey::derive_for_queue(&root_key(), &other, &Salt::new([1; 32])).expect("the key of the salt");
    let entry = ids.entry_id(&Visitor::known(name).expect("a visitor id"));
    ids.visitor_secret(entry).reveal().to_owned()
}
