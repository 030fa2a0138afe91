//! Reads the public document: keeps the newest one, and decides when to ask for the next. The same rules are in
//! `web/client/src/document_reader.ts`.

use std::sync::Arc;

use vestibule_wire::PublicDocument;

use super::{
    Chance, backoff_ms,
    bounds::as_f64,
    document::{order, refresh_bounds_ms},
};

/// A document that has not advanced for so long, or for two refreshes, is stale.
const STALE_MS_MIN: f64 = 15_000.0;
const STALE_REFRESHES: f64 = 2.0;
/// Readers vary their interval by so much to each side, so that they do not stay in step.
const REFRESH_JITTER: f64 = 0.15;

/// The state of the reader. Times are milliseconds of the follower's clock.
#[derive(Debug)]
pub(super) struct DocumentReader {
    pub(super) newest: Option<Arc<PublicDocument>>,
    /// When any document came last.
    pub(super) received_at_ms: f64,
    /// When to ask for the next.
    pub(super) due_ms: f64,
    newest_at_answer: Option<Arc<PublicDocument>>,
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
            newest_at_answer: None,
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
    pub(super) fn receive(&mut self, document: Arc<PublicDocument>, now_ms: f64) -> bool {
        self.received_at_ms = now_ms;
        let newest = self.newest.as_ref();
        if newest.is_some_and(|newest| order(&document) <= order(newest)) {
            return false;
        }
        let is_same_epoch = newest
            .is_some_and(|newest| (document.generation, document.epoch) == (newest.generation, newest.epoch));
        let difference_ms = now_ms - as_f64(document.now_ms);
        // A restored queue may have another clock.
        self.clock_difference_ms = if is_same_epoch {
            self.clock_difference_ms.min(difference_ms)
        } else {
            difference_ms
        };
        self.newest = Some(document);
        self.start(now_ms);
        true
    }

    /// Sets when to ask after an answer: after `refresh_ms`, or by the backoff if the newest document is stale.
    pub(super) fn schedule(&mut self, refresh_ms: f64, now_ms: f64, chance: &mut Chance) {
        self.refresh_ms = refresh_ms;
        if now_ms >= self.stale_at_ms(f64::NEG_INFINITY) {
            return self.postpone(now_ms, 0.0, chance);
        }
        let jitter = REFRESH_JITTER * (2.0 * chance.draw() - 1.0);
        self.due_ms = now_ms + refresh_ms * (1.0 + jitter);
    }

    /// Sets when to ask after an answer about the entry, which tells the same. A backoff goes on.
    pub(super) fn schedule_after_entry(&mut self, refresh_ms: f64, now_ms: f64, chance: &mut Chance) {
        if self.failures == 0 {
            self.schedule(refresh_ms, now_ms, chance);
        }
    }

    /// Sets when to ask again after a failure. It grows to the longest interval: a late document costs no turn.
    pub(super) fn postpone(&mut self, now_ms: f64, retry_after_ms: f64, chance: &mut Chance) {
        let (near_ms, far_ms) = refresh_bounds_ms(self.newest.as_deref());
        self.due_ms = now_ms + backoff_ms(retry_after_ms.max(near_ms), self.failures, far_ms, chance);
        self.failures += 1;
    }

    /// Brings the next request forward.
    pub(super) fn expedite(&mut self, at_ms: f64) {
        self.due_ms = self.due_ms.min(at_ms);
    }

    /// An answer about the entry has come. It is newer than the newest document.
    pub(super) fn mark_answer(&mut self) {
        self.newest_at_answer.clone_from(&self.newest);
    }

    /// The newest document, if it came after the last answer about the entry.
    pub(super) fn newest_since_answer(&self) -> Option<&PublicDocument> {
        let newest = self.newest.as_ref()?;
        let at_answer = self.newest_at_answer.as_ref();
        let is_newer = at_answer.is_none_or(|before| !Arc::ptr_eq(before, newest));
        is_newer.then_some(newest)
    }

    /// How long ago the server made a document, as far as the documents so far show.
    pub(super) fn age_ms(&self, document: &PublicDocument, now_ms: f64) -> f64 {
        now_ms - as_f64(document.now_ms) - self.clock_difference_ms
    }

    /// From when on the newest document is stale, or what came at `other_at_ms`, if nothing newer comes.
    pub(super) fn stale_at_ms(&self, other_at_ms: f64) -> f64 {
        self.advanced_at_ms.max(other_at_ms) + STALE_MS_MIN.max(STALE_REFRESHES * self.refresh_ms)
    }
}
