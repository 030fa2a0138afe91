//! What a validate request asks, and the problems of the pass in it. They are the same with the line and
//! without it.

use vestibule_domain::{
    consumption::{UseId, UseIdError},
    id::{EntryId, IdKey},
    score::Visit,
};

use super::{
    code::Code,
    credentials::{is_owner, token_mismatch_problem},
    extend::EXTEND_SECONDS,
    problem::Problem,
    request::Fields,
};
use crate::pass::{PassClaims, PassError};

/// Whom a request of the protected service is about, in its body.
pub(super) struct NamedVisitor {
    /// The visitor id.
    pub(super) visitor: Option<String>,
    /// The pass that the visitor showed.
    pub(super) pass: Option<String>,
    /// The visit that the entry must have.
    pub(super) visit: Option<Visit>,
}

impl NamedVisitor {
    pub(super) fn take_from(fields: &mut Fields) -> Result<Self, Problem> {
        Ok(Self {
            visitor: fields.take_string("visitor")?,
            pass: fields.take_string("pass")?,
            visit: fields.take_visit()?,
        })
    }

    /// Requires that the entry belongs to the named visitor, if there is one.
    pub(super) fn require_owner(&self, ids: &IdKey, id: EntryId) -> Result<(), Problem> {
        match &self.visitor {
            Some(visitor) if !is_owner(ids, id, visitor)? => Err(token_mismatch_problem()),
            _ => Ok(()),
        }
    }

    /// The visit of the pass. It must be the named one, if there is one.
    pub(super) fn require_visit(&self, claims: &PassClaims) -> Result<Visit, Problem> {
        let visit = Visit::new(claims.visit).ok_or(PassError::Malformed)?;
        match self.visit {
            Some(named) if named != visit => Err(Problem::new(
                Code::InvalidPass,
                "the pass belongs to another visit than `visit` names",
            )),
            _ => Ok(visit),
        }
    }
}

/// The body of a validate request.
pub(super) struct ValidateRequest {
    pub(super) named: NamedVisitor,
    /// Whether the line may claim the entry for the visitor.
    pub(super) claims: bool,
    pub(super) consume: bool,
    /// Makes `consume` repeatable.
    pub(super) use_id: Option<UseId>,
    /// Extends the session.
    pub(super) extend: bool,
    /// How long an extended session lasts from now, in seconds; `None` for `session_seconds`.
    pub(super) extend_seconds: Option<u32>,
}

impl TryFrom<Fields> for ValidateRequest {
    type Error = Problem;

    fn try_from(mut fields: Fields) -> Result<Self, Problem> {
        let named = NamedVisitor::take_from(&mut fields)?;
        let request = Self {
            // The line knows only the token. It may claim the entry only for a named visitor; otherwise any
            // caller that found a token would be let in.
            claims: named.visitor.is_some(),
            named,
            consume: fields.take_bool("consume")?.unwrap_or(false),
            use_id: fields
                .take_string("use")?
                .map(|text| {
                    text.parse()
                        .map_err(|error: UseIdError| Problem::invalid_field("use", error.to_string()))
                })
                .transpose()?,
            extend: fields.take_bool("extend")?.unwrap_or(false),
            extend_seconds: fields.take_number("seconds", EXTEND_SECONDS)?,
        };
        fields.refuse_unknown()?;
        if request.named.visitor.is_none() && request.named.pass.is_none() {
            return Err(Problem::invalid_field(
                "visitor",
                "must be given unless the request has a pass",
            ));
        }
        for (is_alone, field, other) in [
            (request.use_id.is_some() && !request.consume, "use", "consume"),
            (
                request.extend_seconds.is_some() && !request.extend,
                "seconds",
                "extend",
            ),
        ] {
            if is_alone {
                let detail = format!("must not be given without `{other}: true`");
                return Err(Problem::invalid_field(field, detail));
            }
        }
        if request.extend && request.consume {
            return Err(Problem::invalid_field(
                "extend",
                "must not be given with `consume: true`, which ends the session",
            ));
        }
        Ok(request)
    }
}

/// The problem of a pass from before the last reset.
pub(super) fn earlier_epoch_problem() -> Problem {
    Problem::new(Code::InvalidPass, "the pass belongs to an epoch that has ended")
}
