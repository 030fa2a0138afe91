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
    settings::Settings,
    state::EntryState,
};
use vestibule_wire::{Entry, Message, Secret};

use super::LiveEntry;
use crate::{
    json::json,
    problem::Problem,
    queue::{QueueMoment, QueueReading, QueueSnapshot},
    who::Identity,
};

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
        let has_entered = reader == EntryReader::Entering;
        let facts = live.facts(id);
        let mut entry = describe_entry(snapshot.moment(), &facts, has_entered, &mut rand::random);
        if facts.status.state() == EntryState::Active && reader != EntryReader::TokenHolder {
            entry.pass = identity.sign_pass(snapshot, id, facts.status)?;
            entry.target_url.clone_from(&snapshot.settings().target_url);
        }
        Ok(match reader {
            EntryReader::Entering | EntryReader::Visitor => Self(entry),
            EntryReader::TokenHolder => Self(entry).unproven(),
        })
    }

    /// Lets a waiting visitor poll again soon: the poll was held, so the turn is near.
    pub(crate) fn shorten_pause_after_hold(&mut self, snapshot: &QueueSnapshot) {
        shorten_pause_after_hold(&mut self.0, snapshot.moment(), rand::random());
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

impl LiveEntry {
    fn facts(self, id: EntryId) -> EntryFacts {
        // The record of another visit says nothing about this visit.
        let record = self.record.filter(|record| record.visit() == self.status.visit());
        EntryFacts {
            id,
            status: self.status,
            lane: self.lane,
            joined_at_ms: record.as_ref().and_then(EntryRecord::joined_at_ms),
            promoted_at_ms: record.and_then(|record| record.promoted_at_ms),
            durable: self.durable,
        }
    }
}

/// What is known of a live entry whose visitor is answered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EntryFacts {
    /// The entry.
    pub id: EntryId,
    /// Its status in the line.
    pub status: EntryStatus,
    /// How far the lane of a waiting entry has moved, read after its position; `None` if that is not known, or the entry is
    /// called. The client then polls the entry.
    pub lane: Option<LaneProgress>,
    /// When the visitor entered, by the backup, in Unix milliseconds.
    pub joined_at_ms: Option<u64>,
    /// When the turn came, by the backup, in Unix milliseconds.
    pub promoted_at_ms: Option<u64>,
    /// Whether the backup has the change that the request made; `None` if it made none.
    pub durable: Option<bool>,
}

/// The answer about an entry, but for the pass and what follows from it. `has_entered`: the visitor has just entered. `draw`
/// draws a number from 0 to 1.
pub fn describe_entry(
    moment: QueueMoment<'_>,
    facts: &EntryFacts,
    has_entered: bool,
    draw: &mut dyn FnMut() -> f64,
) -> Entry {
    let reading = moment.reading;
    let status = facts.status;
    let mut entry = Entry {
        message: Message::of(reading.settings()),
        joined_at_ms: facts.joined_at_ms,
        promoted_at_ms: facts.promoted_at_ms,
        durable: facts.durable,
        ..Entry::new(
            reading.queue.to_string(),
            facts.id.to_string(),
            status.visit().number(),
            status.state(),
            moment.queue_state(),
        )
    };
    match status {
        EntryStatus::Waiting { score, position } => {
            fill_waiting(
                &mut entry,
                moment,
                (score, position),
                facts.lane,
                has_entered,
                draw,
            );
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
        } => fill_session(&mut entry, reading.settings(), session_end_ms, now_ms),
    }
    entry
}

/// Lets a waiting visitor poll again soon: the poll was held, so the turn is near. `jitter` is random in `0.0..1.0`.
pub fn shorten_pause_after_hold(entry: &mut Entry, moment: QueueMoment<'_>, jitter: f64) {
    let place = entry.lane.zip(entry.position).filter(|_| moment.can_promote());
    if let (Some((lane, position)), Some(pause_ms)) = (place, entry.retry_after_ms) {
        let eta_ms = moment.reading.eta_in_lane_ms(lane, position);
        entry.retry_after_ms = Some(retry_after_hold_ms(eta_ms, pause_ms, jitter));
    }
}

