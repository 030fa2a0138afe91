//! The visitors, over HTTP, and the protected service. They behave as clients should, except that some close
//! the connection too early. They repeat a request that got no answer, and they name the visit that they end.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::{
    sync::watch,
    time::{sleep, timeout},
};
use uuid::Uuid;

use super::{
    api_client::{ANSWER_MAX, ApiClient, RETRY_PAUSE},
    history::{Call, RequestKind},
    plan::{AdmissionRequest, PlannedEnd, TurnPlan, Visitor},
    reply::{KnownEntry, Reply},
};
use crate::{entries::now_ms, functions::API_KEY, in_process::ApiRequest};

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

/// A visitor in a run.
pub(super) struct Actor {
    pub(super) number: usize,
    pub(super) plan: Visitor,
    pub(super) id: String,
    pub(super) client: Arc<ApiClient>,
    pub(super) phase: watch::Receiver<Phase>,
}

/// The run has ended before the visitor finished.
pub(super) struct RunEnded;

/// How a stay ended.
enum StayEnd {
    /// The visitor ended it.
    ByVisitor,
    /// The turn was not claimed in time.
    MissedTurn,
    /// It ended in another way.
    Other,
}

impl Actor {
    /// Visits the queue, and visits it again if the plan says so.
    pub(super) async fn run_visits(mut self) -> Result<(), RunEnded> {
        sleep(Duration::from_millis(self.plan.arrives_ms)).await;
        let mut stay = 0;
        let enters_again_after_ms = match self.run_stay(stay).await? {
            StayEnd::ByVisitor => {
                if self.plan.ends_two_visits {
                    self.client.record_stay(self.number, stay).await;
                    stay += 1;
                    let entry = self.enter(stay).await?;
                    self.end_stay(stay, RequestKind::Leave, &entry).await?;
                }
                self.plan.enters_again_after_ms
            }
            // The visitor wants the place back and claims the turn this time.
            StayEnd::MissedTurn => {
                self.plan.turn = TurnPlan::SECOND_TRY;
                Some(0)
            }
            StayEnd::Other => None,
        };
        if let Some(enters_again_after_ms) = enters_again_after_ms {
            sleep(Duration::from_millis(enters_again_after_ms)).await;
            self.client.record_stay(self.number, stay).await;
            self.run_stay(stay + 1).await?;
        }
        Ok(())
    }

    /// Runs one stay.
    async fn run_stay(&self, stay: usize) -> Result<StayEnd, RunEnded> {
        let entered_ms = now_ms();
        let mut entry = self.enter(stay).await?;
        loop {
            match entry.state.as_str() {
                "active" => match self.use_session(stay, &entry).await? {
                    Some(true) => return Ok(StayEnd::ByVisitor),
                    Some(false) => return Ok(StayEnd::Other),
                    None => entry.forget_state(),
                },
                "ready" => match self.plan.turn {
                    TurnPlan::Miss => {
                        self.poll_until_ended(stay, &entry).await?;
                        return Ok(StayEnd::MissedTurn);
                    }
                    TurnPlan::Use {
                        request: AdmissionRequest::Claim,
                        ..
                    } => {
                        let claim = self.build_request(RequestKind::Claim, &entry);
                        match self.send_and_record(stay, RequestKind::Claim, claim).await? {
                            Reply::Entry(reply) => entry = reply,
                            Reply::Ended => return Ok(StayEnd::Other),
                            Reply::NotActive | Reply::NoAnswer => entry.forget_state(),
                        }
                    }
                    TurnPlan::Use {
                        request: AdmissionRequest::Validate,
                        ..
                    } => match self.validate(stay, &entry).await? {
                        Some(true) => "active".clone_into(&mut entry.state),
                        Some(false) => return Ok(StayEnd::Other),
                        None => entry.forget_state(),
                    },
                },
                _ => {
                    let has_left = self
                        .plan
                        .leaves_after_ms
                        .is_some_and(|leaves_after_ms| now_ms() >= entered_ms + leaves_after_ms);
                    if has_left {
                        self.end_stay(stay, RequestKind::Leave, &entry).await?;
                        return Ok(StayEnd::ByVisitor);
                    }
                    sleep(Duration::from_millis(self.plan.poll_pause_ms)).await;
                    match self
                        .send_and_record(
                            stay,
                            RequestKind::Status,
                            self.build_request(RequestKind::Status, &entry),
                        )
                        .await?
                    {
                        Reply::Entry(reply) => entry = reply,
                        Reply::Ended => return Ok(StayEnd::Other),
                        Reply::NotActive | Reply::NoAnswer => {}
                    }
                }
            }
        }
    }

    async fn enter(&self, stay: usize) -> Result<KnownEntry, RunEnded> {
        loop {
            let request = ApiRequest::post(format!("{}/entries", self.client.queue)).visitor(&self.id);
            if let Reply::Entry(entry) = self.send_and_record(stay, RequestKind::Enter, request).await? {
                return Ok(entry);
            }
        }
    }

