//! Whom a request of the protected service names, and what it asks. The problems of the pass in it are the same with the
//! line and without it.

use vestibule_domain::{
    consumption::UseId,
    id::{EntryId, IdKey},
    score::Visit,
};
use vestibule_wire::CompleteRequest;

use super::{
    Identity,
    credentials::{is_owner, token_mismatch_problem},
    pass::{PassClaims, PassError},
};
use crate::{
    problem::{Code, Problem},
    queue::QueueSnapshot,
};

/// Whom a request of the protected service is about, in its body.
pub(crate) struct NamedVisitor {
    /// The visitor id.
    pub(crate) visitor: Option<String>,
    /// The pass that the visitor showed.
    pub(crate) pass: Option<String>,
    /// The visit that the entry must have.
    pub(crate) visit: Option<Visit>,
}

impl NamedVisitor {
    /// Requires that the entry belongs to the named visitor, if there is one.
    pub(crate) fn require_owner(&self, ids: &IdKey, id: EntryId) -> Result<(), Problem> {
        match &self.visitor {
            Some(visitor) if !is_owner(ids, id, visitor)? => Err(token_mismatch_problem()),
            _ => Ok(()),
        }
    }

    /// The visit of the pass. It must be the named one, if there is one.
    pub(crate) fn require_visit(&self, claims: &PassClaims) -> Result<Visit, Problem> {
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
pub(crate) struct ValidateRequest {
    pub(crate) named: NamedVisitor,
    /// Whether the line may claim the entry for the visitor.
    pub(crate) claims: bool,
    pub(crate) consume: bool,
    /// Makes `consume` repeatable.
    pub(crate) use_id: Option<UseId>,
    /// Extends the session.
    pub(crate) extend: bool,
    /// How long an extended session lasts from now, in seconds; `None` for `session_seconds`.
    pub(crate) extend_seconds: Option<u32>,
}

impl From<CompleteRequest> for NamedVisitor {
    fn from(CompleteRequest { visitor, pass, visit }: CompleteRequest) -> Self {
        Self { visitor, pass, visit }
    }
}

impl TryFrom<vestibule_wire::ValidateRequest> for ValidateRequest {
    type Error = Problem;

    fn try_from(request: vestibule_wire::ValidateRequest) -> Result<Self, Problem> {
        let request = Self {
            // The line knows only the token. It may claim the entry only for a named visitor; otherwise any
            // caller that found a token would be let in.
            claims: request.visitor.is_some(),
            named: NamedVisitor {
                visitor: request.visitor,
                pass: request.pass,
                visit: request.visit,
            },
            consume: request.consume,
            use_id: request.r#use,
            extend: request.extend,
            extend_seconds: request.seconds,
        };
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

/// A pass whose signature, queue and entry are right.
#[derive(Debug, Clone, Copy)]
pub(crate) struct VerifiedPass {
    pub(crate) visit: Visit,
    /// When the pass ends, in Unix milliseconds.
    pub(crate) end_ms: u64,
    /// Whether it has ended. Such a pass proves who the visitor is, and not that the visit is active.
    pub(crate) has_expired: bool,
}

impl Identity {
    /// Verifies the visitor id and the pass by which a request of the protected service names a
    /// visitor, if it has them. Returns the pass.
    pub(crate) async fn verify_named_visitor(
        &self,
        snapshot: &QueueSnapshot,
        id: EntryId,
        named: &NamedVisitor,
    ) -> Result<Option<VerifiedPass>, Problem> {
        named.require_owner(&snapshot.ids, id)?;
        let Some(pass) = &named.pass else {
            return Ok(None);
        };
        let (keys, now_ms) = (&self.passes, snapshot.now_ms());
        keys.refresh_for(pass).await;
        // A pass proves who the visitor is for as long as the visit goes on, also after its end.
        let (claims, has_expired) = match keys.verify(pass, &snapshot.queue, id, now_ms) {
            Err(PassError::Expired) => (keys.verify_ignoring_time(pass, &snapshot.queue, id)?, true),
            claims => (claims?, false),
        };
        if claims.epoch < snapshot.view.configuration.min_epoch {
            return Err(earlier_epoch_problem());
        }
        Ok(Some(VerifiedPass {
            visit: named.require_visit(&claims)?,
            end_ms: claims.exp.saturating_mul(1_000),
            has_expired,
        }))
    }
}

/// The problem of a pass from before the last reset.
pub(crate) fn earlier_epoch_problem() -> Problem {
    Problem::new(Code::InvalidPass, "the pass belongs to an epoch that has ended")
}
