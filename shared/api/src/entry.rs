//! The entry as its visitor sees it.

mod from_record;

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;
use vestibule_domain::{
    entry_status::EntryStatus,
    estimate::Estimate,
    id::EntryId,
    lane::LaneProgress,
    poll_pacing::{
        RETRY_READY_MS, first_poll_ms, look_after_ms, look_before_opening_ms, renew_after_ms,
        retry_after_hold_ms, retry_after_ms, retry_before_opening_ms, retry_cap_ms,
    },
    queue_state::QueueState,
    record::EntryRecord,
    state::EntryState,
};

use super::{ApiState, message::MessageFields, problem::Problem, queue_cache::QueueSnapshot};
use crate::pass::{Pass, PassGrant};

/// The JSON of an entry. Fields that do not apply are left out.
#[derive(Debug, Serialize)]
pub(super) struct EntryBody {
    queue: String,
    token: String,
    visit: u64,
    state: EntryState,
    /// What the queue does, and the operator's message, so that a client needs no second request.
    queue_state: QueueState,
    #[serde(flatten)]
    message: MessageFields,
    /// The order of the entry in line, and its lane: the public document says up to which place
    /// visitors are called.
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lane: Option<u8>,
    /// The position in the lane.
    #[serde(skip_serializing_if = "Option::is_none")]
    position: Option<u64>,
    /// How many turns come before this one, in all lanes, and how many entries wait behind it.
    #[serde(skip_serializing_if = "Option::is_none")]
    ahead: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    behind: Option<u64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    ahead_is_expected: bool,
    /// How many entries of the lane had gone ahead when the position was read. Only an entry that is
    /// not called has this and `look_after_ms`: its client reads the public document.
    #[serde(skip_serializing_if = "Option::is_none")]
    gone_ahead: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    look_after_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    waiting: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    estimated_wait_seconds: Option<Estimate>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
    /// Whether the client is to tell the server when the page closes.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    leave_on_close: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    joined_at_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    promoted_at_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    claim_by_ms: Option<u64>,
    /// The deadlines as durations, for clients that do not trust their clocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    claim_in_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_in_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pass: Option<Pass>,
    /// The template of the address to which the visitor goes. Only a visitor who gets a pass learns it.
    #[serde(skip_serializing_if = "Option::is_none")]
    target_url: Option<String>,
    /// Whether the change by this request survives the loss of the line. Left out if the request changed
    /// nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    durable: Option<bool>,
    degraded: bool,
    /// `false` if the request presents nothing but the token. Otherwise it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    proven: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    visitor: Option<String>,
}

/// The facts from which the JSON of an entry is built.
pub(super) struct EntryViewInput<'a> {
    pub(super) snapshot: &'a QueueSnapshot,
    pub(super) id: EntryId,
    pub(super) status: EntryStatus,
    /// How far the lane of a waiting entry has moved, read after its position; `None` if it is not
    /// known. The client then polls the entry.
    pub(super) lane: Option<LaneProgress>,
    /// Whether the request was to enter.
    pub(super) has_entered: bool,
    /// The record of the entry, if the backup returned one.
    pub(super) record: Option<EntryRecord>,
    /// Whether the backup has the change; `None` if the request changed nothing.
    pub(super) durable: Option<bool>,
    /// Whether the client proved to be the visitor. Only then does an active entry get a pass, and is the client told when
    /// to ask again.
    pub(super) is_owner_proven: bool,
}

impl ApiState {
    /// Reads how far the lane of a waiting entry has moved, after its position was read. `None` if the
    /// entry is called, for any other entry, and if the line does not answer.
    pub(super) async fn read_lane_of_far_entry(
        &self,
        snapshot: &QueueSnapshot,
        status: EntryStatus,
    ) -> Option<LaneProgress> {
        let EntryStatus::Waiting { score, .. } = status else {
            return None;
        };
        if snapshot.is_called(score) {
            return None;
        }
        self.line.lane_progress(&snapshot.queue, score.lane()).await.ok()
    }

