//! Visitors: whom an entry belongs to. Their ids are never stored and never logged.

use std::fmt;

use uuid::Uuid;

use super::id::IdError;

/// The longest visitor id, in bytes.
pub const VISITOR_ID_MAX: usize = 256;

/// How a visitor is known: it decides which credential a token is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VisitorKind {
    /// Named by an authorizer's verified claim, or by a caller whom the queue trusts.
    Known,
    /// Named by a random UUID that only the visitor's client holds.
    Anon,
}

/// A visitor's id and how it is known. Never stored and never logged: `Debug` prints `***`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Visitor {
    kind: VisitorKind,
    id: String,
}

impl Visitor {
    /// A visitor whose id somebody vouches for.
    ///
    /// # Errors
    /// [`IdError::Visitor`] where the id is empty, longer than [`VISITOR_ID_MAX`] bytes or has control characters;
    /// [`IdError::VisitorBlank`] where it begins or ends with a blank.
    pub fn known(id: &str) -> Result<Self, IdError> {
        if id.is_empty() || id.len() > VISITOR_ID_MAX || id.chars().any(char::is_control) {
            return Err(IdError::Visitor);
        }
        if id.trim() != id {
            return Err(IdError::VisitorBlank);
        }
        Ok(Self {
            kind: VisitorKind::Known,
            id: id.to_owned(),
        })
    }

    /// A visitor whom nobody vouches for: the id is a UUID of version 4, which nobody can guess.
    ///
    /// # Errors
    /// [`IdError::Anonymous`] where the id is anything else.
    pub fn anonymous(id: &str) -> Result<Self, IdError> {
        match Uuid::try_parse(id) {
            Ok(uuid) if uuid.get_version_num() == 4 && id.len() == 36 => Ok(Self::from_random(uuid)),
            _ => Err(IdError::Anonymous),
        }
    }

    /// The anonymous visitor of a UUID that was just drawn.
    pub fn from_random(uuid: Uuid) -> Self {
        Self {
            kind: VisitorKind::Anon,
            id: uuid.hyphenated().to_string(),
        }
    }

    /// How the visitor is known.
    pub fn kind(&self) -> VisitorKind {
        self.kind
    }

    /// The id itself: for the visitor's own answer and cookie, and for nothing else.
    pub fn reveal(&self) -> &str {
        &self.id
    }
}

impl fmt::Debug for Visitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Visitor({:?}, ***)", self.kind)
    }
}
