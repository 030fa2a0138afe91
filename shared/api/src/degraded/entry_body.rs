//! The entry as its visitor sees it while the line is unavailable.

use vestibule_domain::{
    id::{EntryId, QueueId},
    poll_pacing::{RETRY_MIN_MS, degraded_retry_after_ms, renew_after_ms},
    queue_state::QueueState,
    record::EntryRecord,
    score::Visit,
    settings::Settings,
    state::EntryState,
};
use vestibule_wire::{Entry, Message, Pass};

use super::DegradedContext;
use crate::{
    entries::{Entries, view::EntryBody},
    problem::Problem,
    queue::DegradedQueue,
    who::{
        credentials::Ownership,
        pass::{PassGrant, PassKeys},
    },
};

impl DegradedContext {
    /// Builds the JSON of an entry as the backup has it.
    pub(crate) async fn entry_body(
        &self,
        entries: &Entries,
        passes: &PassKeys,
        id: EntryId,
        ownership: Ownership,
    ) -> Result<EntryBody, Problem> {
        let stored = self.read_entry(entries, id).await;
        let record = stored.map_err(|error| Problem::line_unavailable(format!("{}; {error}", self.cause)))?;
        // A visitor who entered lately may be in the line only, and a client that is told of an end does
        // not ask again. So a missing or ended record is answered like any other outage.
        let Some(record) = record.filter(|record| record.state.is_live()) else {
            return Err(self.problem());
        };
        tracing::warn!(
            event = "entry.served_degraded",
            cause = %self.cause,
            "answered a status request from the backup because the line is unavailable"
        );
        // This is the clock of the process, because line time cannot be read.
        let now_ms = vestibule_telemetry::clock::now_ms();
        let pass = match ownership {
            Ownership::Proven => self.sign_stored_pass(passes, &record, now_ms)?,
            Ownership::Mismatch | Ownership::Unproven => None,
        };
        let body = EntryBody::from_record(&self.queue, &record, pass, now_ms);
        Ok(match ownership {
            Ownership::Proven => body,
            Ownership::Mismatch | Ownership::Unproven => body.unproven(),
        })
    }

    /// Signs a pass for an entry whose record is active. The record has every acknowledged change,
    /// so the visitor is entitled to the pass until the session end that it shows.
    fn sign_stored_pass(
        &self,
        passes: &PassKeys,
        record: &EntryRecord,
        now_ms: u64,
    ) -> Result<Option<Pass>, Problem> {
        let queue = &*self.queue;
        let Some(session_end_ms) = record.expires_at_ms.filter(|end| *end > now_ms) else {
            return Ok(None);
        };
        if record.state != EntryState::Active {
            return Ok(None);
        }
        let grant = PassGrant {
            queue: &queue.queue,
            entry: record.id,
            visit: record.visit(),
            epoch: queue.epoch,
            pass_end_ms: now_ms + queue.settings.pass_ms(session_end_ms - now_ms),
        };
        Ok(Some(passes.sign(&grant, now_ms)?))
    }
}

impl EntryBody {
    /// Builds the JSON of an entry from its record while the line is unavailable.
    fn from_record(known: &DegradedQueue, record: &EntryRecord, pass: Option<Pass>, now_ms: u64) -> Self {
        let queue = KnownQueue {
            queue: &known.queue,
            settings: &known.settings,
            claim_ms: known.claim_ms,
            state: known.queue_state(now_ms),
        };
        let place = StoredPlace::from(record);
        Self(describe_stored_entry(
            &queue,
            &place,
            pass,
            now_ms,
            rand::random(),
        ))
    }
}

/// What is known of a queue whose line is unavailable.
#[derive(Debug, Clone, Copy)]
pub struct KnownQueue<'a> {
    /// The queue.
    pub queue: &'a QueueId,
    /// Its settings.
    pub settings: &'a Settings,
    /// The shortest time to claim a turn that comes when the line is back, in milliseconds.
    pub claim_ms: u64,
    /// What the queue does.
    pub state: QueueState,
}

/// What the backup knows of a live entry. Times are Unix milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredPlace {
    /// The entry.
    pub id: EntryId,
    /// The visit.
    pub visit: Visit,
    /// The state of the entry.
    pub state: EntryState,
    /// The deadline of the claim, or the end of the session.
    pub deadline_ms: Option<u64>,
    /// When the visitor entered.
    pub joined_at_ms: Option<u64>,
    /// When the turn came.
    pub promoted_at_ms: Option<u64>,
}

impl From<&EntryRecord> for StoredPlace {
    fn from(record: &EntryRecord) -> Self {
        Self {
            id: record.id,
            visit: record.visit(),
            state: record.state,
            deadline_ms: record.expires_at_ms,
            joined_at_ms: record.joined_at_ms(),
            promoted_at_ms: record.promoted_at_ms,
        }
    }
}

/// The answer about an entry while the line is unavailable. The position and the wait are unknown then. `jitter` is random in
/// `0.0..1.0`.
pub fn describe_stored_entry(
    known: &KnownQueue<'_>,
    place: &StoredPlace,
    pass: Option<Pass>,
    now_ms: u64,
    jitter: f64,
) -> Entry {
    let deadline_of = |state| place.deadline_ms.filter(|_| place.state == state);
    let expires_at_ms = deadline_of(EntryState::Active);
    let left_until = |at_ms: u64| at_ms.saturating_sub(now_ms);
    let again_ms = degraded_retry_after_ms(known.claim_ms, jitter);
    let retry_after_ms = match &pass {
        Some(_) => {
            let left_ms = expires_at_ms.map_or(0, left_until);
            renew_after_ms(known.settings.pass_ms(left_ms), left_ms).max(RETRY_MIN_MS)
        }
        None => again_ms,
    };
    let (queue, token) = (known.queue.to_string(), place.id.to_string());
    Entry {
        message: Message::of(known.settings),
        claim_by_ms: deadline_of(EntryState::Ready),
        claim_in_ms: deadline_of(EntryState::Ready).map(left_until),
        expires_at_ms,
        expires_in_ms: expires_at_ms.map(left_until),
        retry_after_ms: Some(retry_after_ms),
        joined_at_ms: place.joined_at_ms,
        promoted_at_ms: place.promoted_at_ms,
        target_url: known.settings.target_url.clone().filter(|_| pass.is_some()),
        pass,
        degraded: true,
        ..Entry::new(queue, token, place.visit.number(), place.state, known.state)
    }
}
