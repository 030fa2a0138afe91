//! Tells the protected service whether a visitor may act.
//!
//! A pass proves that the visit was active, also if the line has lost that, for example in a failover. So the record of
//! the entry is read first: `docs/adr/0017-a-line-that-went-back.md` has the table.
//!
//! A validation that consumed a visit may be repeated. The request that names the same use gets the same
//! answer, as long as the line or the backup knows how the visit ended, also after the visitor has entered again.

use tokio::time::Instant;
use vestibule_backup::BackupError;
use vestibule_domain::{
    call_limit::CallLimit, consumption::EarlierUse, entry_status::EntryStatus, fact::Step, id::EntryId,
    record::EntryRecord,
};
use vestibule_engine::{missing_entry::MissingEntryOutcome, reconcile_entry::is_ahead};
use vestibule_line::{CallOutcome, EntryLookup, NotFound, ValidateOutcome, Validation};

use super::{
    EntryHandle, LiveEntry, QueryError,
    missing::{MaybeMissing, outcome_problem, reject_superseded},
};
use crate::{
    problem::Problem,
    queue::{QueueSnapshot, READ_TIMEOUT},
    who::named_visitor::{ValidateRequest, VerifiedPass},
};

/// The answer to a validation.
enum ValidationAnswer {
    /// The line has decided. If the answer has a change, it is to be written.
    Line(ValidateOutcome),
    /// The visitor may act, and nothing is to be written.
    Confirmed {
        /// The status of the entry.
        status: EntryStatus,
        /// Whether the backup has what let the visitor in, or consumed the visit.
        durable: bool,
    },
}