    /// Whether the protected service accepts the visitor. `None` if there is no answer to that.
    async fn validate(&self, stay: usize, entry: &KnownEntry) -> Result<Option<bool>, RunEnded> {
        let request = self.build_request(RequestKind::Validate, entry);
        Ok(
            match self.send_and_record(stay, RequestKind::Validate, request).await? {
                Reply::Entry(_) => Some(true),
                Reply::Ended => Some(false),
                Reply::NotActive | Reply::NoAnswer => None,
            },
        )
    }

    /// Uses the session and ends it. Returns whether the visitor ended it, or `None` if the entry is not
    /// active, which only a claim that was not durable may cause.
    async fn use_session(&self, stay: usize, entry: &KnownEntry) -> Result<Option<bool>, RunEnded> {
        let TurnPlan::Use { stay_ms, end, .. } = self.plan.turn else {
            return Ok(Some(false));
        };
        self.validate(stay, entry).await?;
        sleep(Duration::from_millis(stay_ms)).await;
        let kind = match end {
            PlannedEnd::Complete => RequestKind::Complete,
            PlannedEnd::Leave => RequestKind::Leave,
            PlannedEnd::Expire => {
                self.poll_until_ended(stay, entry).await?;
                return Ok(Some(false));
            }
        };
        if !self.end_stay(stay, kind, entry).await? {
            return Ok(None);
        }
        // The protected service must not accept this visit any more.
        self.send_and_record(
            stay,
            RequestKind::Validate,
            self.build_request(RequestKind::Validate, entry),
        )
        .await?;
        Ok(Some(true))
    }

    /// Asks for the status until the answer says that the entry has ended.
    async fn poll_until_ended(&self, stay: usize, entry: &KnownEntry) -> Result<(), RunEnded> {
        loop {
            let request = self.build_request(RequestKind::Status, entry);
            if matches!(
                self.send_and_record(stay, RequestKind::Status, request).await?,
                Reply::Ended
            ) {
                return Ok(());
            }
            sleep(Duration::from_millis(self.plan.poll_pause_ms)).await;
        }
    }

    /// Ends the stay and repeats the request until it is acknowledged. Returns `false` if the entry cannot be
    /// ended in this way.
    async fn end_stay(&self, stay: usize, kind: RequestKind, entry: &KnownEntry) -> Result<bool, RunEnded> {
        loop {
            match self
                .send_and_record(stay, kind, self.build_request(kind, entry))
                .await?
            {
                Reply::Entry(_) | Reply::Ended => return Ok(true),
                Reply::NotActive => return Ok(false),
                Reply::NoAnswer => {}
            }
        }
    }

    fn build_request(&self, kind: RequestKind, KnownEntry { token, visit, .. }: &KnownEntry) -> ApiRequest {
        let entry = format!("{}/entries/{token}", self.client.queue);
        let service = |below: &str, body: &Value| {
            ApiRequest::post(format!("{entry}/{below}"))
                .header("x-api-key", API_KEY)
                .json(body)
        };
        match kind {
            RequestKind::Enter => unreachable!("a request to enter names no entry"),
            RequestKind::Status if self.plan.wait_seconds > 0 => {
                ApiRequest::get(format!("{entry}?wait={}", self.plan.wait_seconds)).visitor(&self.id)
            }
            RequestKind::Status => ApiRequest::get(entry).visitor(&self.id),
            RequestKind::Claim => ApiRequest::post(format!("{entry}/claim")).visitor(&self.id),
            RequestKind::Leave => ApiRequest::delete(format!("{entry}?visit={visit}")).visitor(&self.id),
            RequestKind::Validate => service("validate", &json!({ "visitor": self.id, "visit": visit })),
            RequestKind::Complete => service("complete", &json!({ "visit": visit })),
        }
    }

    /// Sends the request as soon as the phase allows it, and records the answer.
    async fn send_and_record(
        &self,
        stay: usize,
        kind: RequestKind,
        request: ApiRequest,
    ) -> Result<Reply, RunEnded> {
        let mut phase = self.phase.clone();
        let permitted = phase
            .wait_for(|phase| *phase != Phase::Quiet)
            .await
            .map(|phase| *phase);
        let phase = permitted.map_err(|_| RunEnded)?;
        if phase == Phase::Ended {
            return Err(RunEnded);
        }
        let closes_after_ms = self.plan.closes_after_ms.filter(|_| phase == Phase::Faults);
        let limit = closes_after_ms.map_or(ANSWER_MAX, Duration::from_millis);
        let begun_ms = now_ms();
        let answer = timeout(limit, self.client.send(request)).await.ok().flatten();
        let call = Call {
            visitor: self.number,
            stay,
            kind,
            begun_ms,
            ended_ms: now_ms(),
            answer,
        };
        let reply = Reply::read(&call);
        self.client.history.add_call(call);
        if matches!(reply, Reply::NoAnswer | Reply::NotActive) {
            sleep(RETRY_PAUSE).await;
        }
        Ok(reply)
    }
}

/// A new visitor id, as a client creates it.
pub(super) fn visitor_id() -> String {
    Uuid::new_v4().to_string()
}
