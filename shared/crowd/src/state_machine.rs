//! The follower: decides which request to send next and when. `web/client/src/follower.ts`.

use std::sync::Arc;

use vestibule_domain::{estimate::Estimate, state::EntryState};
use vestibule_wire::{Entry, PublicDocument};

use super::{
    backoff_ms,
    bounds::{PAUSE_MS_MAX, PAUSE_MS_MIN, SPREAD_MS_MAX, as_f64, within},
    document::{calls, estimate, is_near_boundary, refresh_bounds_ms, refresh_ms, unclamped_position},
    document_reader::DocumentReader,
    entry::{backoff_bound_ms, failed_pause_ms, hold_seconds, is_far_from_head, poll_ms},
};

/// The wait after a refused claim, in milliseconds, if the server sets none.
const CLAIM_RETRY_MS: f64 = 2_000.0;

/// A request that the follower wants to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestKind {
    /// Enter the queue.
    Enter,
    /// Ask the entry, with a poll that the server may hold.
    Status {
        /// For how long, in seconds.
        hold_seconds: u32,
    },
    /// Claim the turn.
    Claim,
    /// Read the public document.
    Document,
}

/// The next request, and when to send it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NextRequest {
    /// The request.
    pub kind: RequestKind,
    /// When to send it, in milliseconds of the follower's clock. It may be past.
    pub at_ms: f64,
}

/// A request that failed, or was refused for now.
#[derive(Debug, Clone, Copy)]
pub struct Failure {
    /// The kind of the request.
    pub kind: RequestKind,
    /// The status of the answer; 0 without an answer.
    pub status: u16,
    /// `Retry-After`, in milliseconds; 0 without one.
    pub retry_after_ms: f64,
}

/// The follower of one visit. Times are milliseconds of a monotonic clock of the caller.
#[derive(Debug)]
pub struct Follower {
    /// Whether it follows the document. If not, it polls at `retry_after_ms`, which is correct too.
    reads_documents: bool,
    reader: DocumentReader,
    is_joining: bool,
    entry: Option<Entry>,
    entry_at_ms: f64,
    /// When the entry was last asked, also in vain.
    asked_at_ms: f64,
    /// The newest document at the time of the last answer about the entry.
    document_at_answer: Option<Arc<PublicDocument>>,
    lowest_position: Option<u64>,
    failures: u32,
    retry_at_ms: f64,
    is_claim_refused: bool,
}

impl Follower {
    /// A visitor who is about to enter.
    pub fn new(reads_documents: bool, now_ms: f64) -> Self {
        Self {
            reads_documents,
            reader: DocumentReader::new(),
            is_joining: true,
            entry: None,
            entry_at_ms: now_ms,
            asked_at_ms: now_ms,
            document_at_answer: None,
            lowest_position: None,
            failures: 0,
            retry_at_ms: now_ms,
            is_claim_refused: false,
        }
    }

    /// The visitor comes back after a time without any request, with the token of the entry.
    pub fn rejoin(&mut self, now_ms: f64) {
        (self.is_joining, self.failures, self.retry_at_ms) = (true, 0, now_ms);
    }

    /// The visit has ended. The next request enters again.
    pub fn forget_entry(&mut self, now_ms: f64) {
        *self = Self::new(self.reads_documents, now_ms);
    }

    /// The last answer about the entry.
    pub fn entry(&self) -> Option<&Entry> {
        self.entry.as_ref()
    }

    /// The server has answered a request about the entry.
    pub fn receive_entry(&mut self, entry: Entry, now_ms: f64) {
        let was_far = self.is_far();
        let is_same_visit = self
            .entry
            .as_ref()
            .is_some_and(|before| before.visit == entry.visit);
        let lowest = self.lowest_position.filter(|_| is_same_visit);
        self.lowest_position = lowest.into_iter().chain(entry.position).min();
        self.entry = Some(entry);
        (self.entry_at_ms, self.asked_at_ms, self.retry_at_ms) = (now_ms, now_ms, now_ms);
        (self.failures, self.is_joining, self.is_claim_refused) = (0, false, false);
        self.document_at_answer.clone_from(&self.reader.newest);
        if self.is_far() {
            if !was_far {
                self.reader.start(now_ms);
            }
            let refresh_ms = self.refresh_ms(now_ms);
            self.reader.schedule_after_entry(refresh_ms, now_ms);
        }
    }

    /// A cache or the server has answered with the public document. Returns whether it is newer than the ones before.
    pub fn receive_document(&mut self, document: PublicDocument, now_ms: f64) -> bool {
        let is_newer = self.reader.receive(document, now_ms);
        if is_newer && self.is_far() {
            let position = self.unclamped_position().map(|position| position.max(1));
            let position = position.and_then(|position| u64::try_from(position).ok());
            self.lowest_position = self.lowest_position.into_iter().chain(position).min();
        }
        let refresh_ms = self.refresh_ms(now_ms);
        self.reader.schedule(refresh_ms, now_ms);
        is_newer
    }

