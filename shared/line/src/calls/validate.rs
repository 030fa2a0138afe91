//! Sends `validate.lua`, which says whether an entry may act now, or makes its session longer.

use vestibule_domain::{
    change::{Change, EndReason, Event},
    consumption::{Consumption, UseId},
    entry_status::EntryStatus,
    fact::Fact,
    id::{EntryId, QueueId},
};

use super::{Line, leave::visit_arg, reply::ScriptReply, script::script};
use crate::{ExtendOutcome, LineError, SessionExtension, ValidateOutcome, Validation};

script!(VALIDATE, "visit/validate");

impl Line {
    /// Says whether an entry may act now. Claims or completes the entry if the caller asks for it.
    pub async fn validate(
        &self,
        queue: &QueueId,
        id: EntryId,
        validation: Validation,
    ) -> Result<ValidateOutcome, LineError> {
        let call = self
            .begin_call(&VALIDATE, queue)
            .arg(id.to_member())
            .arg(visit_arg(validation.visit));
        let call = call
            .arg(u8::from(validation.claims))
            .arg(u8::from(validation.consumes))
            .arg(
                validation
                    .use_id
                    .map_or_else(String::new, |use_id| use_id.to_string()),
            )
            .arg(
                validation
                    .reactivate_until_ms
                    .map_or_else(String::new, |end_ms| end_ms.to_string()),
            )
            .arg("")
            .arg("")
            // A use is repeated by its id.
            .may_run_twice_if(!validation.consumes || validation.use_id.is_some());
        read_validation(id, validation.use_id, call.send(self).await?)
    }
}

impl Line {
    /// Extends the session of an active entry. Never shortens it.
    pub async fn extend(
        &self,
        queue: &QueueId,
        id: EntryId,
        extension: SessionExtension,
    ) -> Result<ExtendOutcome, LineError> {
        let call = self
            .begin_call(&VALIDATE, queue)
            .arg(id.to_member())
            .arg(visit_arg(extension.visit))
            .arg(0)
            .arg(0)
            .arg("")
            .arg("");
        let call = call
            .arg(u64::from(extension.seconds) * 1_000)
            .arg(extension.latest_end_ms)
            .may_run_twice();
        match read_validation(id, None, call.send(self).await?)? {
            ValidateOutcome::Active {
                status,
                change: Some(change),
            } => Ok(ExtendOutcome::Active { status, change }),
            ValidateOutcome::Active { change: None, .. } => Err(LineError::Protocol(
                "script `validate` extended a session without reporting a change".to_owned(),
            )),
            ValidateOutcome::NotActive(status) => Ok(ExtendOutcome::NotActive(status)),
            ValidateOutcome::OtherVisit => Ok(ExtendOutcome::OtherVisit),
            ValidateOutcome::NotFound(missing) => Ok(ExtendOutcome::NotFound(missing)),
        }
    }
}

fn read_validation(
    id: EntryId,
    use_id: Option<UseId>,
    mut reply: ScriptReply,
) -> Result<ValidateOutcome, LineError> {
    match reply.outcome() {
        "not-yet" => return Ok(ValidateOutcome::NotActive(reply.read_status()?)),
        "other-visit" => return Ok(ValidateOutcome::OtherVisit),
        "gone" => return Ok(ValidateOutcome::NotFound(reply.read_not_found(id)?)),
        "active" => {}
        _ => return Err(reply.protocol_error("a known outcome")),
    }
    let (version, change_kind, status) = (reply.read_version()?, reply.read_text()?, reply.read_status()?);
    let EntryStatus::Active {
        visit,
        session_end_ms,
        now_ms,
    } = status
    else {
        return Err(reply.protocol_error("an active entry"));
    };
    let event = match change_kind.as_str() {
        "none" => None,
        "claimed" => Some(Event::Claimed {
            visit,
            session_end_ms,
        }),
        "extended" => Some(Event::Extended {
            visit,
            session_end_ms,
        }),
        "completed" => Some(Event::Ended {
            fact: Fact::ended(visit),
            how: use_id.map_or(EndReason::Completed, |use_id| {
                EndReason::Consumed(Consumption {
                    use_id,
                    session_end_ms,
                })
            }),
        }),
        _ => return Err(reply.protocol_error("a known kind of change")),
    };
    let change = version.zip(event).map(|(version, event)| Change {
        id,
        version,
        at_ms: now_ms,
        event,
        source: None,
    });
    Ok(ValidateOutcome::Active { status, change })
}
