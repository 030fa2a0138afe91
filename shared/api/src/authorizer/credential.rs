//! What a request presents to the authorizer: a pass, or a token with the visitor id that owns it.
//!
//! A token alone is a name that may stand in a log, so it proves nothing. It counts with the visitor id
//! only, as on the visitors' own routes.

use axum::http::{HeaderName, header};
use base64::{Engine, engine::general_purpose::STANDARD};
use vestibule_domain::id::{EntryId, QueueId};

use super::{event::AuthorizerEvent, queue_filter::QueueFilter};
use crate::{
    problem::{Code, Problem},
    who::{
        named_visitor::{NamedVisitor, ValidateRequest},
        pass::{PassError, read_unverified_subject},
        visitor::read_visitor_id_header,
    },
};

/// A header for the credential, for an API that uses `Authorization` for itself.
const OWN_HEADER: HeaderName = HeaderName::from_static("x-vestibule-pass");
/// The header that names the queue of a token.
const QUEUE_HEADER: HeaderName = HeaderName::from_static("x-vestibule-queue");

/// The entry that a request names, and the validation by which it proves that.
pub(super) struct PresentedEntry {
    pub(super) queue: QueueId,
    pub(super) entry: EntryId,
    pub(super) request: ValidateRequest,
}

/// The credential as it is written in a header.
enum Credential {
    Pass(String),
    /// The token, and the visitor id if it is in the same header.
    Token(EntryId, Option<String>),
}

impl PresentedEntry {
    /// Reads what a request presents. The queue is one of `queues`.
    pub(super) fn from_event(event: &AuthorizerEvent, queues: &QueueFilter<'_>) -> Result<Self, Problem> {
        let text = match &event.token {
            Some(token) => Some(token.clone()),
            None => match read_header(event, &OWN_HEADER)? {
                Some(own) => Some(own),
                None => read_header(event, &header::AUTHORIZATION)?,
            },
        };
        let credential = Credential::parse(text.as_deref().unwrap_or_default().trim())?;
        let header_visitor = read_visitor_id_header(&event.headers)?;
        match credential {
            Credential::Pass(pass) => {
                let subject = read_unverified_subject(&pass)?;
                if !queues.contains(&subject.queue) {
                    return Err(PassError::WrongQueue.into());
                }
                Ok(Self {
                    queue: subject.queue,
                    entry: subject.entry,
                    request: live_validation(Some(pass), header_visitor),
                })
            }
            Credential::Token(entry, visitor) => {
                let visitor = visitor.or(header_visitor).ok_or_else(visitor_required)?;
                Ok(Self {
                    queue: queue_of_token(event, queues)?,
                    entry,
                    request: live_validation(None, Some(visitor)),
                })
            }
        }
    }
}

impl Credential {
    /// Parses `Bearer` with a pass or a token, `Basic` with a token and a visitor id (RFC 7617), or a pass or
    /// a token alone.
    fn parse(text: &str) -> Result<Self, Problem> {
        if text.is_empty() {
            return Err(visitor_required());
        }
        let Some((scheme, value)) = text.split_once(' ') else {
            return Ok(Self::from_token68(text));
        };
        let value = value.trim_start();
        if scheme.eq_ignore_ascii_case("bearer") {
            return Ok(Self::from_token68(value));
        }
        if scheme.eq_ignore_ascii_case("basic") {
            return Self::parse_basic(value).ok_or_else(|| PassError::Malformed.into());
        }
        Err(visitor_required())
    }

    fn from_token68(text: &str) -> Self {
        match text.parse() {
            Ok(entry) => Self::Token(entry, None),
            Err(_) => Self::Pass(text.to_owned()),
        }
    }

    fn parse_basic(value: &str) -> Option<Self> {
        let pair = String::from_utf8(STANDARD.decode(value).ok()?).ok()?;
        let (token, visitor) = pair.split_once(':')?;
        Some(Self::Token(token.parse().ok()?, Some(visitor.to_owned())))
    }
}

/// A validation that changes nothing: it neither claims nor ends a visit.
fn live_validation(pass: Option<String>, visitor: Option<String>) -> ValidateRequest {
    ValidateRequest {
        named: NamedVisitor {
            visitor,
            pass,
            visit: None,
        },
        claims: false,
        consume: false,
        use_id: None,
        extend: false,
        extend_seconds: None,
    }
}

/// The queue of a token, which names none itself: that of the header, or the only one there is.
fn queue_of_token(event: &AuthorizerEvent, queues: &QueueFilter<'_>) -> Result<QueueId, Problem> {
    let named = match read_header(event, &QUEUE_HEADER)? {
        Some(named) => Some(named.parse()?),
        None => queues.only_queue().cloned(),
    };
    let own = |queue: &QueueId| queues.contains(queue);
    named.filter(own).ok_or_else(|| {
        Problem::new(
            Code::UnknownQueue,
            "X-Vestibule-Queue must name a queue that protects this API",
        )
    })
}

/// The value of a header that may be given once.
fn read_header(event: &AuthorizerEvent, name: &HeaderName) -> Result<Option<String>, Problem> {
    let mut values = event.headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (_, Some(_)) => Err(Problem::invalid_field(name.as_str(), "must be given only once")),
        (value, None) => Ok(value.and_then(|value| value.to_str().ok()).map(str::to_owned)),
    }
}

fn visitor_required() -> Problem {
    Problem::new(
        Code::VisitorRequired,
        "send a pass, or a token together with the visitor id",
    )
}
