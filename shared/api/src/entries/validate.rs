//! Validates a visitor by a pass. The pass proves that the visit was active, also if the line has
//! lost that, for example in a failover. So the record of the entry is read first:
//! `docs/adr/0017-a-line-that-went-back.md` has the table.

use tokio::time::timeout;
use vestibule_backup::BackupError;
use vestibule_domain::{
    entry_status::EntryStatus, fact::Step, id::EntryId, record::EntryRecord, score::Visit,
};
use vestibule_engine::reconcile_entry::is_ahead;
use vestibule_line::{EntryLookup, NotFound, ValidateOutcome, Validation};

use super::missing::QueryError;
use crate::who::pass::PassError;
use crate::{
    ApiState,
    problem::Problem,
    queue::{QueueSnapshot, READ_TIMEOUT},
    who::named_visitor::{NamedVisitor, earlier_epoch_problem},
};

/// A pass whose signature, queue and entry are right.
#[derive(Debug, Clone, Copy)]
pub(crate) struct VerifiedPass {
    pub(crate) visit: Visit,
    /// When the pass ends, in Unix milliseconds.
    pub(crate) end_ms: u64,
    /// Whether it has ended. Such a pass proves who the visitor is, and not that the visit is active.
    pub(crate) has_expired: bool,
}

/// The answer to a validation.
pub(crate) enum ValidationAnswer {
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

impl ApiState {
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
        let (keys, now_ms) = (&self.keys.passes, snapshot.now_ms());
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

    /// Validates an entry by a verified pass of its visit, whose record was read.
    pub(crate) async fn validate_with_pass(
        &self,
        snapshot: &QueueSnapshot,
        id: EntryId,
        validation: Validation,
        pass: VerifiedPass,
        stored: Result<Option<EntryRecord>, BackupError>,
    ) -> Result<ValidationAnswer, QueryError> {
        let answer = self
            .convert_line_error(
                snapshot,
                self.line.validate(&snapshot.queue, id, validation).await,
            )
            .await?;
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
                if validation.consumes {
                    return Err(Problem::backup_unavailable(error).into());
                }
                tracing::warn!(
                    event = "entry.pass_unconfirmed", queue = %snapshot.queue, entry = %id, %error,
                    "accepted a pass although Redis shows a missed turn of its visit: the claim may be lost, and the \
                     backup did not return the record"
                );
                return Ok(ValidationAnswer::Confirmed {
                    status: EntryStatus::Active {
                        visit: pass.visit,
                        session_end_ms: pass.end_ms,
                        now_ms: snapshot.now_ms(),
                    },
                    durable: false,
                });
            }
            _ => false,
        };
        if needs_adoption && let Ok(record) = stored {
            self.adopt_record_of_pass(snapshot, id, record).await?;
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
        self.query_validation(snapshot, id, validation).await
    }

    /// Reads the record of an entry for a validation.
    pub(crate) async fn read_entry_record(
        &self,
        snapshot: &QueueSnapshot,
        id: EntryId,
    ) -> Result<Option<EntryRecord>, BackupError> {
        let partition = snapshot.partition();
        let read = self.backup.read_entry(&partition, id);
        timeout(READ_TIMEOUT, read).await.unwrap_or_else(|_| {
            let reason = "the backup did not return the record of the entry in time";
            Err(BackupError::Unavailable(reason.to_owned()))
        })
    }

    /// Lets the line take over a record that is ahead of it.
    async fn adopt_record_of_pass(
        &self,
        snapshot: &QueueSnapshot,
        id: EntryId,
        record: Option<EntryRecord>,
    ) -> Result<(), QueryError> {
        let lookup = self.line.status(&snapshot.queue, id).await;
        // A missing entry is resolved by the validation that follows.
        if let EntryLookup::Found(status) = self.convert_line_error(snapshot, lookup).await? {
            self.reconcile_status(snapshot, id, status, record).await?;
        }
        Ok(())
    }
}
