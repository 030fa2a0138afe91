//! `GET /queues/{queue}`: the public document of a queue, which every client may read.

use axum::{
    extract::State,
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use vestibule_domain::{
    lane::LaneProgress,
    poll_pacing::{DOCUMENT_REFRESH_FAR_MS, DOCUMENT_REFRESH_NEAR_MS, enter_spread_ms, resync_ms},
    settings::Entrance,
};
use vestibule_wire::{Lane, Message, PositionAhead, PositionWait, PublicDocument};

use super::request::QueuePath;
use crate::{Services, json::json, problem::Problem, queue::QueueSnapshot};

/// What visitors of a lane learn.
fn describe_lane(snapshot: &QueueSnapshot, lane: u8, progress: LaneProgress) -> Lane {
    let waits = snapshot.estimated_waits_in_lane(lane);
    let ahead = snapshot.ahead_in_lane(lane);
    Lane {
        estimated_waits: waits.map(|waits| waits.into_iter().map(PositionWait::from).collect()),
        ahead: ahead.map(|ahead| ahead.into_iter().map(PositionAhead::from).collect()),
        ahead_is_expected: snapshot.is_position_expected(),
        ..progress.into()
    }
}

/// What every client learns of the queue.
fn describe_queue(snapshot: &QueueSnapshot, void_keys: Vec<String>) -> PublicDocument {
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
    PublicDocument {
        queue: snapshot.queue.to_string(),
        state: snapshot.view.state(),
        epoch: snapshot.view.configuration.epoch,
        generation: snapshot.view.configuration.generation,
        now_ms,
        refresh_near_ms: DOCUMENT_REFRESH_NEAR_MS,
        refresh_far_ms: DOCUMENT_REFRESH_FAR_MS,
        resync_ms: resync_ms(snapshot.view.waiting),
        lanes: lanes
            .map(|(lane, progress)| (*lane, describe_lane(snapshot, *lane, *progress)))
            .collect(),
        waiting: snapshot.view.in_line(),
        full: snapshot.view.is_full(),
        // Three decimals are precise enough for a reader.
        rate: snapshot.rate().map(|rate| (rate * 1_000.0).round() / 1_000.0),
        estimated_waits: snapshot.estimated_waits().map(PositionWait::from).collect(),
        paused: settings.paused,
        mode: settings.mode,
        entrance,
        finish_reason: (entrance == Entrance::Finished).then(|| settings.finish_reason()),
        opens_at_ms: opening,
        // Without a draw the order of entering is that of the line, so no visitor waits to enter.
        enter_spread_ms: opening
            .map(|opens_at_ms| draw.map_or(0, |_| enter_spread_ms(opens_at_ms.saturating_sub(now_ms)))),
        draw_commitment: opening.and(draw).map(|seed| seed.commitment()),
        draw_seed: draw
            .filter(|_| snapshot.view.find_opening().is_some())
            .map(|seed| seed.reveal()),
        closes_at_ms: settings.closes_at_ms,
        ends_at_ms: settings.ends_at_ms,
        limited_by: snapshot.view.limited_by(),
        min_epoch: snapshot.view.configuration.min_epoch,
        void_keys,
        message: Message::of(settings),
    }
}

pub(super) async fn handle(
    State(services): State<Services>,
    QueuePath(queue): QueuePath,
) -> Result<Response, Problem> {
    let snapshot = services.queues.get(&queue).await?;
    // Caches and services read the document of an empty queue too. Such a queue is parked, and needs no tick.
    if snapshot.view.is_occupied() {
        services.entries.with_fallback_tick(&queue, async {}).await;
    }
    let document = describe_queue(&snapshot, services.identity.passes.void_key_ids());
    let mut response = json(StatusCode::OK, &document);
    response.headers_mut().insert(
        header::CACHE_CONTROL,
        HeaderValue::from_static("public, max-age=2, stale-while-revalidate=8"),
    );
    Ok(response)
}
