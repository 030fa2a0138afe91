//! Answers from the backup while the line is unavailable, and marks these answers as degraded.
//!
//! The backup has every acknowledged change, but not the order of the line. So a request can read an entry,
//! but it can change none: entering, claiming, extending, leaving and completing fail.

use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, timeout_at};
use vestibule_backup::BackupError;
use vestibule_domain::{
    id::{EntryId, IdKey, QueueId},
    record::Record,
    score::Visit,
    settings::{OnOutage, Settings},
    state::State,
};

use super::{
    Edge,
    code::Code,
    entry::EntryBody,
    problem::Problem,
    validate::{Question, of_an_earlier_epoch},
    views::{Absence, Known, READ_TIMEOUT, Seen},
    visitor::{Ownership, is_owner, mismatch},
};
use crate::pass::{Grant, Pass, PassClaims, PassError};

/// The longest time until an answer without the line, including the wait for the line.
const ANSWER_WITHIN: Duration = Duration::from_millis(1_800);
/// How far the clock of this process may be behind the line's clock, which dates the passes.
const SKEW_SECONDS: u64 = 5;

/// Where the data of a queue comes from.
pub(super) enum Sight {
    /// From its line.
    Line(Arc<Seen>),
    /// From the backup, because the line is unavailable.
    Backup(Away),
}

/// What a request needs in order to answer without the line.
pub(super) struct Away {
    pub(super) known: Arc<Known>,
    /// Why the line gave no answer.
    cause: String,
    /// When the read of the entry from the backup times out.
    until: Instant,
}

impl Away {
    /// Builds the context for a line that became unavailable after it had returned a snapshot.
    pub(super) fn after(seen: &Seen, cause: String) -> Self {
        Self {
            known: Arc::new(Known::of(seen)),
            cause,
            until: Instant::now() + READ_TIMEOUT,
        }
    }

    fn problem(&self) -> Problem {
        Problem::line_away(&self.cause)
    }
}

impl Sight {
    pub(super) fn settings(&self) -> &Settings {
        match self {
            Self::Line(seen) => seen.settings(),
            Self::Backup(away) => &away.known.settings,
        }
    }

    pub(super) fn ids(&self) -> &IdKey {
        match self {
            Self::Line(seen) => &seen.ids,
            Self::Backup(away) => &away.known.ids,
        }
    }
}

/// A pass that was accepted although the line could not be asked.
pub(super) struct Honoured {
    pub(super) visit: Visit,
    /// Until when the pass is accepted without the line, in Unix milliseconds.
    pub(super) until_ms: u64,
}

impl Edge {
    /// Returns the queue from its line, or from the backup if the line is unavailable.
    pub(super) async fn sight(&self, queue: &QueueId) -> Result<Sight, Problem> {
        let until = Instant::now() + ANSWER_WITHIN;
        let cause = match self.views.get(queue).await {
            Ok(seen) => return Ok(Sight::Line(seen)),
            Err(Absence::LineAway(cause)) => cause,
            Err(absence) => return Err(Problem::from(&absence)),
        };
        match self.views.known(queue).await {
            Ok(known) => Ok(Sight::Backup(Away { known, cause, until })),
            Err(Absence::BackupAway(other)) => Err(Problem::line_away(format!("{cause}; {other}"))),
            Err(absence) => Err(Problem::from(&absence)),
        }
    }

    /// Builds the JSON of an entry as the backup has it.
    pub(super) async fn show_stored(
        &self,
        away: &Away,
        id: EntryId,
        ownership: Ownership,
    ) -> Result<EntryBody, Problem> {
        let stored = self.stored(away, id).await;
        let record = stored.map_err(|error| Problem::line_away(format!("{}; {error}", away.cause)))?;
        // A visitor who entered lately may be in the line only, and a client that is told of an end does
        // not ask again. So a missing or ended record is answered like any other outage.
        let Some(record) = record.filter(|record| record.state.is_live()) else {
            return Err(away.problem());
        };
        tracing::warn!(
            event = "entry.served_degraded",
            cause = %away.cause,
            "answered a status request from the backup because the line is unavailable"
        );
        // This is the clock of the process, because line time cannot be read.
        let now_ms = vestibule_clock::now_ms();
        let pass = match ownership {
            Ownership::Proven => self.pass_for_stored(&away.known, &record, now_ms)?,
            Ownership::Mismatch | Ownership::Unproven => None,
        };
        Ok(EntryBody::stored(&away.known, &record, pass, now_ms))
    }

