//! `GET /queues/{queue}`: the public document of a queue, which every client may read.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    extract::State,
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use serde::Serialize;
use vestibule_domain::{
    estimate::Estimate,
    lane::LaneProgress,
    pace::LimitedBy,
    poll_pacing::{DOCUMENT_REFRESH_FAR_MS, DOCUMENT_REFRESH_NEAR_MS, enter_spread_ms, resync_ms},
    queue_state::QueueState,
    settings::{Entrance, FinishReason, Mode},
};

use super::{
    ApiState, entry::json, message::MessageFields, problem::Problem, queue_cache::QueueSnapshot,
    request::QueuePath,
};

#[derive(Serialize)]
struct PublicDocument<'a> {
    queue: &'a str,
    state: QueueState,
    epoch: u32,
    generation: u32,
    /// Line time, in Unix milliseconds. A copy with an earlier time than one already seen is stale.
    now_ms: u64,
    /// The least and the longest time until a client reads the document again, in milliseconds.
    refresh_near_ms: u64,
    refresh_far_ms: u64,
    /// Over which time clients spread their requests after a new epoch or generation, in milliseconds.
    resync_ms: u64,
    /// How far each lane has moved, by the number of the lane.
    lanes: BTreeMap<u8, LaneDocument>,
    waiting: u64,
    /// Whether as many visitors wait as the queue allows, so that no new one gets a place.
    full: bool,
    /// Entries served per second; `null` before any were served.
    rate: Option<f64>,
    /// The expected waits at positions spread over the line, in ascending order; empty if there is no
    /// estimate. A client computes its own from the two positions around its own.
    estimated_waits: Vec<EstimatedWait>,
    paused: bool,
    /// Whether visitors line up, or are let in at once.
    mode: Mode,
    /// Who may enter at `now_ms`.
    entrance: Entrance,
    /// Why the queue is over, if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    finish_reason: Option<FinishReason>,
    /// Before the opening: when it is, in Unix milliseconds, and over how many milliseconds clients spread their requests to
    /// enter.
    #[serde(flatten)]
    opening: Option<OpeningDocument>,
    /// The seed of the draw in hexadecimal digits, once the queue has opened. The lowest 49 bits of the place of an entry
    /// that came before are the first 49 bits of `HMAC-SHA256(seed, token)`.
    #[serde(skip_serializing_if = "Option::is_none")]
    draw_seed: Option<String>,
    /// From when on no new visitor enters, and when the queue is finished, in Unix milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    closes_at_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ends_at_ms: Option<u64>,
    /// Why the line promotes no entry now, although some wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    limited_by: Option<LimitedBy>,
    /// Passes of an earlier epoch are void. A service that verifies passes offline reads this.
    min_epoch: u32,
    /// The ids (`kid`) of keys that leaked. Passes of theirs are void, and the JWKS has them no more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    void_keys: Vec<String>,
    #[serde(flatten)]
    message: MessageFields,
}

/// What visitors learn of the opening to come.
#[derive(Serialize)]
struct OpeningDocument {
    opens_at_ms: u64,
    enter_spread_ms: u64,
    /// The SHA-256 of the seed of the draw, in hexadecimal digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    draw_commitment: Option<String>,
}

/// The expected wait at a position, in seconds.
#[derive(Serialize)]
struct EstimatedWait {
    position: u64,
    low: u64,
    high: u64,
}

/// How far a lane has moved.
#[derive(Serialize)]
struct LaneDocument {
    /// The highest place that was promoted.
    promoted_through: u64,
    /// Up to this place, visitors are called: their clients poll the entries.
    check_in_through: u64,
    /// The highest place that went past the head.
    passed_through: u64,
    /// How many entries went past the head, less those that came back to a place in line.
    gone_ahead: i64,
    /// How many entries went past the head per second in the last half minute, promoted or passed over;
    /// `null` before it was measured.
    speed: Option<f64>,
    /// The expected waits at positions spread over the lane, if other lanes have a part of the promotions. They count
    /// then, and not those of the whole line.
    #[serde(skip_serializing_if = "Option::is_none")]
    estimated_waits: Option<Vec<EstimatedWait>>,
    /// How many turns come before those at such positions; left out if that is one less than the position.
    #[serde(skip_serializing_if = "Option::is_none")]
    ahead: Option<Vec<AheadAt>>,
    /// Whether that is only expected, because lanes share the turns.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    ahead_is_expected: bool,
}

