//! What is answered while the line cannot be reached: from the backup, and marked as degraded.
//!
//! The backup has what was acknowledged, but not the order of the line. So an entry can be shown, and nothing can be
//! changed: nobody enters, claims, extends, leaves or completes.

use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, timeout_at};

use super::{
    Edge,
    code::Code,
    entry::EntryBody,
    problem::Problem,
    validate::{Question, of_an_earlier_epoch},
    views::{Absence, Known, READ_TIMEOUT, Seen},
    visitor::{Ownership, is_owner, mismatch},
};
use crate::{
    backup::BackupError,
    domain::{
        id::{EntryId, IdKey, QueueId},
        record::Record,
        score::Visit,
        settings::{OnOutage, Settings},
        state::State,
    },
    pass::{Grant, Pass, PassClaims, PassError},
    system_clock,
};

/// Nobody waits longer than this for an answer without the line, the wait for the line included.
const ANSWER_WITHIN: Duration = Duration::from_millis(1_800);
/// How far this process's clock may be behind the line's, by which passes are made.
const SKEW_SECONDS: u64 = 5;

/// A queue, as far as it can be seen.
pub(super) enum Sight {
    /// By its line.
    Line(Arc<Seen>),
    /// By the backup, since the line is away.
    Backup(Away),
}

/// A queue whose line is away.
pub(super) struct Away {
    pub(super) known: Arc<Known>,
    /// Why the line gave no answer.
    cause: String,
    /// How long the backup may take for the entry.
    until: Instant,
}

impl Away {
    /// The line went away after it had shown the queue.
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

/// An entry that may act although nobody could ask the line.
pub(super) struct Honoured {
    pub(super) visit: Visit,
    /// Until when the pass is honoured like this.
    pub(super) until_ms: u64,
}

impl Edge {
    /// How a queue stands, by the backup where the line is away.
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

    /// Shows an entry as the backup has it.
    pub(super) async fn show_stored(
        &self,
        away: &Away,
        id: EntryId,
        ownership: Ownership,
    ) -> Result<EntryBody, Problem> {
        let stored = self.stored(away, id).await;
        let record = stored.map_err(|error| Problem::line_away(format!("{}; {error}", away.cause)))?;
        // Whoever came since, or came again, may be in the line alone, and whoever hears of an end does not ask again.
        let Some(record) = record.filter(|record| record.state.is_live()) else {
            return Err(away.problem());
        };
        tracing::warn!(
            event = "entry.served_degraded",
            cause = %away.cause,
            "answered a status request from the backup because the line is unavailable"
        );
        // This process's time: the line's is not to be had.
        let now_ms = system_clock::now_ms();
        let pass = match ownership {
            Ownership::Proven => self.pass_for_stored(&away.known, &record, now_ms)?,
            Ownership::Mismatch | Ownership::Unproven => None,
        };
        Ok(EntryBody::stored(&away.known, &record, pass, now_ms))
    }

    /// Every change that was acknowledged is in the record: while it says active, the pass is due, up to the end that it
    /// says.
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

    /// Whether the pass that is shown is honoured without the line, as the queue's settings have it.
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
        let now = system_clock::now_ms() / 1_000;
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

    /// Refuses the pass of a visit that is over, as far as the backup can tell, and one of before the last reset.
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
            // Also of an epoch before a restore: what was let in is let in again.
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
            .unwrap_or_else(|_| Err(BackupError::Unavailable("no answer in time".to_owned())))
    }
}

fn of_another_visit() -> Problem {
    Problem::new(Code::PassRefused, "it is of another visit")
}