    /// A request failed, or was refused for now.
    pub fn receive_failure(&mut self, failure: Failure, now_ms: f64) {
        if failure.kind == RequestKind::Document {
            return self.reader.postpone(now_ms, failure.retry_after_ms);
        }
        self.is_claim_refused = failure.kind == RequestKind::Claim && failure.status == 409;
        if self.is_claim_refused {
            let retry_ms = if failure.retry_after_ms > 0.0 {
                failed_pause_ms(self.entry.as_ref(), failure.retry_after_ms)
            } else {
                CLAIM_RETRY_MS
            };
            self.retry_at_ms = now_ms + retry_ms;
            return;
        }
        let bound_ms = backoff_bound_ms(self.entry.as_ref());
        let pause_ms = failed_pause_ms(self.entry.as_ref(), failure.retry_after_ms);
        self.retry_at_ms = now_ms + backoff_ms(pause_ms, self.failures, bound_ms);
        self.failures += 1;
        let is_near = |entry| is_near_boundary(entry, self.shown_position(), self.reader.newest.as_deref());
        if self.is_far() && !self.entry.as_ref().is_some_and(is_near) {
            // The place is kept, and after an outage a whole line must not come back at once.
            self.asked_at_ms = now_ms;
        }
    }

    /// The next request.
    pub fn next_request(&self) -> NextRequest {
        let Some(entry) = &self.entry else {
            return self.at_retry(RequestKind::Enter);
        };
        if self.is_joining {
            return self.at_retry(RequestKind::Status { hold_seconds: 0 });
        }
        if entry.state == EntryState::Ready && !self.is_claim_refused {
            return self.at_retry(RequestKind::Claim);
        }
        if !self.is_far() {
            return self.status_request(entry, self.poll_at_ms(entry));
        }
        let look_at_ms = self.look_at_ms(entry).max(self.retry_at_ms);
        if look_at_ms <= self.reader.due_ms {
            self.status_request(entry, look_at_ms)
        } else {
            self.document_request()
        }
    }

    /// The lowest position so far in the visit, which the visitor sees. `None` if the entry does not wait.
    pub fn shown_position(&self) -> Option<u64> {
        let entry = self
            .entry
            .as_ref()
            .filter(|entry| entry.state == EntryState::Waiting)?;
        self.lowest_position.filter(|_| entry.position.is_some())
    }

    /// The position of the last answer or, for a far entry, that of a newer document. Unlike the shown position it may
    /// rise. `None` if the entry does not wait.
    pub fn unclamped_position(&self) -> Option<i64> {
        let entry = self
            .entry
            .as_ref()
            .filter(|entry| entry.state == EntryState::Waiting)?;
        let by_document = self.newer_document().filter(|_| self.is_far());
        by_document
            .and_then(|document| unclamped_position(document, entry))
            .or_else(|| i64::try_from(entry.position?).ok())
    }

    /// The expected wait that the visitor sees.
    pub fn shown_estimate(&self, now_ms: f64) -> Option<Estimate> {
        let newer = self.newer_document().filter(|_| self.is_far());
        let age_ms = newer.map_or(now_ms - self.entry_at_ms, |document| {
            self.reader.age_ms(document, now_ms)
        });
        estimate(self.entry.as_ref()?, self.shown_position(), newer, age_ms)
    }

    /// The newest document, if it came after the last answer about the entry.
    pub fn newer_document(&self) -> Option<&PublicDocument> {
        let newest = self.reader.newest.as_ref()?;
        let is_newer = self
            .document_at_answer
            .as_ref()
            .is_none_or(|before| !Arc::ptr_eq(before, newest));
        is_newer.then_some(newest)
    }

    /// Whether the visitor follows the document.
    pub fn is_far(&self) -> bool {
        self.reads_documents && self.entry.as_ref().is_some_and(is_far_from_head)
    }

    fn at_retry(&self, kind: RequestKind) -> NextRequest {
        let at_ms = self.retry_at_ms;
        NextRequest { kind, at_ms }
    }

    fn document_request(&self) -> NextRequest {
        let (kind, at_ms) = (RequestKind::Document, self.reader.due_ms);
        NextRequest { kind, at_ms }
    }

    fn status_request(&self, entry: &Entry, at_ms: f64) -> NextRequest {
        let can_be_held = !self.is_far() || self.is_called_since_answer(entry);
        let hold_seconds = if can_be_held { hold_seconds(entry) } else { 0 };
        NextRequest {
            kind: RequestKind::Status { hold_seconds },
            at_ms,
        }
    }

    fn poll_at_ms(&self, entry: &Entry) -> f64 {
        if self.failures > 0 || self.is_claim_refused {
            self.retry_at_ms
        } else {
            self.entry_at_ms + poll_ms(entry)
        }
    }

    /// When to ask an entry that was far from the head in the last answer.
    fn look_at_ms(&self, entry: &Entry) -> f64 {
        let newest = self.reader.newest.as_deref();
        let (near_ms, _) = refresh_bounds_ms(newest);
        let look_after_ms = entry.look_after_ms.map_or(PAUSE_MS_MAX, as_f64);
        let mut at_ms = self.asked_at_ms + within(look_after_ms, PAUSE_MS_MIN, SPREAD_MS_MAX);
        if self.is_called_since_answer(entry) {
            at_ms = at_ms.min(self.reader.received_at_ms.max(self.entry_at_ms + near_ms));
        }
        if is_near_boundary(entry, self.shown_position(), newest) {
            at_ms = at_ms.min(self.reader.stale_at_ms().max(self.poll_at_ms(entry)));
        }
        at_ms
    }

    /// Whether a newer document than the last answer calls the entry.
    fn is_called_since_answer(&self, entry: &Entry) -> bool {
        self.newer_document()
            .is_some_and(|document| calls(document, entry))
    }

    fn refresh_ms(&self, now_ms: f64) -> f64 {
        let newest = self.reader.newest.as_deref();
        let (_, far_ms) = refresh_bounds_ms(newest);
        self.entry.as_ref().map_or(far_ms, |entry| {
            refresh_ms(entry, now_ms - self.entry_at_ms, self.shown_position(), newest)
        })
    }
}
