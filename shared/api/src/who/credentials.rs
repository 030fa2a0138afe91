//! Decides whether a token belongs to the visitor who sent a request. The kind of a token decides which
//! credential it is compared with.

use vestibule_domain::id::{EntryId, IdKey, Visitor, VisitorKind};

use crate::problem::{Code, Problem};

/// The name of the header with the visitor id, as problems show it.
pub(crate) const VISITOR_ID_SHOWN: &str = "X-Visitor-Id";

pub(crate) fn parse_known(shown: &str, id: &str) -> Result<Visitor, Problem> {
    Visitor::known(id).map_err(|error| Problem::invalid_field(shown, error.to_string()))
}

/// The identity of the visitor, by each kind of credential.
#[derive(Debug)]
pub(crate) struct Credentials {
    pub(crate) known: Option<Visitor>,
    pub(crate) anonymous: Option<Visitor>,
    pub(crate) cookie: Option<Visitor>,
    pub(crate) secret: Option<Secret>,
}

/// The secret of an entry, as a request presents it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Secret {
    /// It proves the ownership of this entry.
    Of(EntryId),
    /// It has the form of a secret and proves nothing: it is of another queue or an earlier generation, or forged.
    Void,
}

/// Whether a token belongs to the visitor who sent the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ownership {
    /// The token belongs to this visitor.
    Proven,
    /// The token belongs to another visitor.
    Mismatch,
    /// The request presents nothing but the token.
    Unproven,
}

impl Credentials {
    /// The visitor that a verified claim or a trusted caller names.
    pub(crate) fn known(&self) -> Option<&Visitor> {
        self.known.as_ref()
    }

    /// The visitor with a random UUID: from the header, otherwise from the cookie.
    pub(crate) fn anonymous(&self) -> Option<&Visitor> {
        self.anonymous.as_ref().or(self.cookie.as_ref())
    }

    /// Compares a token with the credential of its kind, or with the secret. A verified name that is another's
    /// outranks the secret, so a stolen secret is of no use to another member. A credential of the other kind proves
    /// nothing. If the client sent that one on purpose, it shows that another visitor asks. A cookie shows nothing,
    /// because browsers send it with every request.
    pub(crate) fn ownership(&self, ids: &IdKey, token: EntryId) -> Ownership {
        let is_owner = |visitor: &Visitor| ids.entry_id(visitor) == token;
        let by_secret = self.secret == Some(Secret::Of(token));
        let (by_name, shows_another) = match token.kind() {
            VisitorKind::Known => match self.known() {
                Some(visitor) if !is_owner(visitor) => return Ownership::Mismatch,
                visitor => (visitor.is_some(), self.anonymous.is_some()),
            },
            VisitorKind::Anon => {
                let visitor = self.anonymous();
                let is_named = visitor.is_some() || self.known().is_some();
                (visitor.is_some_and(is_owner), is_named)
            }
        };
        if by_name || by_secret {
            Ownership::Proven
        } else if shows_another || self.secret.is_some() {
            Ownership::Mismatch
        } else {
            Ownership::Unproven
        }
    }

    /// Refuses a visitor who is not proven to own the token.
    pub(crate) fn require_ownership(&self, ids: &IdKey, token: EntryId) -> Result<(), Problem> {
        match self.ownership(ids, token) {
            Ownership::Proven => Ok(()),
            Ownership::Mismatch => Err(token_mismatch_problem()),
            Ownership::Unproven => Err(Problem::usual(Code::VisitorRequired)),
        }
    }
}

/// The problem of a visitor who presents another visitor's token.
pub(crate) fn token_mismatch_problem() -> Problem {
    Problem::usual(Code::TokenOwnerMismatch)
}

/// Whether a token belongs to the visitor whom the protected service names. The kind of the token
/// decides how the name is read. A secret proves its own entry.
pub(crate) fn is_owner(ids: &IdKey, token: EntryId, id: &str) -> Result<bool, Problem> {
    if let Some(entry) = ids.verify_secret(id) {
        return Ok(entry == token);
    }
    let known = parse_known("visitor", id)?;
    let visitor = match token.kind() {
        VisitorKind::Known => Some(known),
        // An anonymous visitor's id is a UUID, so any other name owns no such token.
        VisitorKind::Anon => Visitor::anonymous(id).ok(),
    };
    Ok(visitor.is_some_and(|visitor| ids.entry_id(&visitor) == token))
}

#[cfg(test)]
mod tests;
