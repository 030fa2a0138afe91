//! How visitors read the public document, and how the origin answers the CDN.

use std::sync::Arc;

use rand::RngExt;
use vestibule_crowd::{act::Answer, rules::Refusal};
use vestibule_sizing::ceilings::Route;

use super::{
    cdn::{Cdn, Copy},
    state::Simulation,
};

/// What a visitor is told if no cache has a document: an error of the origin, or of the CDN.
const NO_DOCUMENT: Refusal = Refusal {
    status: 503,
    code: None,
    retry_after_ms: 0.0,
    state: None,
};

impl Simulation {
    /// Reads the document for a visitor, at an edge location.
    pub(super) fn read_document(&mut self, visitor: u32) -> Result<Answer, Refusal> {
        let edge = Cdn::edge_of(visitor, self.rng.random());
        // The origin needs the rest of the run.
        let mut cdn = std::mem::take(&mut self.cdn);
        let document = cdn.read(edge, self.now_ms, || self.answer_document());
        self.cdn = cdn;
        document.map(Answer::Document).ok_or(NO_DOCUMENT)
    }

    /// The answer of the origin to the CDN. `None` if it refuses the request.
    fn answer_document(&mut self) -> Option<Copy> {
        self.admit_request(Route::Document).ok()?;
        self.refresh_reading();
        let made_at_ms = self.reading.view.now_ms;
        if self
            .document
            .as_ref()
            .is_none_or(|document| document.now_ms != made_at_ms)
        {
            self.document = Some(Arc::new(self.reading.describe_queue(Vec::new())));
        }
        let document = self.document.clone()?;
        Some(Copy {
            document,
            at_ms: self.now_ms,
        })
    }
}