    /// Builds the JSON of an entry.
    pub(super) fn entry_body(&self, input: EntryViewInput<'_>) -> Result<EntryBody, Problem> {
        let (snapshot, status) = (input.snapshot, input.status);
        // The record of another visit says nothing about this visit.
        let record = input.record.filter(|record| record.visit() == status.visit());
        let mut body = EntryBody {
            queue: snapshot.queue.to_string(),
            token: input.id.to_string(),
            visit: status.visit().number(),
            state: status.state(),
            queue_state: snapshot.queue_state(),
            message: MessageFields::of(snapshot.settings()),
            place: None,
            lane: None,
            gone_ahead: None,
            look_after_ms: None,
            claim_in_ms: None,
            expires_in_ms: None,
            position: None,
            ahead: None,
            behind: None,
            ahead_is_expected: false,
            waiting: None,
            estimated_wait_seconds: None,
            retry_after_ms: None,
            leave_on_close: false,
            joined_at_ms: record.as_ref().and_then(EntryRecord::joined_at_ms),
            promoted_at_ms: record.as_ref().and_then(|record| record.promoted_at_ms),
            claim_by_ms: None,
            expires_at_ms: None,
            pass: None,
            target_url: None,
            durable: input.durable,
            degraded: false,
            proven: None,
            visitor: None,
        };
        let ms_until_opening = snapshot.ms_until_opening();
        match status {
            EntryStatus::Waiting { score, position } => {
                body.joined_at_ms = Some(score.joined_at_ms());
                body.leave_on_close = snapshot.settings().leave_on_close;
                if let Some(left_ms) = ms_until_opening {
                    body.fill_wait_for_opening(snapshot, left_ms);
                } else {
                    body.place = Some(score.raw());
                    body.lane = Some(score.lane());
                    let far_in_lane = input.lane.filter(|lane| score.raw() > lane.check_in_through);
                    let is_called = far_in_lane.is_none();
                    body.fill_wait(snapshot, score.lane(), position, is_called && !input.has_entered);
                    if input.has_entered {
                        let first_ms = first_poll_ms(snapshot.settings(), is_called);
                        body.retry_after_ms = first_ms.or(body.retry_after_ms);
                    }
                    if let Some(lane) = far_in_lane {
                        body.gone_ahead = Some(lane.gone_ahead);
                        body.look_after_ms = Some(look_after_ms(snapshot.view.in_line(), rand::random()));
                    }
                }
            }
            EntryStatus::Ready {
                claim_by_ms, now_ms, ..
            } => {
                body.claim_by_ms = Some(claim_by_ms);
                body.claim_in_ms = Some(claim_by_ms.saturating_sub(now_ms));
                body.retry_after_ms = Some(RETRY_READY_MS);
            }
            EntryStatus::Active {
                session_end_ms,
                now_ms,
                ..
            } => {
                let left_ms = session_end_ms.saturating_sub(now_ms);
                body.expires_at_ms = Some(session_end_ms);
                body.expires_in_ms = Some(left_ms);
                let pass_ms = snapshot.settings().pass_ms(left_ms);
                body.retry_after_ms = Some(renew_after_ms(pass_ms, left_ms));
                if input.is_owner_proven {
                    body.pass = self.sign_pass(snapshot, input.id, status)?;
                    body.target_url.clone_from(&snapshot.settings().target_url);
                }
            }
        }
        Ok(if input.is_owner_proven {
            body
        } else {
            body.unproven()
        })
    }

