//! Reads the public document: keeps the newest one, and decides when to ask for the next. The same rules are in
//! `web/client/src/document_reader.ts`.

use std::sync::Arc;

use vestibule_wire::PublicDocument;

use super::{
    backoff_ms,
    bounds::as_f64,
    document::{order, refresh_bounds_ms},
};

/// A document that has not advanced for so long, or for two refreshes, is stale.
const STALE_MS_MIN: f64 = 15_000.0;
const STALE_REFRESHES: f64 = 2.0;
/// Readers vary their interval by so much to each side.
const REFRESH_JITTER: f64 = 0.15;

/// The state of the reader. Times are milliseconds of the follower's clock.
#[derive(Debug)]
pub(super) struct DocumentReader {
    pub(super) newest: Option<Arc<PublicDocument>>,
    /// When any document came last.
    pub(super) received_at_ms: f64,
    /// When to ask for the next.
    pub(super) due_ms: f64,
    refresh_ms: f64,
    advanced_at_ms: f64,
    failures: u32,
    /// The least difference between the own clock and the time of a document when it came. A greater difference is the age
    /// of a copy that a cache kept.
    clock_difference_ms: f64,
}

impl DocumentReader {
    pub(super) fn new() -> Self {
        Self {
            newest: None,
            received_at_ms: f64::NEG_INFINITY,
            due_ms: f64::INFINITY,
            refresh_ms: 0.0,
            advanced_at_ms: f64::NEG_INFINITY,
            failures: 0,
            clock_difference_ms: f64::INFINITY,
        }
    }

    /// Starts to read after a time without reading, in which no newer document was expected.
    pub(super) fn start(&mut self, now_ms: f64) {
        self.advanced_at_ms = now_ms;
        self.failures = 0;
    }

    /// Takes a document, and returns whether it is newer than the ones before.
    pub(super) fn receive(&mut self, document: PublicDocument, now_ms: f64) -> bool {
        self.received_at_ms = now_ms;
        let newest = self.newest.as_ref();
        if newest.is_some_and(|newest| order(&document) <= order(newest)) {
            return false;
        }
        self.clock_difference_ms = self.clock_difference_ms.min(now_ms - as_f64(document.now_ms));
        self.newest = Some(Arc::new(document));
        self.advanced_at_ms = now_ms;
        self.failures = 0;
        true
    }

    /// Sets when to ask after an answer: after `refresh_ms`, or by the backoff if the newest document is stale.
    pub(super) fn schedule(&mut self, refresh_ms: f64, now_ms: f64) {
        self.refresh_ms = refresh_ms;
        if now_ms >= self.stale_at_ms() {
            return self.postpone(now_ms, 0.0);
        }
        let jitter = REFRESH_JITTER * (2.0 * rand::random::<f64>() - 1.0);
        self.due_ms = now_ms + refresh_ms * (1.0 + jitter);
    }

    /// Sets when to ask after an answer about the entry, which tells the same. A backoff goes on.
    pub(super) fn schedule_after_entry(&mut self, refresh_ms: f64, now_ms: f64) {
        if self.failures == 0 {
            self.schedule(refresh_ms, now_ms);
        }
    }

    /// Sets when to ask again after a failure.
    pub(super) fn postpone(&mut self, now_ms: f64, retry_after_ms: f64) {
        let (near_ms, far_ms) = refresh_bounds_ms(self.newest.as_deref());
        self.due_ms = now_ms + backoff_ms(retry_after_ms.max(near_ms), self.failures, far_ms);
        self.failures += 1;
    }

    /// How long ago the server made a document, as far as the documents so far show.
    pub(super) fn age_ms(&self, document: &PublicDocument, now_ms: f64) -> f64 {
        now_ms - as_f64(document.now_ms) - self.clock_difference_ms
    }

    /// From when on the newest document is stale, if no newer one comes.
    pub(super) fn stale_at_ms(&self) -> f64 {
        self.advanced_at_ms + STALE_MS_MIN.max(STALE_REFRESHES * self.refresh_ms)
    }
}
