//! The entry as its visitor sees it.

use axum::{
    http::StatusCode,
    response::{IntoResponse, Response},
};
use vestibule_domain::{
    entry_status::EntryStatus,
    id::EntryId,
    lane::LaneProgress,
    poll_pacing::{
        RETRY_READY_MS, first_poll_ms, look_after_ms, look_before_opening_ms, renew_after_ms,
        retry_after_hold_ms, retry_after_ms, retry_before_opening_ms, retry_cap_ms,
    },
    record::EntryRecord,
    score::WaitScore,
};
use vestibule_wire::{Entry, Message, Secret};

use super::LiveEntry;
use crate::{json::json, problem::Problem, queue::QueueSnapshot, who::Identity};

/// The answer about an entry.
#[derive(Debug)]
pub(crate) struct EntryBody(pub(crate) Entry);

/// Who reads the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryReader {
    /// The visitor, who has just entered.
    Entering,
    /// The visitor.
    Visitor,
    /// A caller who presents nothing but the token. It gets no pass, and is not told when to ask again.
    TokenHolder,
}

impl EntryBody {
    /// Builds the JSON of an entry.
    pub(crate) fn build(
        identity: &Identity,
        snapshot: &QueueSnapshot,
        id: EntryId,
        live: LiveEntry,
        reader: EntryReader,
    ) -> Result<Self, Problem> {
        let LiveEntry {
            status,
            lane,
            durable,
            ..
        } = live;
        // The record of another visit says nothing about this visit.
        let record = live.record.filter(|record| record.visit() == status.visit());
        let (queue, token) = (snapshot.queue.to_string(), id.to_string());
        let mut entry = Entry {
            message: Message::of(snapshot.settings()),
            joined_at_ms: record.as_ref().and_then(EntryRecord::joined_at_ms),
            promoted_at_ms: record.as_ref().and_then(|record| record.promoted_at_ms),
            durable,
            ..Entry::new(
                queue,
                token,
                status.visit().number(),
                status.state(),
                snapshot.queue_state(),
            )
        };
        match status {
            EntryStatus::Waiting { score, position } => {
                let has_entered = reader == EntryReader::Entering;
                fill_waiting(&mut entry, snapshot, score, position, lane, has_entered);
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
                fill_session(&mut entry, snapshot, session_end_ms, now_ms);
                if reader != EntryReader::TokenHolder {
                    entry.pass = identity.sign_pass(snapshot, id, status)?;
                    entry.target_url.clone_from(&snapshot.settings().target_url);
                }
            }
        }
        Ok(match reader {
            EntryReader::Entering | EntryReader::Visitor => Self(entry),
            EntryReader::TokenHolder => Self(entry).unproven(),
        })
    }

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

/// Fills in until when the session of an active entry lasts.
fn fill_session(entry: &mut Entry, snapshot: &QueueSnapshot, session_end_ms: u64, now_ms: u64) {
    let left_ms = session_end_ms.saturating_sub(now_ms);
    entry.expires_at_ms = Some(session_end_ms);
    entry.expires_in_ms = Some(left_ms);
    let pass_ms = snapshot.settings().pass_ms(left_ms);
    entry.retry_after_ms = Some(renew_after_ms(pass_ms, left_ms));
}

/// Fills in what a waiting visitor learns. `lane` is as in [`LiveEntry`].
fn fill_waiting(
    entry: &mut Entry,
    snapshot: &QueueSnapshot,
    score: WaitScore,
    position: u64,
    lane: Option<LaneProgress>,
    has_entered: bool,
) {
    entry.joined_at_ms = Some(score.joined_at_ms());
    entry.leave_on_close = snapshot.settings().leave_on_close;
    if let Some(left_ms) = snapshot.ms_until_opening() {
        fill_wait_for_opening(entry, snapshot, left_ms);
        return;
    }
    entry.place = Some(score.raw());
    entry.lane = Some(score.lane());
    let far_in_lane = lane.filter(|lane| score.raw() > lane.check_in_through);
    let is_called = far_in_lane.is_none();
    fill_wait(entry, snapshot, score.lane(), position, is_called && !has_entered);
    if has_entered {
        let first_ms = first_poll_ms(snapshot.settings(), is_called);
        entry.retry_after_ms = first_ms.or(entry.retry_after_ms);
    }
    if let Some(lane) = far_in_lane {
        entry.gone_ahead = Some(lane.gone_ahead);
        entry.look_after_ms = Some(look_after_ms(snapshot.view.in_line(), rand::random()));
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