    /// Signs a pass for an active entry. Returns `None` for any other.
    pub(super) fn sign_pass(
        &self,
        snapshot: &QueueSnapshot,
        entry: EntryId,
        status: EntryStatus,
    ) -> Result<Option<Pass>, Problem> {
        let EntryStatus::Active {
            visit,
            session_end_ms,
            now_ms,
        } = status
        else {
            return Ok(None);
        };
        let grant = PassGrant {
            queue: &snapshot.queue,
            entry,
            visit,
            epoch: snapshot.view.configuration.epoch,
            pass_end_ms: now_ms + snapshot.settings().pass_ms(session_end_ms.saturating_sub(now_ms)),
        };
        Ok(Some(self.keys.passes.sign(&grant, now_ms)?))
    }
}

impl EntryBody {
    /// Fills in what a waiting visitor needs. There is no estimate while the queue does not move.
    /// `was_check_in`: whether this request was the poll of a called visitor.
    fn fill_wait(&mut self, snapshot: &QueueSnapshot, lane: u8, position: u64, was_check_in: bool) {
        let settings = snapshot.settings();
        self.position = Some(position);
        // The count may be a second older than the position.
        let waiting = snapshot.view.in_line().max(position);
        self.waiting = Some(waiting);
        let rank = snapshot.position_in_line(lane, position);
        self.ahead = Some(rank - 1);
        self.behind = Some(waiting.saturating_sub(rank));
        self.ahead_is_expected = snapshot.is_position_expected();
        self.estimated_wait_seconds = snapshot.estimate(lane, position);
        let eta_ms = snapshot.eta_in_lane_ms(lane, position);
        let cap_ms = retry_cap_ms(settings, was_check_in);
        // The snapshot is older than the position, and much older if a slow backup delayed a new entry.
        let pause_ms = retry_after_ms(eta_ms, cap_ms, snapshot.age_ms(), rand::random());
        self.retry_after_ms = Some(pause_ms);
    }

    /// Fills in what a visitor needs whose queue opens in `left_ms`: nothing that follows from the place. The client reads
    /// the public document.
    fn fill_wait_for_opening(&mut self, snapshot: &QueueSnapshot, left_ms: u64) {
        let waiting = snapshot.view.in_line();
        self.waiting = Some(waiting);
        let cap_ms = retry_cap_ms(snapshot.settings(), false);
        self.retry_after_ms = Some(retry_before_opening_ms(left_ms, cap_ms, rand::random()));
        self.look_after_ms = Some(look_before_opening_ms(left_ms, waiting, rand::random()));
    }

    /// Lets a waiting visitor poll again soon: the poll was held, so the turn is near.
    pub(super) fn shorten_pause_after_hold(&mut self, snapshot: &QueueSnapshot) {
        let place = self.lane.zip(self.position).filter(|_| snapshot.can_promote());
        if let (Some((lane, position)), Some(pause_ms)) = (place, self.retry_after_ms) {
            let eta_ms = snapshot.eta_in_lane_ms(lane, position);
            self.retry_after_ms = Some(retry_after_hold_ms(eta_ms, pause_ms, rand::random()));
        }
    }

    /// The entry for a caller who presents nothing but the token. Such requests neither check in nor keep the place, so
    /// nothing tells the caller when to send the next one.
    pub(super) fn unproven(mut self) -> Self {
        self.proven = Some(false);
        (self.retry_after_ms, self.look_after_ms, self.gone_ahead) = (None, None, None);
        self.leave_on_close = false;
        self
    }

    /// Adds the visitor id or the secret that the server gave to the visitor.
    pub(super) fn with_visitor(mut self, visitor: &str) -> Self {
        self.visitor = Some(visitor.to_owned());
        self
    }
}

impl IntoResponse for EntryBody {
    fn into_response(self) -> Response {
        json(StatusCode::OK, &self)
    }
}

/// Builds an answer with a JSON body.
pub(super) fn json(status: StatusCode, body: &impl Serialize) -> Response {
    let content_type = HeaderValue::from_static("application/json");
    match serde_json::to_string(body) {
        Ok(body) => (status, [(header::CONTENT_TYPE, content_type)], body).into_response(),
        Err(error) => Problem::internal(error.to_string()).into_response(),
    }
}
