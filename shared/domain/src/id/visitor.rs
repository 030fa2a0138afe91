//! Visitors, the owners of entries. Their ids are never stored and never logged.

use std::fmt;

use serde::Deserialize;
use uuid::Uuid;

use super::error::{IdError, VISITOR_ID_MAX};

/// How a visitor is identified. The kind decides which credential an entry token is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum VisitorKind {
    /// Identified by an authorizer's verified claim, by a ticket, or by a caller that the queue trusts.
    Known,
    /// Identified by a random UUID that only the visitor's client holds.
    Anon,
}

/// A visitor's id and kind. It is never stored and never logged: `Debug` prints `***`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Visitor {
    kind: VisitorKind,
    id: String,
}

impl Visitor {
    /// A visitor whose id is vouched for by an authorizer or a trusted caller.
    ///
    /// # Errors
    /// [`IdError::Visitor`] if the id is empty, is longer than [`VISITOR_ID_MAX`] bytes, or
    /// contains control characters; [`IdError::VisitorBlank`] if it begins or ends with a blank.
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

    /// A visitor without a verified identity. The id is a UUID of version 4, which other visitors cannot
    /// guess.
    ///
    /// # Errors
    /// [`IdError::Anonymous`] if the id is anything else.
    pub fn anonymous(id: &str) -> Result<Self, IdError> {
        match Uuid::try_parse(id) {
            Ok(uuid) if uuid.get_version_num() == 4 && id.len() == 36 => Ok(Self::from_random(uuid)),
            _ => Err(IdError::Anonymous),
        }
    }

    /// An anonymous visitor with a newly generated UUID.
    pub fn from_random(uuid: Uuid) -> Self {
        Self {
            kind: VisitorKind::Anon,
            id: uuid.hyphenated().to_string(),
        }
    }

    /// How the visitor is identified.
    pub fn kind(&self) -> VisitorKind {
        self.kind
    }

    /// The id itself. Use it only for the visitor's own answer and cookie.
    pub fn reveal(&self) -> &str {
        &self.id
    }
}

impl fmt::Debug for Visitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Visitor({:?}, ***)", self.kind)
    }
}
