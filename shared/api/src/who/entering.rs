//! Decides who enters: which of the credentials names the entry, and whether the visitor may begin a visit.
//!
//! A right belongs to the entry that its credential names. The bypass and the lane of a ticket go to the entry of its
//! `sub`, and the lane of the authorizer to the entry of its claim. Such a credential may lead to an anonymous place that
//! the request proves, too, and adds nothing to that place.

use uuid::Uuid;
use vestibule_domain::{
    id::{EntryId, Source, Visitor, VisitorKind, VisitorSecret},
    lane::Lane,
    settings::{BlockTarget, Visitors},
};
use vestibule_engine::missing_entry::MissingEntryOutcome;
use vestibule_line::{Arrival, EntryLookup};

use super::{
    credentials::{Credentials, Secret, VISITOR_ID_SHOWN},
    ticket::{Ticket, TicketError},
};
use crate::{
    ApiState,
    entries::missing::grace_until_ms,
    problem::{Code, Problem},
    queue::QueueSnapshot,
};

/// The visitor who enters.
pub(crate) struct EnteringVisitor {
    pub(crate) id: EntryId,
    /// The visitor id that the server generated. The client learns it from the answer.
    pub(crate) generated: Option<Visitor>,
    /// The secret of the entry, for a visitor who entered with a ticket or with the secret.
    pub(crate) secret: Option<VisitorSecret>,
    /// Where the visitor enters from, if the address is known.
    pub(crate) source: Option<Source>,
    /// Whether the line lets the visitor in past its end.
    pub(crate) arrival: Arrival,
    /// The lane of a new place. A visitor who has a place keeps it, and its lane.
    pub(crate) lane: Lane,
    /// Whether the visitor may begin a visit. If not, entering only returns to a visit that goes on.
    pub(crate) may_begin: bool,
    /// The anonymous place that the visitor gives up by entering under a name.
    pub(crate) given_up: Option<EntryId>,
}

/// The place that an entry has before its visitor enters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EarlierPlace {
    /// The visit goes on.
    Live,
    /// The visitor missed the turn, and may enter again within the grace.
    WithinGrace,
    /// There is none.
    Gone,
}

impl ApiState {
    /// Selects the visitor who enters. A visitor who joined anonymously, and then logged in or got a ticket, keeps
    /// the anonymous place. That place counts only while it is live or can be entered again within the grace. With a
    /// bypass the visitor enters under the name in the ticket, and gives up the anonymous place.
    /// `claimed_lane` is the lane that the authorizer names. A lane in the ticket comes first.
    ///
    /// # Errors
    /// The problem of a visitor who is blocked, or may neither begin a visit nor return to one.
    pub(crate) async fn select_visitor(
        &self,
        snapshot: &QueueSnapshot,
        credentials: &Credentials,
        ticket: Option<&str>,
        claimed_lane: Option<Lane>,
        source: Option<Source>,
    ) -> Result<EnteringVisitor, Problem> {
        let ticket = verify_ticket(snapshot, credentials, ticket)?;
        let by_ticket = ticket.as_ref().map(|ticket| &ticket.visitor);
        let named = by_ticket.or(credentials.known());
        let arrival = match ticket {
            Some(Ticket { bypass: true, .. }) => Arrival::Bypass,
            _ => Arrival::Ordinary,
        };
        let visitors = snapshot.settings().visitors;
        let may_begin = match visitors {
            Visitors::Anyone => true,
            Visitors::Known => named.is_some(),
            Visitors::Ticket => ticket.is_some(),
        };
        let by_secret = match credentials.secret() {
            Some(Secret::Of(entry)) => Some(entry),
            Some(Secret::Void) if named.is_none() => return Err(void_secret_problem(snapshot)),
            Some(Secret::Void) | None => None,
        };
        let by_cookie_or_header = credentials
            .anonymous()
            .map(|visitor| snapshot.ids.entry_id(visitor));
        let by_name = named.map(|visitor| snapshot.ids.entry_id(visitor));
        refuse_blocked(snapshot, source, [by_name, by_secret, by_cookie_or_header])?;
        if named.is_none() && by_secret.is_none() && visitors != Visitors::Anyone {
            // Anyone can invent a visitor id. Its place, if it has one, is found by its token.
            return Err(entering_problem(snapshot));
        }
        if let Some(id) = by_name.or(by_secret).or(by_cookie_or_header) {
            self.visitor_limits.count(&snapshot.queue, id)?;
        }
        let (mut generated, mut place, mut given_up) = (None, None, None);
        let id = match by_name {
            Some(known) => {
                let anonymous = by_secret.filter(|entry| entry.kind() == VisitorKind::Anon);
                let anonymous = anonymous.or(by_cookie_or_header);
                if let Some(id) = anonymous {
                    let found = self.earlier_place(snapshot, id).await?;
                    place = Some(found).filter(|place| *place != EarlierPlace::Gone);
                }
                if arrival == Arrival::Bypass {
                    given_up = anonymous.filter(|_| place.take() == Some(EarlierPlace::Live));
                }
                anonymous.filter(|_| place.is_some()).unwrap_or(known)
            }
            None => by_secret.or(by_cookie_or_header).unwrap_or_else(|| {
                let visitor = Visitor::from_random(Uuid::new_v4());
                snapshot.ids.entry_id(generated.insert(visitor))
            }),
        };
        let is_under_name = by_name.is_none_or(|name| name == id);
        let may_begin = (may_begin && (is_under_name || visitors == Visitors::Anyone)) || {
            let place = match place {
                Some(place) => place,
                None => self.earlier_place(snapshot, id).await?,
            };
            if place == EarlierPlace::Gone {
                return Err(entering_problem(snapshot));
            }
            // If there is room, a visitor who missed the turn is let in at once, by a new visit.
            place == EarlierPlace::WithinGrace
        };
        let lane = ticket.as_ref().and_then(|ticket| ticket.lane).or(claimed_lane);
        let lane = lane.filter(|_| is_under_name);
        let has_secret = ticket.is_some() || by_secret == Some(id);
        Ok(EnteringVisitor {
            id,
            generated,
            source,
            secret: has_secret.then(|| snapshot.ids.visitor_secret(id)),
            arrival,
            lane: lane.unwrap_or_default(),
            may_begin,
            given_up,
        })
    }

    async fn earlier_place(&self, snapshot: &QueueSnapshot, id: EntryId) -> Result<EarlierPlace, Problem> {
        match self.line.status(&snapshot.queue, id).await {
            Ok(EntryLookup::Found(_)) => Ok(EarlierPlace::Live),
            // The line may have lost the entry.
            Ok(EntryLookup::NotFound(missing)) => {
                let outcome = self.resolve_missing_entry(snapshot, id, missing).await?;
                Ok(match outcome {
                    MissingEntryOutcome::Restored(_) => EarlierPlace::Live,
                    outcome if grace_until_ms(&outcome, snapshot).is_some() => EarlierPlace::WithinGrace,
                    _ => EarlierPlace::Gone,
                })
            }
            Err(error) => Err(self.line_problem(&snapshot.queue, error).await),
        }
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
        Err(TicketError::Expired) if matches!(credentials.secret(), Some(Secret::Of(_))) => return Ok(None),
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
