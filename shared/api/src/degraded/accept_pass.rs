//! Validates a visitor by a pass while the line is unavailable.

use vestibule_domain::{id::EntryId, score::Visit, settings::OnOutage};

use super::DegradedContext;
use crate::{
    entries::Entries,
    problem::Problem,
    who::{
        named_visitor::{ValidateRequest, earlier_epoch_problem},
        pass::{PassClaims, PassError, PassKeys},
    },
};

/// How far the clock of this process may be behind the line's clock, which dates the passes.
const SKEW_SECONDS: u64 = 5;

/// A pass that was accepted although the line could not be asked.
pub(crate) struct AcceptedPass {
    pub(crate) visit: Visit,
    /// Until when the pass is accepted without the line, in Unix milliseconds.
    pub(crate) accepted_until_ms: u64,
}

impl DegradedContext {
    /// Accepts or refuses the presented pass without the line, as the queue's settings say.
    pub(crate) async fn accept_pass(
        &self,
        entries: &Entries,
        passes: &PassKeys,
        id: EntryId,
        request: &ValidateRequest,
    ) -> Result<AcceptedPass, Problem> {
        let queue = &*self.queue;
        let open = queue.settings.on_outage == OnOutage::Open;
        let Some(pass) = request.named.pass.as_ref().filter(|_| open && !request.consume) else {
            return Err(self.problem());
        };
        request.named.require_owner(&queue.ids, id)?;
        passes.refresh_for(pass).await;
        let claims = passes.verify_ignoring_time(pass, &queue.queue, id)?;
        let until = claims
            .exp
            .saturating_add(u64::from(queue.settings.outage_grace_seconds));
        let now = vestibule_telemetry::clock::now_ms() / 1_000;
        if now + SKEW_SECONDS < claims.nbf {
            return Err(PassError::TooEarly.into());
        }
        if now >= until {
            return Err(PassError::Expired.into());
        }
        let visit = request.named.require_visit(&claims)?;
        self.refuse_ended_visit(entries, id, visit, &claims).await?;
        tracing::warn!(
            event = "entry.pass_honoured",
            cause = %self.cause,
            "accepted a pass without the line, as on_outage allows, because the line is unavailable"
        );
        Ok(AcceptedPass {
            visit,
            accepted_until_ms: until.saturating_mul(1_000),
        })
    }

    /// Refuses a pass whose visit has ended according to the backup, and a pass from before the
    /// last reset.
    async fn refuse_ended_visit(
        &self,
        entries: &Entries,
        id: EntryId,
        visit: Visit,
        claims: &PassClaims,
    ) -> Result<(), Problem> {
        if claims.epoch < self.queue.min_epoch {
            return Err(earlier_epoch_problem());
        }
        match self.read_entry(entries, id).await {
            Ok(Some(record)) if record.visit() != visit => Err(Problem::other_visit()),
            Ok(Some(record)) if !record.state.is_live() => Err(Problem::ended(&record, None)),
            // The pass may be from an epoch before a restore, because a restore keeps active entries
            // active.
            Ok(Some(_)) => Ok(()),
            Ok(None) | Err(_) if claims.epoch >= self.queue.epoch => Ok(()),
            Ok(None) => Err(earlier_epoch_problem()),
            Err(_) => Err(self.problem()),
        }
    }
}
