//! A visitor: sends the requests of a follower, hands it the answers, and writes down what it met.

use std::{sync::Arc, time::Duration};

use http::Method;
use serde_json::json;
use tokio::time::{Instant, sleep_until};
use uuid::Uuid;
use vestibule_domain::state::EntryState;
use vestibule_crowd::{Failure, Follower, RequestKind};
use vestibule_wire::{Entry, PublicDocument};

use crate::{
    api::{ApiCall, Refusal},
    conduct::Conduct,
    gauges::Stage,
    operation::Operation,
    scene::Scene,
    stop::StopSignal,
    visit_record::VisitRecord,
};

/// A request that the client would send much later is not due in any rehearsal.
const LATER: f64 = 86_400.0;

/// One visitor of the queue.
pub(crate) struct Visitor {
    pub(crate) scene: Arc<Scene>,
    pub(crate) follower: Follower,
    pub(crate) record: VisitRecord,
    pub(crate) id: String,
    stop: StopSignal,
    stage: Stage,
    has_slot: bool,
    clock: Instant,
    last_shown: Option<u64>,
    last_answered: Option<u64>,
}

/// What a step came to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step {
    /// An answer came, or the client asks again later.
    Next,
    /// The moment came until which the step might wait.
    TimeUp,
    /// The rehearsal ends.
    Stopped,
    /// The server refused the visitor or ended the visit.
    Ended(Refusal),
}

impl Visitor {
    /// A visitor who arrives.
    pub(crate) fn new(scene: Arc<Scene>, conduct: Conduct) -> Self {
        let stop = scene.stop.clone();
        scene.gauges.enter_stage(None, Stage::Entering);
        Self {
            follower: Follower::new(true, 0.0),
            record: VisitRecord::new(conduct),
            id: Uuid::new_v4().to_string(),
            stop,
            stage: Stage::Entering,
            has_slot: false,
            clock: Instant::now(),
            last_shown: None,
            last_answered: None,
            scene,
        }
    }

    /// The state of the entry in the last answer.
    pub(crate) fn state(&self) -> Option<EntryState> {
        self.follower.entry().map(|entry| entry.state)
    }

    /// When the next request is due.
    pub(crate) fn next_request_at(&self) -> Instant {
        let after_s = (self.follower.next_request().at_ms / 1_000.0).clamp(0.0, LATER);
        self.clock + Duration::from_secs_f64(after_s)
    }

    /// Waits until this moment. Returns whether the rehearsal ends first.
    pub(crate) async fn is_stopped_before(&mut self, at: Instant) -> bool {
        tokio::select! {
            () = self.stop.wait() => true,
            () = sleep_until(at) => false,
        }
    }

    /// Waits for the next request of the client, but not longer than `until`, sends it and takes the answer.
    pub(crate) async fn step(&mut self, until: Option<Instant>) -> Step {
        let due_at = self.next_request_at();
        let wakes_at = until.map_or(due_at, |until| until.min(due_at));
        if self.is_stopped_before(wakes_at).await {
            return Step::Stopped;
        }
        if wakes_at < due_at {
            return Step::TimeUp;
        }
        let kind = self.follower.next_request().kind;
        let refused = match kind {
            RequestKind::Document => self.read_document().await.err(),
            _ => self.ask_entry(kind).await.err(),
        };
        refused.map_or(Step::Next, |refusal| self.take_refusal(kind, refusal))
    }

    async fn read_document(&mut self) -> Result<(), Refusal> {
        self.record.requests += 1;
        self.record.document_reads += 1;
        // No header of its own, so that any cache may answer it.
        let call = ApiCall {
            operation: Operation::Document,
            method: Method::GET,
            path: String::new(),
            visitor: None,
            body: None,
            hold: Duration::ZERO,
        };
        let document: PublicDocument = self.scene.api.ask(call).await?;
        self.follower.receive_document(document, self.now_ms());
        self.record_shown_position();
        Ok(())
    }

    async fn ask_entry(&mut self, kind: RequestKind) -> Result<(), Refusal> {
        let (operation, method, rest, hold) = match kind {
            RequestKind::Enter | RequestKind::Document => (Operation::Enter, Method::POST, String::new(), 0),
            RequestKind::Claim => (Operation::Claim, Method::POST, "/claim".to_owned(), 0),
            RequestKind::Status { hold_seconds: 0 } => (Operation::Poll, Method::GET, String::new(), 0),
            RequestKind::Status { hold_seconds } => (
                Operation::HeldPoll,
                Method::GET,
                format!("?wait={hold_seconds}"),
                hold_seconds,
            ),
        };
        let entry = self.send_about_entry(operation, method, &rest, hold).await?;
        self.take_entry(entry);
        Ok(())
    }

    async fn send_about_entry(
        &mut self,
        operation: Operation,
        method: Method,
        rest: &str,
        hold_seconds: u32,
    ) -> Result<Entry, Refusal> {
        self.record.requests += 1;
        let call = ApiCall {
            operation,
            body: (method == Method::POST).then(|| json!({})),
            method,
            path: self.entry_path(rest),
            visitor: Some(&self.id),
            hold: Duration::from_secs(hold_seconds.into()),
        };
        self.scene.api.ask(call).await
    }

