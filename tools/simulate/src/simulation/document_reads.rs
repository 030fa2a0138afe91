//! Reads of the public document through the CDN, by clients that follow it.

use rand::RngExt;

use super::{
    cdn::{Cdn, Copy},
    follower::NextRequest,
    front_door::Refusal,
    public_document::DocumentId,
    state::Simulation,
    visitor_state::Step,
};
use vestibule_sizing::ceilings::Route;

impl Simulation {
    /// Reads the document for a client, and schedules its next request.
    pub(super) fn read_document(&mut self, visitor: u32) {
        let edge = Cdn::edge_of(visitor, self.rng.random());
        let document = self.read_edge(edge);
        let (jitter, now_ms) = (self.rng.random(), self.now_ms);
        let follower = &mut self.followers[visitor as usize];
        match document {
            Some(id) => follower.receive_document(id, &self.documents, now_ms, jitter),
            None => follower.postpone_read(0, now_ms, jitter),
        }
        if let Some(estimate) = follower.estimate_by_document(&self.documents, now_ms) {
            self.outcome
                .document_estimates
                .record_answer(visitor, now_ms, Some(estimate));
        }
        self.schedule_far_request(visitor);
    }

    /// Schedules the next request of a client whose entry is far from the head.
    pub(super) fn schedule_far_request(&mut self, visitor: u32) {
        let next = self.followers[visitor as usize].next_request(&self.documents);
        let (step, at_ms) = match next {
            Some(NextRequest::Document(at_ms)) => (Step::ReadDocument, at_ms),
            Some(NextRequest::Status(at_ms)) => (Step::Poll, at_ms),
            None => unreachable!("the entry is far from the head"),
        };
        let at_ms = at_ms.max(self.now_ms) + self.draw_poll_delay_ms();
        self.schedule_request(visitor, step, at_ms);
    }

    fn read_edge(&mut self, edge: usize) -> Option<DocumentId> {
        // The origin needs the rest of the run.
        let mut cdn = std::mem::take(&mut self.cdn);
        let document = cdn.read(edge, self.now_ms, || self.answer_document());
        self.cdn = cdn;
        document
    }

    /// The answer of the origin to the CDN. `None` if it refuses the request.
    fn answer_document(&mut self) -> Option<Copy> {
        match self.admit_request(Route::Document) {
            Ok(()) => {}
            Err(Refusal::Throttled | Refusal::LineUnavailable | Refusal::Unreachable) => return None,
        }
        self.refresh_view();
        let document = self.documents.publish(&self.view, &self.forecast);
        Some(Copy::new(document, self.now_ms))
    }
}
