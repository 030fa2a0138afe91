//! The entry as its visitor sees it.

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;
use vestibule_domain::{
    entry_status::EntryStatus,
    id::EntryId,
    lane::LaneProgress,
    poll_pacing::{
        RETRY_READY_MS, first_poll_ms, look_after_ms, look_before_opening_ms, renew_after_ms,
        retry_after_hold_ms, retry_after_ms, retry_before_opening_ms, retry_cap_ms,
    },
    record::EntryRecord,
};
use vestibule_wire::{Entry, Message, Pass, Secret};

use crate::who::pass::PassGrant;
use crate::{ApiState, problem::Problem, queue::QueueSnapshot};

/// The answer about an entry.
#[derive(Debug)]
pub(crate) struct EntryBody(pub(crate) Entry);

/// The facts from which the JSON of an entry is built.
pub(crate) struct EntryViewInput<'a> {
    pub(crate) snapshot: &'a QueueSnapshot,
    pub(crate) id: EntryId,
    pub(crate) status: EntryStatus,
    /// How far the lane of a waiting entry has moved, read after its position; `None` if it is not
    /// known. The client then polls the entry.
    pub(crate) lane: Option<LaneProgress>,
    /// Whether the request was to enter.
    pub(crate) has_entered: bool,
    /// The record of the entry, if the backup returned one.
    pub(crate) record: Option<EntryRecord>,
    /// Whether the backup has the change; `None` if the request changed nothing.
    pub(crate) durable: Option<bool>,
    /// Whether the client proved to be the visitor. Only then does an active entry get a pass, and is the client told when
    /// to ask again.
    pub(crate) is_owner_proven: bool,
}