/// Fills in until when the session of an active entry lasts.
fn fill_session(entry: &mut Entry, settings: &Settings, session_end_ms: u64, now_ms: u64) {
    let left_ms = session_end_ms.saturating_sub(now_ms);
    entry.expires_at_ms = Some(session_end_ms);
    entry.expires_in_ms = Some(left_ms);
    entry.retry_after_ms = Some(renew_after_ms(settings.pass_ms(left_ms), left_ms));
}

/// Fills in what a waiting visitor learns at a place and a position. `lane` is as in [`EntryFacts`].
fn fill_waiting(
    entry: &mut Entry,
    moment: QueueMoment<'_>,
    (score, position): (WaitScore, u64),
    lane: Option<LaneProgress>,
    has_entered: bool,
    draw: &mut dyn FnMut() -> f64,
) {
    let settings = moment.reading.settings();
    entry.joined_at_ms = Some(score.joined_at_ms());
    entry.leave_on_close = settings.leave_on_close;
    if let Some(left_ms) = moment.ms_until_opening() {
        fill_wait_for_opening(entry, moment.reading, left_ms, draw);
        return;
    }
    entry.place = Some(score.raw());
    entry.lane = Some(score.lane());
    let far_in_lane = lane.filter(|lane| score.raw() > lane.check_in_through);
    let is_called = far_in_lane.is_none();
    fill_wait(
        entry,
        moment,
        score.lane(),
        position,
        is_called && !has_entered,
        draw,
    );
    if has_entered {
        let first_ms = first_poll_ms(settings, is_called);
        entry.retry_after_ms = first_ms.or(entry.retry_after_ms);
    }
    if let Some(lane) = far_in_lane {
        entry.gone_ahead = Some(lane.gone_ahead);
        entry.look_after_ms = Some(look_after_ms(moment.reading.view.in_line(), draw()));
    }
}

/// Fills in what a waiting visitor needs. There is no estimate while the queue does not move.
/// `was_check_in`: whether this request was the poll of a called visitor.
fn fill_wait(
    entry: &mut Entry,
    moment: QueueMoment<'_>,
    lane: u8,
    position: u64,
    was_check_in: bool,
    draw: &mut dyn FnMut() -> f64,
) {
    let reading = moment.reading;
    entry.position = Some(position);
    // The count may be a second older than the position.
    let waiting = reading.view.in_line().max(position);
    entry.waiting = Some(waiting);
    let rank = reading.position_in_line(lane, position);
    entry.ahead = Some(rank - 1);
    entry.behind = Some(waiting.saturating_sub(rank));
    entry.ahead_is_expected = reading.is_position_expected();
    entry.estimated_wait_seconds = reading.estimate(lane, position);
    let eta_ms = reading.eta_in_lane_ms(lane, position);
    let cap_ms = retry_cap_ms(reading.settings(), was_check_in);
    // The snapshot is older than the position, and much older if a slow backup delayed a new entry.
    let pause_ms = retry_after_ms(eta_ms, cap_ms, moment.age_ms, draw());
    entry.retry_after_ms = Some(pause_ms);
}

/// Fills in what a visitor needs whose queue opens in `left_ms`: nothing that follows from the place. The client reads
/// the public document.
fn fill_wait_for_opening(
    entry: &mut Entry,
    reading: &QueueReading,
    left_ms: u64,
    draw: &mut dyn FnMut() -> f64,
) {
    let waiting = reading.view.in_line();
    entry.waiting = Some(waiting);
    let cap_ms = retry_cap_ms(reading.settings(), false);
    entry.retry_after_ms = Some(retry_before_opening_ms(left_ms, cap_ms, draw()));
    entry.look_after_ms = Some(look_before_opening_ms(left_ms, waiting, draw()));
}