    /// Signs a pass for an entry whose record is active. The record has every acknowledged change, so the
    /// visitor is entitled to the pass until the session end that it shows.
    fn pass_for_stored(&self, known: &Known, record: &Record, now_ms: u64) -> Result<Option<Pass>, Problem> {
        let Some(session_end_ms) = record.expires_at_ms.filter(|end| *end > now_ms) else {
            return Ok(None);
        };
        if record.state != State::Active {
            return Ok(None);
        }
        let grant = Grant {
            queue: &known.queue,
            entry: record.id,
            visit: record.visit,
            epoch: known.epoch,
            session_end_ms,
            pass_seconds: known.settings.pass_seconds,
        };
        Ok(Some(self.keys.signer.sign(&grant, now_ms)?))
    }

    /// Accepts or refuses the presented pass without the line, as the queue's settings say.
    pub(super) async fn honour(
        &self,
        away: &Away,
        id: EntryId,
        question: &Question,
    ) -> Result<Honoured, Problem> {
        let known = &*away.known;
        let open = known.settings.on_outage == OnOutage::Open;
        let Some(pass) = question.pass.as_ref().filter(|_| open && !question.consume) else {
            return Err(away.problem());
        };
        if let Some(visitor) = &question.visitor
            && !is_owner(&known.ids, id, visitor)?
        {
            return Err(mismatch());
        }
        let claims = self.keys.signer.read(pass, &known.queue, id)?;
        let until = claims.exp + u64::from(known.settings.outage_grace_seconds);
        let now = vestibule_clock::now_ms() / 1_000;
        if now + SKEW_SECONDS < claims.nbf {
            return Err(PassError::TooEarly.into());
        }
        if now >= until {
            return Err(PassError::Expired.into());
        }
        let visit = Visit::new(u64::from(claims.visit)).ok_or(PassError::Malformed)?;
        if question.visit.is_some_and(|named| named != visit) {
            return Err(of_another_visit());
        }
        self.still_stands(away, id, visit, &claims).await?;
        tracing::warn!(
            event = "entry.pass_honoured",
            cause = %away.cause,
            "accepted a pass without the line, as on_outage allows, because the line is unavailable"
        );
        Ok(Honoured {
            visit,
            until_ms: until * 1_000,
        })
    }

    /// Refuses a pass whose visit has ended according to the backup, and a pass from before the last reset.
    async fn still_stands(
        &self,
        away: &Away,
        id: EntryId,
        visit: Visit,
        claims: &PassClaims,
    ) -> Result<(), Problem> {
        if claims.epoch < away.known.min_epoch {
            return Err(of_an_earlier_epoch());
        }
        match self.stored(away, id).await {
            Ok(Some(record)) if record.visit != visit => Err(of_another_visit()),
            Ok(Some(record)) if !record.state.is_live() => Err(Problem::gone(&record, None)),
            // The pass may be from an epoch before a restore, because a restore keeps active entries
            // active.
            Ok(Some(_)) => Ok(()),
            Ok(None) | Err(_) if claims.epoch >= away.known.epoch => Ok(()),
            Ok(None) => Err(of_an_earlier_epoch()),
            Err(_) => Err(away.problem()),
        }
    }

    async fn stored(&self, away: &Away, id: EntryId) -> Result<Option<Record>, BackupError> {
        let shelf = away.known.shelf();
        timeout_at(away.until, self.backup.entry(&shelf, id))
            .await
            .unwrap_or_else(|_| {
                Err(BackupError::Unavailable(
                    "the backup did not answer in time".to_owned(),
                ))
            })
    }
}

fn of_another_visit() -> Problem {
    Problem::new(Code::PassRefused, "the pass belongs to another visit")
}
