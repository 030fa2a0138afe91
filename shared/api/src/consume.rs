//! Repeats of a validation that consumed a visit. The request that names the same use gets the same
//! answer, as long as the line or the backup knows how the visit ended.

use vestibule_domain::{
    change::{Change, Event},
    consumption::Consumption,
    entry_status::EntryStatus,
    id::EntryId,
    score::Visit,
};
use vestibule_engine::missing_entry::MissingEntryOutcome;
use vestibule_line::{NotFound, ValidateOutcome, Validation};

use super::{
    ApiState,
    missing_entry::{MaybeMissing, QueryError, outcome_problem},
    problem::Problem,
    queue_cache::QueueSnapshot,
    validate_pass::ValidationAnswer,
};

impl ApiState {
    /// Runs a validation in the line. If the line lost the entry, this restores it and validates
    /// again. If the visit was consumed by the same use, this answers as then. Otherwise an ended
    /// entry is a problem that says how it ended.
    pub(super) async fn query_validation(
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
        let active = |visit, session_end_ms| EntryStatus::Active {
            visit,
            session_end_ms,
            now_ms: snapshot.now_ms(),
        };
        // The request that consumed the visit may have been killed before it wrote the end, so the
        // repeat writes it.
        if let NotFound::Ended(end) = missing
            && let Some(session_end_ms) = match_use(validation, end.event.visit(), find_consumption(&end))
        {
            let status = active(end.event.visit(), session_end_ms);
            let change = Some(end);
            return Ok(Ok(ValidationAnswer::Line(ValidateOutcome::Active {
                status,
                change,
            })));
        }
        let outcome = self.resolve_missing_entry(snapshot, id, missing).await?;
        if let MissingEntryOutcome::Ended(record) = &outcome
            && let Some(session_end_ms) = match_use(validation, record.visit(), record.consumption())
        {
            let status = active(record.visit(), session_end_ms);
            return Ok(Ok(ValidationAnswer::Confirmed {
                status,
                durable: true,
            }));
        }
        Ok(Err(outcome))
    }
}

fn find_consumption(end: &Change) -> Option<Consumption> {
    match end.event {
        Event::Ended { how, .. } => how.consumption(),
        _ => None,
    }
}

/// The end of the session, in Unix milliseconds, if the visit is the one that the validation names
/// and was consumed by the same use.
fn match_use(validation: Validation, visit: Visit, consumption: Option<Consumption>) -> Option<u64> {
    let consumption = consumption?;
    let is_same =
        validation.use_id == Some(consumption.use_id) && validation.visit.is_none_or(|named| named == visit);
    is_same.then_some(consumption.session_end_ms)
}