    /// Makes the session longer, and takes the answer.
    pub(crate) async fn extend(&mut self) -> Result<(), Refusal> {
        let entry = self
            .send_about_entry(Operation::Extend, Method::POST, "/extend", 0)
            .await?;
        self.take_entry(entry);
        Ok(())
    }

    /// Asks what became of the entry, without taking the answer.
    pub(crate) async fn look(&mut self) -> Result<Entry, Refusal> {
        self.send_about_entry(Operation::Look, Method::GET, "", 0).await
    }

    /// Leaves the queue.
    pub(crate) async fn leave(&mut self) -> Result<(), Refusal> {
        self.record.requests += 1;
        let visit = self.follower.entry().map_or(0, |entry| entry.visit);
        let call = ApiCall {
            operation: Operation::Leave,
            method: Method::DELETE,
            path: self.entry_path(&format!("?visit={visit}")),
            visitor: Some(&self.id),
            body: None,
            hold: Duration::ZERO,
        };
        self.scene.api.tell(call).await
    }

    /// Asks as the protected service: `/validate` or `/complete`.
    pub(crate) async fn ask_as_service(&self, operation: Operation) -> Result<(), Refusal> {
        let visit = self.follower.entry().map(|entry| entry.visit);
        let call = ApiCall {
            operation,
            method: Method::POST,
            path: self.entry_path(&format!("/{}", operation.name())),
            visitor: None,
            body: Some(json!({ "visitor": self.id, "visit": visit })),
            hold: Duration::ZERO,
        };
        self.scene.api.tell(call).await
    }

    /// The path of the entry behind that of the queue.
    fn entry_path(&self, rest: &str) -> String {
        match self.follower.entry() {
            Some(entry) => format!("/entries/{}{rest}", entry.token),
            None => "/entries".to_owned(),
        }
    }

    fn now_ms(&self) -> f64 {
        self.clock.elapsed().as_secs_f64() * 1_000.0
    }

    fn take_entry(&mut self, entry: Entry) {
        let stage = match entry.state {
            EntryState::Waiting => Stage::Waiting,
            EntryState::Ready => Stage::Ready,
            EntryState::Active => Stage::Active,
            _ => Stage::Ended,
        };
        let record = &mut self.record;
        record.is_fast_tracked |= !record.has_entered && stage == Stage::Active;
        record.has_entered = true;
        record.is_promoted |= stage == Stage::Ready;
        record.is_claimed |= record.is_promoted && stage == Stage::Active;
        record.place = entry.lane.zip(entry.place).or(record.place);
        record.joined_at_ms = entry.joined_at_ms.or(record.joined_at_ms);
        record.claim_by_ms = entry.claim_by_ms.or(record.claim_by_ms);
        let position = entry.position;
        record.answered_rises += u64::from(
            position
                .zip(self.last_answered)
                .is_some_and(|(now, last)| now > last),
        );
        self.last_answered = position.or(self.last_answered);
        self.move_to(stage);
        self.follower.receive_entry(entry, self.now_ms());
        self.record_shown_position();
    }

    fn record_shown_position(&mut self) {
        let shown = self.follower.shown_position();
        self.record.shown_rises +=
            u64::from(shown.zip(self.last_shown).is_some_and(|(now, last)| now > last));
        self.last_shown = shown.or(self.last_shown);
    }

    /// The visitor is in another stage.
    pub(crate) fn move_to(&mut self, stage: Stage) {
        let gauges = &self.scene.gauges;
        if stage != self.stage {
            gauges.enter_stage(Some(self.stage), stage);
            self.stage = stage;
        }
        if matches!(stage, Stage::Ready | Stage::Active) && !self.has_slot {
            gauges.take_slot();
            self.has_slot = true;
        }
    }

    /// The visitor gives the slot up, or the server is about to take it.
    pub(crate) fn free_slot(&mut self) {
        if std::mem::take(&mut self.has_slot) {
            self.scene.gauges.free_slot();
        }
    }

    fn take_refusal(&mut self, kind: RequestKind, refusal: Refusal) -> Step {
        let is_refused_claim = kind == RequestKind::Claim && refusal.status == 409;
        if kind != RequestKind::Document && !refusal.is_retryable() && !is_refused_claim {
            return Step::Ended(refusal);
        }
        if kind == RequestKind::Enter {
            // A gateway that gave up waiting for the answer of the function knows no more than a client without one.
            self.record.may_have_entered |= refusal.status == 0 || refusal.status >= 500;
        }
        let failure = Failure {
            kind,
            status: refusal.status,
            retry_after_ms: refusal.retry_after_ms,
        };
        self.follower.receive_failure(failure, self.now_ms());
        Step::Next
    }
}

impl Drop for Visitor {
    fn drop(&mut self) {
        self.free_slot();
    }
}
