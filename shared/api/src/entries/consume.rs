//! Repeats of a validation that consumed a visit. The request that names the same use gets the same
//! answer, as long as the line or the backup knows how the visit ended, also after the visitor has entered again.

use vestibule_domain::{
    consumption::EarlierUse, entry_status::EntryStatus, id::EntryId, record::EntryRecord,
};
use vestibule_engine::missing_entry::MissingEntryOutcome;
use vestibule_line::{NotFound, ValidateOutcome, Validation};

use super::{
    missing::{MaybeMissing, QueryError, outcome_problem},
    validate::ValidationAnswer,
};
use crate::{ApiState, problem::Problem, queue::QueueSnapshot};

impl ApiState {
    /// Runs a validation in the line. If the line lost the entry, this restores it and validates
    /// again. If the visit was consumed by the same use, this answers as then. Otherwise an ended
    /// entry is a problem that says how it ended.
    pub(crate) async fn query_validation(
        &self,
        snapshot: &QueueSnapshot,
        id: EntryId,
        validation: Validation,
    ) -> Result<ValidationAnswer, QueryError> {
        let query = || self.line.validate(&snapshot.queue, id, validation);
        let answer = self.convert_line_error(snapshot, query().await).await?;
        let Some(missing) = answer.missing() else {
            return Ok(ValidationAnswer::Line(answer));
        };
        match self.find_repeated_use(snapshot, id, validation, missing).await? {
            Ok(repeated) => Ok(repeated),
            Err(MissingEntryOutcome::Restored(_)) => {
                let answer = self.convert_line_error(snapshot, query().await).await?;
                Ok(ValidationAnswer::Line(answer))
            }
            Err(outcome) => Err(outcome_problem(outcome, snapshot).into()),
        }
    }

    /// Finds out whether the visit of an entry that the line does not have was consumed by this
    /// use. Otherwise returns what became of the entry.
    async fn find_repeated_use(
        &self,
        snapshot: &QueueSnapshot,
        id: EntryId,
        validation: Validation,
        missing: NotFound,
    ) -> Result<Result<ValidationAnswer, MissingEntryOutcome>, Problem> {
        // The request that consumed the visit may have been killed before it wrote the end, so the
        // repeat writes it.
        if let NotFound::Ended(end) = missing
            && let Some(known) = end.consumed_visit()
            && is_same_use(validation, known)
        {
            let change = Some(end);
            return Ok(Ok(ValidationAnswer::Line(ValidateOutcome::Active {
                status: active(snapshot, known),
                change,
            })));
        }
        let outcome = self.resolve_missing_entry(snapshot, id, missing).await?;
        if let MissingEntryOutcome::Ended(record) = &outcome
            && let Some(repeated) = find_use(snapshot, validation, record)
        {
            return Ok(Ok(repeated));
        }
        Ok(Err(outcome))
    }
}

/// The answer to a validation whose use has consumed a visit that the record knows; `None` if it has not.
pub(crate) fn find_use(
    snapshot: &QueueSnapshot,
    validation: Validation,
    record: &EntryRecord,
) -> Option<ValidationAnswer> {
    let known = record.uses().find(|known| is_same_use(validation, *known))?;
    Some(ValidationAnswer::Confirmed {
        status: active(snapshot, known),
        durable: true,
    })
}

/// Whether the validation is a repeat of the one that consumed this visit.
fn is_same_use(validation: Validation, known: EarlierUse) -> bool {
    validation.consumes
        && validation.use_id == Some(known.consumption.use_id)
        && validation.visit.is_none_or(|named| named == known.visit)
}

/// The status of the entry when the use consumed its visit.
fn active(snapshot: &QueueSnapshot, known: EarlierUse) -> EntryStatus {
    EntryStatus::Active {
        visit: known.visit,
        session_end_ms: known.consumption.session_end_ms,
        now_ms: snapshot.now_ms(),
    }
}