impl EntryHandle<'_> {
    /// Returns the entry of a visitor who may act, whose visitor id and pass are verified. Writes the change that lets the
    /// visitor in or consumes the visit.
    pub(crate) async fn validate(
        &self,
        request: &ValidateRequest,
        verified: Option<VerifiedPass>,
    ) -> Result<LiveEntry, QueryError> {
        let answer = self.ask_whether_valid(request, verified).await?;
        Ok(self.confirm_validation(answer).await?)
    }

    /// Counts a call of a protected API.
    pub(crate) async fn take_call(&self, limit: CallLimit) -> Result<CallOutcome, QueryError> {
        let taken = self.line.take_call(self.queue(), self.id, limit).await;
        self.or_query_error(taken).await
    }

    /// Asks the line whether a visitor may act whose visitor id and pass are verified.
    async fn ask_whether_valid(
        &self,
        request: &ValidateRequest,
        verified: Option<VerifiedPass>,
    ) -> Result<ValidationAnswer, QueryError> {
        let repeatable_use = request.use_id.filter(|_| request.consume);
        let needs_record = verified.is_some() || repeatable_use.is_some();
        let stored = if needs_record {
            let (deadline, partition) = (Instant::now() + READ_TIMEOUT, self.snapshot.partition());
            let reason_late = "the backup did not return the record of the entry in time";
            let read = self
                .entries
                .read_record_before(deadline, &partition, self.id, reason_late);
            Some(read.await)
        } else {
            None
        };
        let validation = Validation {
            visit: verified.map(|pass| pass.visit).or(request.named.visit),
            claims: request.claims,
            consumes: request.consume,
            use_id: request.use_id,
            reactivate_until_ms: None,
        };
        if let Some(Ok(Some(record))) = &stored
            && let Some(repeated) = find_use(self.snapshot, validation, record)
        {
            return Ok(repeated);
        }
        match (verified, stored) {
            (Some(pass), Some(stored)) => self.validate_with_pass(validation, pass, stored).await,
            _ => self.query_validation(validation).await,
        }
    }

    /// Returns the status of the entry that may act, and whether the change that let it in or
    /// consumed it is durable. Writes that change.
    async fn confirm_validation(&self, validation: ValidationAnswer) -> Result<LiveEntry, Problem> {
        let (status, durable) = match validation {
            ValidationAnswer::Confirmed { status, durable } => (status, Some(durable)),
            ValidationAnswer::Line(ValidateOutcome::Active { status, change: None }) => (status, None),
            ValidationAnswer::Line(ValidateOutcome::Active {
                status,
                change: Some(change),
            }) => {
                let write = self.write_change(&change).await?;
                reject_superseded(&change, &write)?;
                (status, Some(write.durable))
            }
            ValidationAnswer::Line(ValidateOutcome::NotActive(status)) => {
                return Err(Problem::not_your_turn(&status));
            }
            ValidationAnswer::Line(ValidateOutcome::OtherVisit) => return Err(Problem::other_visit()),
            ValidationAnswer::Line(ValidateOutcome::NotFound(missing)) => {
                return Err(self.missing_entry_problem(missing).await);
            }
        };
        Ok(LiveEntry::new(status, None, durable))
    }

    /// Validates an entry by a verified pass of its visit, whose record was read.
    async fn validate_with_pass(
        &self,
        validation: Validation,
        pass: VerifiedPass,
        stored: Result<Option<EntryRecord>, BackupError>,
    ) -> Result<ValidationAnswer, QueryError> {
        let answer = self.line.validate(self.queue(), self.id, validation).await;
        let answer = self.or_query_error(answer).await?;
        let needs_adoption = match (&answer, &stored) {
            (ValidateOutcome::Active { change: Some(_), .. }, _) => false,
            (
                ValidateOutcome::Active { status, .. } | ValidateOutcome::NotActive(status),
                Ok(Some(record)),
            ) => is_ahead(record, status),
            (ValidateOutcome::OtherVisit, Ok(Some(record))) => record.visit() == pass.visit,
            (ValidateOutcome::NotFound(NotFound::Ended(end)), Err(error))
                if !pass.has_expired
                    && end.fact().visit == pass.visit
                    && end.fact().step <= Step::ReadyAgain =>
            {
                return accept_unconfirmed(self.snapshot, self.id, validation, pass, error);
            }
            _ => false,
        };
        if needs_adoption && let Ok(record) = stored {
            self.adopt_record_of_pass(record).await?;
        } else if !matches!(
            answer,
            ValidateOutcome::NotActive(_) | ValidateOutcome::NotFound(_)
        ) {
            return Ok(ValidationAnswer::Line(answer));
        }
        // The line lost what made the visit active. It takes the pass for proof.
        let validation = Validation {
            reactivate_until_ms: Some(pass.end_ms).filter(|_| !pass.has_expired),
            ..validation
        };
        self.query_validation(validation).await
    }

    /// Lets the line take over a record that is ahead of it.
    async fn adopt_record_of_pass(&self, record: Option<EntryRecord>) -> Result<(), QueryError> {
        let lookup = self.line.status(self.queue(), self.id).await;
        // A missing entry is resolved by the validation that follows.
        if let EntryLookup::Found(status) = self.or_query_error(lookup).await? {
            self.reconcile_status(status, record).await?;
        }
        Ok(())
    }

    /// Runs a validation in the line. If the line lost the entry, this restores it and validates
    /// again. If the visit was consumed by the same use, this answers as then. Otherwise an ended
    /// entry is a problem that says how it ended.
    async fn query_validation(&self, validation: Validation) -> Result<ValidationAnswer, QueryError> {
        let query = || self.line.validate(self.queue(), self.id, validation);
        let answer = self.or_query_error(query().await).await?;
        let Some(missing) = answer.missing() else {
            return Ok(ValidationAnswer::Line(answer));
        };
        match self.find_repeated_use(validation, missing).await? {
            Ok(repeated) => Ok(repeated),
            Err(MissingEntryOutcome::Restored(_)) => {
                let answer = self.or_query_error(query().await).await?;
                Ok(ValidationAnswer::Line(answer))
            }
            Err(outcome) => Err(outcome_problem(outcome, self.snapshot).into()),
        }
    }

    /// Finds out whether the visit of an entry that the line does not have was consumed by this
    /// use. Otherwise returns what became of the entry.
    async fn find_repeated_use(
        &self,
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
                status: active(self.snapshot, known),
                change,
            })));
        }
        let outcome = self.resolve_missing_entry(missing).await?;
        if let MissingEntryOutcome::Ended(record) = &outcome
            && let Some(repeated) = find_use(self.snapshot, validation, record)
        {
            return Ok(Ok(repeated));
        }
        Ok(Err(outcome))
    }
}

/// Accepts a pass although Redis shows a missed turn of its visit, because the claim may be lost.
fn accept_unconfirmed(
    snapshot: &QueueSnapshot,
    id: EntryId,
    validation: Validation,
    pass: VerifiedPass,
    error: &BackupError,
) -> Result<ValidationAnswer, QueryError> {
    if validation.consumes {
        return Err(Problem::backup_unavailable(error).into());
    }
    tracing::warn!(
        event = "entry.pass_unconfirmed", queue = %snapshot.queue, entry = %id, %error,
        "accepted a pass although Redis shows a missed turn of its visit: the claim may be lost, and the \
         backup did not return the record"
    );
    Ok(ValidationAnswer::Confirmed {
        status: EntryStatus::Active {
            visit: pass.visit,
            session_end_ms: pass.end_ms,
            now_ms: snapshot.now_ms(),
        },
        durable: false,
    })
}

/// The answer to a validation whose use has consumed a visit that the record knows; `None` if it has not.
fn find_use(
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
