//! What a client does after the queue was restored (a new epoch) or reset (a new generation), as documents tell:
//! `web/client/src/resync.ts`.

use std::sync::Arc;

use vestibule_wire::PublicDocument;

use super::{
    Chance,
    bounds::{SPREAD_MS_MAX, as_f64, within},
};

/// Compares the documents since the entry's last answer with the first one.
#[derive(Debug)]
pub(super) struct Resync {
    /// When to ask the entry, or to enter again.
    pub(super) due_ms: f64,
    /// Whether the queue was reset.
    pub(super) is_reset: bool,
    baseline: Option<Arc<PublicDocument>>,
}

impl Resync {
    /// Begins with an answer about the entry. `newest` is the newest document before.
    pub(super) fn start(newest: Option<Arc<PublicDocument>>) -> Self {
        Self {
            due_ms: f64::INFINITY,
            is_reset: false,
            baseline: newest,
        }
    }

    /// Takes a newer document, and returns whether its counts can be compared with the answer.
    pub(super) fn compare(
        &mut self,
        document: &Arc<PublicDocument>,
        now_ms: f64,
        chance: &mut Chance,
    ) -> bool {
        let baseline = self.baseline.get_or_insert_with(|| document.clone());
        if (document.generation, document.epoch) == (baseline.generation, baseline.epoch) {
            return true;
        }
        // The random time is drawn once, or the earliest of many draws would count.
        if self.due_ms.is_infinite() {
            self.due_ms = now_ms + chance.draw() * within(as_f64(document.resync_ms), 0.0, SPREAD_MS_MAX);
        }
        self.is_reset |= document.generation > baseline.generation;
        false
    }
}
