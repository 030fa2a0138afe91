//! A client that follows the public document, by the rules of DESIGN section 8 and of `web/client/src/follower.ts`:
//! while its visitor is far from the head, it reads the document, and asks the entry only when the document calls it,
//! when `look_after_ms` have passed, or when no new document comes and the turn is near. It is a pure state machine.
//!
//! It leaves out what no simulated queue does: a new epoch or generation.

use vestibule_domain::{
    estimate::Estimate,
    lane::WINDOW_ENTRIES_MIN,
    poll_pacing::{DOCUMENT_REFRESH_FAR_MS, DOCUMENT_REFRESH_NEAR_MS, client_backoff_ms},
};

use super::public_document::{DocumentId, PublicDocument, PublicDocuments};

/// The client reads the document this many times in the expected wait.
const REFRESHES_PER_WAIT: u64 = 6;
/// Readers vary their interval by this share to each side.
const REFRESH_JITTER: f64 = 0.15;
/// A document that has not advanced for this long, in milliseconds, or for this many refreshes is stale.
const STALE_MS_MIN: u64 = 15_000;
const STALE_REFRESHES: u64 = 2;
/// An entry at most this many windows behind the boundary is near.
const WINDOWS_NEAR: f64 = 2.0;
/// How far ahead of the turn the window reaches, in seconds, and how much larger it may be if few visitors check in.
const WINDOW_SECONDS: f64 = 60.0;
const WINDOW_GROWTH: f64 = 4.0;

/// The answer about an entry that is far from the head.
#[derive(Debug, Clone, Copy)]
pub(super) struct FarEntry {
    pub(super) place: u64,
    pub(super) lane: u8,
    pub(super) position: u32,
    /// `gone_ahead` of the lane when the position was read.
    pub(super) gone_ahead: i64,
    /// The expected wait, in milliseconds.
    pub(super) eta_ms: u32,
    pub(super) retry_after_ms: u32,
    pub(super) look_after_ms: u32,
}

/// What the client does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NextRequest {
    /// Read the public document at this time.
    Document(u64),
    /// Ask the entry at this time.
    Status(u64),
}

/// The state of a client. Times are milliseconds of the simulation.
#[derive(Debug, Clone, Default)]
pub(super) struct Follower {
    /// The last answer about the entry, if it is far from the head, and when it came.
    entry: Option<FarEntry>,
    answered_at_ms: u64,
    /// When the client asks the entry although no document calls it.
    look_at_ms: u64,
    /// No status request before this time: the last one failed.
    retry_at_ms: u64,
    /// The lowest position that the visitor saw.
    lowest_position: u32,
    newest: Option<DocumentId>,
    newest_at_answer: Option<DocumentId>,
    received_at_ms: u64,
    /// When a newer document came last.
    advanced_at_ms: u64,
    due_ms: u64,
    refresh_ms: u64,
    document_failures: u32,
}

impl Follower {
    /// Whether the client follows the document.
    pub(super) fn is_far(&self) -> bool {
        self.entry.is_some()
    }

    /// Takes an answer about the entry. `None` is any other answer than that of an entry far from the head.
    pub(super) fn receive_entry(
        &mut self,
        entry: Option<FarEntry>,
        documents: &PublicDocuments,
        now_ms: u64,
        jitter: f64,
    ) {
        let was_far = self.is_far();
        self.entry = entry;
        (self.answered_at_ms, self.retry_at_ms) = (now_ms, now_ms);
        self.newest_at_answer = self.newest;
        let Some(entry) = entry else { return };
        self.look_at_ms = now_ms + u64::from(entry.look_after_ms);
        self.lowest_position = match self.lowest_position {
            0 => entry.position,
            lowest => lowest.min(entry.position),
        };
        if !was_far {
            (self.advanced_at_ms, self.document_failures) = (now_ms, 0);
        }
        if self.document_failures == 0 {
            self.schedule_read(documents, now_ms, jitter);
        }
    }

    /// Takes a document from a cache.
    pub(super) fn receive_document(
        &mut self,
        id: DocumentId,
        documents: &PublicDocuments,
        now_ms: u64,
        jitter: f64,
    ) {
        self.received_at_ms = now_ms;
        if self.newest.is_none_or(|newest| id > newest) {
            self.newest = Some(id);
            (self.advanced_at_ms, self.document_failures) = (now_ms, 0);
            if let Some(entry) = &self.entry {
                let position = entry.position_now(documents.get(id));
                self.lowest_position = self.lowest_position.min(position);
            }
        }
        self.schedule_read(documents, now_ms, jitter);
    }

    /// What the visitor sees of the expected wait by the newest document, if it came at this moment.
    pub(super) fn estimate_by_document(&self, documents: &PublicDocuments, now_ms: u64) -> Option<Estimate> {
        let newest = self
            .newest
            .filter(|_| self.is_far() && self.advanced_at_ms == now_ms)?;
        let wait_ms = documents.get(newest).wait_ms(self.lowest_position)?;
        let low = wait_ms.start / 1_000;
        let high = wait_ms.end.div_ceil(1_000).max(low + 1);
        Some(Estimate { low, high })
    }

    /// Takes the failure of a document request, or of one that brought nothing new for too long.
    pub(super) fn postpone_read(&mut self, retry_after_ms: u64, now_ms: u64, jitter: f64) {
        // The bound is a fifth of this time: the longest refresh. A late document costs no turn.
        let backoff_ms = client_backoff_ms(DOCUMENT_REFRESH_FAR_MS * 5, self.document_failures, jitter);
        self.document_failures += 1;
        self.due_ms = now_ms + retry_after_ms.max(DOCUMENT_REFRESH_NEAR_MS) + backoff_ms;
    }