/// How many turns come before that at a position of a lane.
#[derive(Serialize)]
struct AheadAt {
    position: u64,
    ahead: u64,
}

impl From<(u64, u64)> for AheadAt {
    fn from((position, ahead): (u64, u64)) -> Self {
        Self { position, ahead }
    }
}

impl From<(u64, Estimate)> for EstimatedWait {
    fn from((position, Estimate { low, high }): (u64, Estimate)) -> Self {
        Self { position, low, high }
    }
}

impl From<LaneProgress> for LaneDocument {
    fn from(progress: LaneProgress) -> Self {
        Self {
            promoted_through: progress.passed_through,
            check_in_through: progress.check_in_through,
            passed_through: progress.passed_through,
            gone_ahead: progress.gone_ahead,
            speed: progress.speed.per_second(),
            estimated_waits: None,
            ahead: None,
            ahead_is_expected: false,
        }
    }
}

/// What visitors of a lane learn.
fn describe_lane(snapshot: &QueueSnapshot, lane: u8, progress: LaneProgress) -> LaneDocument {
    let waits = snapshot.estimated_waits_in_lane(lane);
    let ahead = snapshot.ahead_in_lane(lane);
    LaneDocument {
        estimated_waits: waits.map(|waits| waits.into_iter().map(EstimatedWait::from).collect()),
        ahead: ahead.map(|ahead| ahead.into_iter().map(AheadAt::from).collect()),
        ahead_is_expected: snapshot.is_position_expected(),
        ..progress.into()
    }
}

pub(super) async fn handle(
    State(state): State<Arc<ApiState>>,
    QueuePath(queue): QueuePath,
) -> Result<Response, Problem> {
    let snapshot = state.snapshot(&queue).await?;
    // Caches and services read the document of an empty queue too. Such a queue is parked, and needs no tick.
    if snapshot.view.is_occupied() {
        state.with_fallback_tick(&queue, async {}).await;
    }
    let settings = snapshot.settings();
    // The state fits the time that the document shows.
    let now_ms = snapshot.view.now_ms;
    let opening = settings
        .opens_at_ms
        .filter(|_| snapshot.view.configuration.is_scheduled(now_ms));
    let draw = snapshot.view.configuration.draw_seed();
    let entrance = settings.entrance_at(now_ms);
    // Before the opening no visitor learns how far the line has moved.
    let lanes = snapshot.view.lanes.iter().filter(|_| opening.is_none());
    let view = PublicDocument {
        queue: queue.as_str(),
        state: snapshot.view.state(),
        epoch: snapshot.view.configuration.epoch,
        generation: snapshot.view.configuration.generation,
        now_ms,
        refresh_near_ms: DOCUMENT_REFRESH_NEAR_MS,
        refresh_far_ms: DOCUMENT_REFRESH_FAR_MS,
        resync_ms: resync_ms(snapshot.view.waiting),
        lanes: lanes
            .map(|(lane, progress)| (*lane, describe_lane(&snapshot, *lane, *progress)))
            .collect(),
        waiting: snapshot.view.in_line(),
        full: snapshot.view.is_full(),
        // Three decimals are precise enough for a reader.
        rate: snapshot.rate().map(|rate| (rate * 1_000.0).round() / 1_000.0),
        estimated_waits: snapshot.estimated_waits().map(EstimatedWait::from).collect(),
        paused: settings.paused,
        mode: settings.mode,
        entrance,
        finish_reason: (entrance == Entrance::Finished).then(|| settings.finish_reason()),
        opening: opening.map(|opens_at_ms| OpeningDocument {
            opens_at_ms,
            // Without a draw the order of entering is that of the line, so no visitor waits to enter.
            enter_spread_ms: draw.map_or(0, |_| enter_spread_ms(opens_at_ms.saturating_sub(now_ms))),
            draw_commitment: draw.map(|seed| seed.commitment()),
        }),
        draw_seed: draw
            .filter(|_| snapshot.view.find_opening().is_some())
            .map(|seed| seed.reveal()),
        closes_at_ms: settings.closes_at_ms,
        ends_at_ms: settings.ends_at_ms,
        limited_by: snapshot.view.limited_by(),
        min_epoch: snapshot.view.configuration.min_epoch,
        void_keys: state.keys.passes.void_key_ids(),
        message: MessageFields::of(settings),
    };
    let mut response = json(StatusCode::OK, &view);
    response.headers_mut().insert(
        header::CACHE_CONTROL,
        HeaderValue::from_static("public, max-age=2, stale-while-revalidate=8"),
    );
    Ok(response)
}
