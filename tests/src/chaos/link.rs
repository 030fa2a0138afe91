//! How the requests of one visitor reach the API: as the phase of the run allows, with each one in the history. Some visitors
//! close their connections too early.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{sync::watch, time::timeout};
use vestibule_crowd::act::Act;

use super::{
    api_client::{ANSWER_MAX, ApiClient},
    history::{Call, RequestKind},
};
use crate::{
    api::Transport,
    entries::now_ms,
    functions::API_KEY,
    in_process::{ApiRequest, ApiResponse},
};

/// The phase of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    /// Faults strike, and visitors act.
    Faults,
    /// No visitor sends a request.
    Quiet,
    /// Visitors continue, and no fault strikes any more.
    Recovery,
    /// The run has ended. A visitor who has not finished is stuck.
    Ended,
}

/// The requests of one visitor, and of the protected service about it.
pub(super) struct VisitorLink {
    /// The number of the visitor in the plan.
    pub(super) visitor: usize,
    pub(super) client: Arc<ApiClient>,
    phase: watch::Receiver<Phase>,
    /// Every other request is given up after this time. An answer on its way is lost.
    closes_after: Option<Duration>,
    closes_next: AtomicBool,
    stay: AtomicUsize,
}

impl VisitorLink {
    pub(super) fn new(
        visitor: usize,
        closes_after_ms: Option<u64>,
        client: &Arc<ApiClient>,
        phase: &watch::Receiver<Phase>,
    ) -> Self {
        Self {
            visitor,
            client: client.clone(),
            phase: phase.clone(),
            closes_after: closes_after_ms.map(Duration::from_millis),
            closes_next: AtomicBool::new(true),
            stay: AtomicUsize::new(0),
        }
    }

    /// Begins another stay, once the history has what the table has of the stay before.
    pub(super) async fn begin_stay(&self) {
        let stay = self.stay.load(Ordering::SeqCst);
        self.client.record_stay(self.visitor, stay).await;
        self.stay.store(stay + 1, Ordering::SeqCst);
    }

    /// Waits until the phase allows a request. After the run it never returns.
    async fn permit(&self) -> Phase {
        let mut phase = self.phase.clone();
        let permitted = phase.wait_for(|phase| *phase != Phase::Quiet).await;
        match permitted.map(|phase| *phase) {
            Ok(phase) if phase != Phase::Ended => phase,
            _ => std::future::pending().await,
        }
    }

    async fn send(&self, phase: Phase, request: ApiRequest, hold: Duration) -> Option<ApiResponse> {
        let closes_after = self.closes_after.filter(|_| phase == Phase::Faults);
        let closes_after = closes_after.filter(|_| self.closes_next.fetch_not(Ordering::SeqCst));
        let limit = closes_after.unwrap_or(ANSWER_MAX + hold);
        timeout(limit, self.client.exchange(request)).await.ok().flatten()
    }

    /// Sends a request that is about no place.
    pub(super) async fn send_unrecorded(&self, request: ApiRequest) -> Option<ApiResponse> {
        self.send(self.permit().await, request, Duration::ZERO).await
    }

    async fn send_and_record(
        &self,
        kind: RequestKind,
        request: ApiRequest,
        hold: Duration,
    ) -> Option<ApiResponse> {
        let phase = self.permit().await;
        let begun_ms = now_ms();
        let answer = self.send(phase, request, hold).await;
        self.client.history.add_call(Call {
            visitor: self.visitor,
            stay: self.stay.load(Ordering::SeqCst),
            kind,
            begun_ms,
            ended_ms: now_ms(),
            answer: (answer.as_ref()).map(|answer| (answer.status.as_u16(), answer.body.clone())),
        });
        answer
    }
}

impl Transport for VisitorLink {
    async fn exchange(&self, act: Act, mut request: ApiRequest) -> Option<ApiResponse> {
        let hold = match act {
            Act::HeldPoll { seconds } => Duration::from_secs(seconds.into()),
            _ => Duration::ZERO,
        };
        if act.is_of_service() {
            request = request.header("x-api-key", API_KEY);
        }
        // The document names no visitor.
        let Some(kind) = request_kind(act) else {
            return self.send(self.permit().await, request, hold).await;
        };
        self.send_and_record(kind, request, hold).await
    }
}

fn request_kind(act: Act) -> Option<RequestKind> {
    match act {
        Act::Enter => Some(RequestKind::Enter),
        Act::Poll | Act::HeldPoll { .. } | Act::Look => Some(RequestKind::Status),
        Act::Claim => Some(RequestKind::Claim),
        Act::Validate => Some(RequestKind::Validate),
        Act::Leave => Some(RequestKind::Leave),
        Act::Complete => Some(RequestKind::Complete),
        Act::Document | Act::Turn => None,
        Act::Extend => unreachable!("no visitor of a run makes a session longer"),
    }
}
