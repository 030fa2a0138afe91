//! Finds out who asks to enter: which entries the credentials name, and which rights come with them.
//!
//! A right belongs to the entry that its credential names. The bypass and the lane of a ticket go to the entry of its
//! `sub`, and the lane of the authorizer to the entry of its claim. Such a credential may lead to an anonymous place that
//! the request proves, too, and adds nothing to that place.

use std::net::IpAddr;

use vestibule_domain::{
    id::{EntryId, Source},
    lane::Lane,
    settings::{BlockTarget, Visitors},
};

use super::{
    Identity,
    credentials::{Credentials, Secret, VISITOR_ID_SHOWN},
    gateway::Gateway,
    ticket::{Ticket, TicketError},
    visitor::{RawCredentials, read_lane_claim},
};
use crate::{
    problem::{Code, Problem},
    queue::QueueSnapshot,
};

/// The entries that a request to enter names, and the rights that come with them.
pub(crate) struct EnteringIdentity {
    /// The entry of the visitor whom a ticket, a verified claim or a trusted caller names.
    pub(crate) by_name: Option<EntryId>,
    /// The entry whose secret the request has.
    pub(crate) by_secret: Option<EntryId>,
    /// The entry of the random visitor id in the cookie or the header.
    pub(crate) by_cookie_or_header: Option<EntryId>,
    /// Where the visitor enters from, if the address is known.
    pub(crate) source: Option<Source>,
    /// The ticket, if the request has one that counts.
    pub(crate) ticket: Option<Ticket>,
    /// The lane of a new place, if a ticket or the authorizer names one.
    pub(crate) lane: Option<Lane>,
    /// Whether the visitor may begin a visit under the name. If not, entering only returns to a visit that goes on.
    pub(crate) may_begin: bool,
    /// Whether the request presents a name, be it by a ticket that does not count.
    pub(crate) is_named: bool,
}

impl EnteringIdentity {
    /// Whether the ticket lets the visitor in past the line.
    pub(crate) fn has_bypass(&self) -> bool {
        self.ticket.as_ref().is_some_and(|ticket| ticket.bypass)
    }
}

impl Identity {
    /// Finds out who asks to enter. A lane in the ticket comes before the one that the authorizer names.
    ///
    /// # Errors
    /// The problem of a visitor who is blocked, sends too many requests, or presents nothing by which a visit may begin or
    /// go on.
    pub(crate) fn identify_entering(
        &self,
        snapshot: &QueueSnapshot,
        raw_credentials: RawCredentials,
        gateway: &Gateway,
        address: Option<IpAddr>,
        ticket: Option<&str>,
    ) -> Result<EnteringIdentity, Problem> {
        let credentials = raw_credentials.resolve(snapshot)?;
        let source = address.map(|address| snapshot.ids.source(address));
        let is_named = ticket.is_some() || credentials.known().is_some();
        let claimed_lane = read_lane_claim(gateway, self.config.lane_claim.as_deref())?;
        let ticket = verify_ticket(snapshot, &credentials, ticket)?;
        let by_ticket = ticket.as_ref().map(|ticket| &ticket.visitor);
        let by_name = by_ticket
            .or(credentials.known())
            .map(|visitor| snapshot.ids.entry_id(visitor));
        let by_secret = match credentials.secret {
            Some(Secret::Of(entry)) => Some(entry),
            Some(Secret::Void) if by_name.is_none() => return Err(void_secret_problem(snapshot)),
            Some(Secret::Void) | None => None,
        };
        let anonymous = credentials.anonymous();
        let by_cookie_or_header = anonymous.map(|visitor| snapshot.ids.entry_id(visitor));
        refuse_blocked(snapshot, source, [by_name, by_secret, by_cookie_or_header])?;
        let visitors = snapshot.settings().visitors;
        if by_name.is_none() && by_secret.is_none() && visitors != Visitors::Anyone {
            // Anyone can invent a visitor id. Its place, if it has one, is found by its token.
            return Err(entering_problem(snapshot));
        }
        if let Some(id) = by_name.or(by_secret).or(by_cookie_or_header) {
            self.count_request(&snapshot.queue, id)?;
        }
        Ok(EnteringIdentity {
            by_name,
            by_secret,
            by_cookie_or_header,
            source,
            lane: ticket.as_ref().and_then(|ticket| ticket.lane).or(claimed_lane),
            may_begin: match visitors {
                Visitors::Anyone => true,
                Visitors::Known => by_name.is_some(),
                Visitors::Ticket => ticket.is_some(),
            },
            is_named,
            ticket,
        })
    }
}

/// Refuses a visitor or a source that an operator has blocked. Each visitor counts as whom the request presents, so
/// a blocked visitor gains nothing by presenting a second identity.
///
/// # Errors
/// [`Code::Blocked`].
fn refuse_blocked(
    snapshot: &QueueSnapshot,
    source: Option<Source>,
    entries: [Option<EntryId>; 3],
) -> Result<(), Problem> {
    let entries = entries.into_iter().flatten().map(BlockTarget::Entry);
    let mut targets = entries.chain(source.map(BlockTarget::Source));
    let now_ms = snapshot.now_ms();
    if targets.any(|target| snapshot.settings().blocked.contains(target, now_ms)) {
        return Err(Problem::usual(Code::Blocked));
    }
    Ok(())
}

/// Verifies the ticket of a request, if it has one. A ticket that has expired counts as none if the request also has
/// the secret of an entry: the expiry of a ticket limits entering and not waiting, so a client may send both again.
fn verify_ticket(
    snapshot: &QueueSnapshot,
    credentials: &Credentials,
    ticket: Option<&str>,
) -> Result<Option<Ticket>, Problem> {
    let Some(ticket) = ticket else { return Ok(None) };
    let keys = snapshot.settings().ticket_keys.as_ref();
    let keys = keys.ok_or(TicketError::UnknownKey)?;
    let ticket = match Ticket::verify(ticket, keys, &snapshot.queue, snapshot.now_ms()) {
        Err(TicketError::Expired) if matches!(credentials.secret, Some(Secret::Of(_))) => return Ok(None),
        ticket => ticket?,
    };
    if credentials.known().is_some_and(|known| *known != ticket.visitor) {
        return Err(TicketError::OtherVisitor.into());
    }
    Ok(Some(ticket))
}

/// The problem of a visitor who may not begin a visit.
pub(crate) fn entering_problem(snapshot: &QueueSnapshot) -> Problem {
    let settings = snapshot.settings();
    let detail = match settings.visitors {
        Visitors::Ticket => "a visit in this queue begins with a ticket only",
        _ if settings.trust_client_visitor_id || settings.ticket_keys.is_none() => {
            return Problem::new(
                Code::VisitorRequired,
                "this queue is for known visitors; send the request with what names the visitor",
            );
        }
        _ => "this queue is for known visitors; send a ticket, which names the visitor",
    };
    Problem::new(Code::TicketRequired, detail)
}

/// The problem of a visitor whose secret proves nothing any more.
fn void_secret_problem(snapshot: &QueueSnapshot) -> Problem {
    let detail = "the secret is of another queue, or of this queue before its last reset";
    if snapshot.settings().ticket_keys.is_some() {
        Problem::new(Code::TicketRequired, format!("{detail}; send a ticket"))
    } else {
        Problem::invalid_field(VISITOR_ID_SHOWN, detail)
    }
}