impl ApiState {
    /// Reads how far the lane of a waiting entry has moved, after its position was read. `None` if the
    /// entry is called, for any other entry, and if the line does not answer.
    pub(crate) async fn read_lane_of_far_entry(
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
    pub(crate) fn entry_body(&self, input: EntryViewInput<'_>) -> Result<EntryBody, Problem> {
        let (snapshot, status) = (input.snapshot, input.status);
        // The record of another visit says nothing about this visit.
        let record = input.record.filter(|record| record.visit() == status.visit());
        let (queue, token) = (snapshot.queue.to_string(), input.id.to_string());
        let mut entry = Entry {
            message: Message::of(snapshot.settings()),
            joined_at_ms: record.as_ref().and_then(EntryRecord::joined_at_ms),
            promoted_at_ms: record.as_ref().and_then(|record| record.promoted_at_ms),
            durable: input.durable,
            ..Entry::new(
                queue,
                token,
                status.visit().number(),
                status.state(),
                snapshot.queue_state(),
            )
        };
        let ms_until_opening = snapshot.ms_until_opening();
        match status {
            EntryStatus::Waiting { score, position } => {
                entry.joined_at_ms = Some(score.joined_at_ms());
                entry.leave_on_close = snapshot.settings().leave_on_close;
                if let Some(left_ms) = ms_until_opening {
                    fill_wait_for_opening(&mut entry, snapshot, left_ms);
                } else {
                    entry.place = Some(score.raw());
                    entry.lane = Some(score.lane());
                    let far_in_lane = input.lane.filter(|lane| score.raw() > lane.check_in_through);
                    let is_called = far_in_lane.is_none();
                    fill_wait(
                        &mut entry,
                        snapshot,
                        score.lane(),
                        position,
                        is_called && !input.has_entered,
                    );
                    if input.has_entered {
                        let first_ms = first_poll_ms(snapshot.settings(), is_called);
                        entry.retry_after_ms = first_ms.or(entry.retry_after_ms);
                    }
                    if let Some(lane) = far_in_lane {
                        entry.gone_ahead = Some(lane.gone_ahead);
                        entry.look_after_ms = Some(look_after_ms(snapshot.view.in_line(), rand::random()));
                    }
                }
            }
            EntryStatus::Ready {
                claim_by_ms, now_ms, ..
            } => {
                entry.claim_by_ms = Some(claim_by_ms);
                entry.claim_in_ms = Some(claim_by_ms.saturating_sub(now_ms));
                entry.retry_after_ms = Some(RETRY_READY_MS);
            }
            EntryStatus::Active {
                session_end_ms,
                now_ms,
                ..
            } => {
                let left_ms = session_end_ms.saturating_sub(now_ms);
                entry.expires_at_ms = Some(session_end_ms);
                entry.expires_in_ms = Some(left_ms);
                let pass_ms = snapshot.settings().pass_ms(left_ms);
                entry.retry_after_ms = Some(renew_after_ms(pass_ms, left_ms));
                if input.is_owner_proven {
                    entry.pass = self.sign_pass(snapshot, input.id, status)?;
                    entry.target_url.clone_from(&snapshot.settings().target_url);
                }
            }
        }
        Ok(if input.is_owner_proven {
            EntryBody(entry)
        } else {
            EntryBody(entry).unproven()
        })
    }

    /// Signs a pass for an active entry. Returns `None` for any other.
    pub(crate) fn sign_pass(
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

/// Fills in what a waiting visitor needs. There is no estimate while the queue does not move.
/// `was_check_in`: whether this request was the poll of a called visitor.
fn fill_wait(entry: &mut Entry, snapshot: &QueueSnapshot, lane: u8, position: u64, was_check_in: bool) {
    let settings = snapshot.settings();
    entry.position = Some(position);
    // The count may be a second older than the position.
    let waiting = snapshot.view.in_line().max(position);
    entry.waiting = Some(waiting);
    let rank = snapshot.position_in_line(lane, position);
    entry.ahead = Some(rank - 1);
    entry.behind = Some(waiting.saturating_sub(rank));
    entry.ahead_is_expected = snapshot.is_position_expected();
    entry.estimated_wait_seconds = snapshot.estimate(lane, position);
    let eta_ms = snapshot.eta_in_lane_ms(lane, position);
    let cap_ms = retry_cap_ms(settings, was_check_in);
    // The snapshot is older than the position, and much older if a slow backup delayed a new entry.
    let pause_ms = retry_after_ms(eta_ms, cap_ms, snapshot.age_ms(), rand::random());
    entry.retry_after_ms = Some(pause_ms);
}

/// Fills in what a visitor needs whose queue opens in `left_ms`: nothing that follows from the place. The client reads
/// the public document.
fn fill_wait_for_opening(entry: &mut Entry, snapshot: &QueueSnapshot, left_ms: u64) {
    let waiting = snapshot.view.in_line();
    entry.waiting = Some(waiting);
    let cap_ms = retry_cap_ms(snapshot.settings(), false);
    entry.retry_after_ms = Some(retry_before_opening_ms(left_ms, cap_ms, rand::random()));
    entry.look_after_ms = Some(look_before_opening_ms(left_ms, waiting, rand::random()));
}

impl EntryBody {
    /// Lets a waiting visitor poll again soon: the poll was held, so the turn is near.
    pub(crate) fn shorten_pause_after_hold(&mut self, snapshot: &QueueSnapshot) {
        let Self(entry) = self;
        let place = entry.lane.zip(entry.position).filter(|_| snapshot.can_promote());
        if let (Some((lane, position)), Some(pause_ms)) = (place, entry.retry_after_ms) {
            let eta_ms = snapshot.eta_in_lane_ms(lane, position);
            entry.retry_after_ms = Some(retry_after_hold_ms(eta_ms, pause_ms, rand::random()));
        }
    }

    /// The entry for a caller who presents nothing but the token. Such requests neither check in nor keep the place, so
    /// nothing tells the caller when to send the next one.
    pub(crate) fn unproven(self) -> Self {
        Self(Entry {
            proven: Some(false),
            retry_after_ms: None,
            look_after_ms: None,
            gone_ahead: None,
            leave_on_close: false,
            ..self.0
        })
    }

    /// Adds the visitor id or the secret that the server gave to the visitor.
    pub(crate) fn with_visitor(self, visitor: &str) -> Self {
        Self(Entry {
            visitor: Some(Secret::new(visitor.to_owned())),
            ..self.0
        })
    }

    /// The answer with this status.
    pub(crate) fn answer(&self, status: StatusCode) -> Response {
        json(status, &self.0)
    }
}

impl IntoResponse for EntryBody {
    fn into_response(self) -> Response {
        self.answer(StatusCode::OK)
    }
}

/// Builds an answer with a JSON body.
pub(crate) fn json(status: StatusCode, body: &impl Serialize) -> Response {
    let content_type = HeaderValue::from_static("application/json");
    match serde_json::to_string(body) {
        Ok(body) => (status, [(header::CONTENT_TYPE, content_type)], body).into_response(),
        Err(error) => Problem::internal(error.to_string()).into_response(),
    }
}