    /// Takes the failure of a status request, which is not repeated before this time. If the turn is far, the client then
    /// waits as long as after an answer, unless a document calls it: the place is kept, and after an outage a whole line
    /// would come back at once.
    pub(super) fn postpone_status(&mut self, documents: &PublicDocuments, retry_at_ms: u64, now_ms: u64) {
        self.retry_at_ms = retry_at_ms;
        let newest = self.newest.map(|id| documents.get(id));
        if let Some(entry) = &self.entry
            && !entry.is_near_boundary(self.lowest_position, newest)
        {
            self.look_at_ms = now_ms + u64::from(entry.look_after_ms);
        }
    }

    /// The next request of a client that is far from the head. `None` if it is not: it polls at the pace of the server.
    pub(super) fn next_request(&self, documents: &PublicDocuments) -> Option<NextRequest> {
        let entry = self.entry.as_ref()?;
        let status_at_ms = self.status_at_ms(entry, documents).max(self.retry_at_ms);
        // Both would tell the same, so one request is enough.
        Some(if status_at_ms <= self.due_ms {
            NextRequest::Status(status_at_ms)
        } else {
            NextRequest::Document(self.due_ms)
        })
    }

    fn status_at_ms(&self, entry: &FarEntry, documents: &PublicDocuments) -> u64 {
        let newest = self.newest.map(|id| documents.get(id));
        let mut at_ms = self.look_at_ms;
        // The boundary may go back, and the answer about the entry is right about it. So only a newer document calls.
        let is_newer = self.newest != self.newest_at_answer;
        if is_newer && newest.is_some_and(|document| entry.is_called(document)) {
            at_ms = at_ms.min(
                self.received_at_ms
                    .max(self.answered_at_ms + DOCUMENT_REFRESH_NEAR_MS),
            );
        }
        // Without documents only the next visitors ask, so that the outage of a cache does not overload the server.
        if entry.is_near_boundary(self.lowest_position, newest) {
            let poll_at_ms = self.answered_at_ms + u64::from(entry.retry_after_ms);
            at_ms = at_ms.min(self.stale_at_ms().max(poll_at_ms));
        }
        at_ms
    }

    fn schedule_read(&mut self, documents: &PublicDocuments, now_ms: u64, jitter: f64) {
        let Some(entry) = &self.entry else { return };
        let by_document = self.newest.map(|id| {
            let wait_ms = documents.get(id).wait_ms(self.lowest_position);
            wait_ms.map_or(u64::MAX, |wait_ms| wait_ms.start)
        });
        let by_entry = || u64::from(entry.eta_ms).saturating_sub(now_ms.saturating_sub(self.answered_at_ms));
        let expected_ms = by_document.unwrap_or_else(by_entry);
        self.refresh_ms =
            (expected_ms / REFRESHES_PER_WAIT).clamp(DOCUMENT_REFRESH_NEAR_MS, DOCUMENT_REFRESH_FAR_MS);
        if now_ms >= self.stale_at_ms() {
            return self.postpone_read(0, now_ms, jitter);
        }
        #[allow(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss
        )]
        let spread_ms = (self.refresh_ms as f64 * (1.0 + REFRESH_JITTER * (2.0 * jitter - 1.0))) as u64;
        self.due_ms = now_ms + spread_ms;
    }

    fn stale_at_ms(&self) -> u64 {
        self.advanced_at_ms + STALE_MS_MIN.max(STALE_REFRESHES * self.refresh_ms)
    }
}

impl FarEntry {
    fn is_called(&self, document: &PublicDocument) -> bool {
        let lane = document.lane(self.lane);
        lane.is_some_and(|progress| progress.check_in_through >= self.place)
    }

    /// The position by a newer document.
    fn position_now(&self, document: &PublicDocument) -> u32 {
        let gone_ahead = document
            .lane(self.lane)
            .map_or(self.gone_ahead, |lane| lane.gone_ahead);
        let position = i64::from(self.position) - (gone_ahead - self.gone_ahead);
        u32::try_from(position.max(1)).unwrap_or(u32::MAX)
    }

    /// Whether the entry is within two windows of the boundary up to which entries are called: see `isNearBoundary` in
    /// `web/client/src/document.ts`.
    #[allow(clippy::cast_precision_loss)]
    fn is_near_boundary(&self, position: u32, document: Option<&PublicDocument>) -> bool {
        let position = f64::from(position);
        let lane = document.and_then(|document| document.lane(self.lane));
        // Before the first entry has passed, the distance to the own place says nothing about the number of entries.
        let share = lane.filter(|lane| lane.passed_through > 0).map_or(0.0, |lane| {
            let window = lane.check_in_through as f64 - lane.passed_through as f64;
            window / (self.place as f64 - lane.passed_through as f64).max(1.0)
        });
        let speed = lane.and_then(|lane| lane.speed.per_second()).unwrap_or(0.0);
        let window_min = (WINDOW_ENTRIES_MIN as f64).max(WINDOW_SECONDS * speed);
        let window = (share * position).clamp(window_min, WINDOW_GROWTH * window_min);
        position <= (1.0 + WINDOWS_NEAR) * window
    }
}

#[cfg(test)]
mod tests;
