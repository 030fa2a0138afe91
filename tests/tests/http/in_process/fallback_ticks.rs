//! Ticks that requests run while the promoter is down.

use std::time::Duration;

use futures_util::future::{join, join_all};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use vestibule_backup::Backup;
use vestibule_domain::state::EntryState;
use vestibule_line::OperatorView;
use vestibule_tests::in_process::{ApiRequest, BOUND, InProcessApi, QUEUE, entry_path, queue_id};

use super::{Guest, enter_and_expect_created, start_full_queue};

super::cases![
    polls_move_the_line_at_its_pace_without_a_promoter,
    held_polls_get_their_turn,
    one_held_poll_runs_the_ticks_of_all,
    requests_run_no_ticks_while_the_promoter_runs,
    only_entering_status_and_the_document_run_ticks,
    without_the_backup_ticks_promote_no_visitor,
];

const BATCH: u64 = 2;

/// Promotes two visitors every second, with room for all.
fn fast_settings() -> Value {
    json!({ "capacity": 100, "batch": BATCH, "interval_seconds": 1 })
}

async fn start_with_fallback_ticks(settings: Value) -> InProcessApi {
    let api = InProcessApi::start(settings).await;
    api.faults.grant_fallback_ticks();
    api
}

async fn queue_view(api: &InProcessApi) -> OperatorView {
    api.line.queue_view(&queue_id()).await.expect("the queue exists")
}

/// Lets the line's clock run until a condition holds.
async fn run_clock_until(api: &InProcessApi, what: &str, mut condition: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    let mut last = began;
    while !condition().await {
        assert!(began.elapsed() < BOUND, "not within {BOUND:?}: {what}");
        sleep(Duration::from_millis(50)).await;
        let now = Instant::now();
        api.clock.advance(now.duration_since(last));
        last = now;
    }
}

async fn polls_move_the_line_at_its_pace_without_a_promoter() {
    let api = start_with_fallback_ticks(fast_settings()).await;
    let start_ms = api.now_ms();
    let mut guests = Vec::new();
    for _ in 0..10 {
        guests.push(enter_and_expect_created(&api).await.0);
    }
    run_clock_until(&api, "every visitor is ready", async || {
        let mut waiting = 0;
        for guest in &guests {
            let response = api.send(guest.status()).await;
            waiting += u64::from(response.expect_status(200).text("state") == "waiting");
            let totals = queue_view(&api).await.totals;
            let passed_ms = api.now_ms() - start_ms;
            let admitted = totals.promoted + totals.fast_tracked;
            assert!(
                admitted <= BATCH + passed_ms * BATCH / 1_000,
                "{admitted} in {passed_ms} ms"
            );
        }
        waiting == 0
    })
    .await;
    let view = queue_view(&api).await;
    assert_eq!(
        (view.totals.promoted, view.heartbeat_ms),
        (8, 0),
        "no promoter has run"
    );
    for guest in &guests[2..] {
        let token = guest.token.parse().expect("a token");
        let record = api
            .backup
            .read_entry(&api.partition(), token)
            .await
            .expect("a response");
        let state = record.expect("a record").state;
        assert!(state == EntryState::Ready, "{state:?}");
    }
}

async fn held_polls_get_their_turn() {
    let api = start_with_fallback_ticks(json!({ "capacity": 100, "batch": 1, "interval_seconds": 1 })).await;
    enter_and_expect_created(&api).await;
    let mut guests = Vec::new();
    for _ in 0..3 {
        guests.push(enter_and_expect_created(&api).await.0);
    }
    let held = join_all(guests.iter().map(|guest| {
        let request = ApiRequest::get(format!("{}?wait=20", entry_path(&guest.token)));
        api.send(request.visitor(&guest.id))
    }));
    let moving = run_clock_until(&api, "every visitor is promoted", async || {
        queue_view(&api).await.waiting == 0
    });
    let (responses, ()) = join(held, moving).await;
    for response in responses {
        assert_eq!(response.expect_status(200).text("state"), "ready");
    }
}

async fn one_held_poll_runs_the_ticks_of_all() {
    let api = start_with_fallback_ticks(
        json!({ "capacity": 1, "batch": 1, "interval_seconds": 1, "session_seconds": 5 }),
    )
    .await;
    let mut guests = Vec::new();
    for _ in 0..21 {
        guests.push(enter_and_expect_created(&api).await.0);
    }
    // The line's clock stands still, so the line does not move.
    let before = api.faults.calls("take_fallback_tick");
    let held = |guest: &Guest| {
        let request = ApiRequest::get(format!("{}?wait=3", entry_path(&guest.token)));
        api.send(request.visitor(&guest.id))
    };
    for response in join_all(guests[1..].iter().map(held)).await {
        assert_eq!(response.expect_status(200).text("state"), "waiting");
    }
    let attempts = api.faults.calls("take_fallback_tick") - before;
    assert!((2..=4).contains(&attempts), "{attempts} in three seconds");
}

async fn requests_run_no_ticks_while_the_promoter_runs() {
    let api = InProcessApi::start(fast_settings()).await;
    for _ in 0..2 {
        enter_and_expect_created(&api).await;
    }
    let (guest, _) = enter_and_expect_created(&api).await;
    api.faults.grant_fallback_ticks();
    api.promote().await;
    let polls = async || {
        // The cached snapshot of the queue has expired by then.
        sleep(Duration::from_millis(1_100)).await;
        for _ in 0..10 {
            api.send(guest.status()).await.expect_status(200);
        }
        api.faults.calls("take_fallback_tick")
    };
    assert_eq!(polls().await, 0, "no request calls the line for a tick");
    api.advance_seconds(2);
    assert_eq!(polls().await, 0);
    api.advance_seconds(1);
    assert!(polls().await > 0, "three intervals without a heartbeat");
    assert_eq!(queue_view(&api).await.fallback_ticked_at_ms, api.now_ms());
}

async fn only_entering_status_and_the_document_run_ticks() {
    let api = start_full_queue(json!({})).await;
    let (guest, _) = enter_and_expect_created(&api).await;
    // A process attempts a tick at most once a second.
    sleep(Duration::from_millis(1_100)).await;
    api.faults.grant_fallback_ticks();
    let path = |below: &str| format!("{}{below}", entry_path(&guest.token));
    for (request, status) in [
        (
            ApiRequest::post(path("/claim"))
                .visitor(&guest.id)
                .json(&json!({})),
            409,
        ),
        (
            ApiRequest::post(path("/validate")).json(&json!({ "visitor": guest.id })),
            409,
        ),
        (
            ApiRequest::post(path("/extend"))
                .visitor(&guest.id)
                .json(&json!({})),
            409,
        ),
        (
            ApiRequest::post(format!("/queues/{QUEUE}/load")).json(&json!({ "tps": 1 })),
            200,
        ),
        (ApiRequest::delete(path("")).visitor(&guest.id), 204),
    ] {
        api.send(request).await.expect_status(status);
    }
    assert_eq!(api.faults.calls("take_fallback_tick"), 0);
    api.send(guest.status()).await;
    assert_eq!(api.faults.calls("take_fallback_tick"), 1);
    // Far from the head, visitors read only the public document. The view of the line shows when the last tick was.
    api.advance_seconds(2);
    sleep(Duration::from_millis(1_100)).await;
    api.send(ApiRequest::get(format!("/queues/{QUEUE}")))
        .await
        .expect_status(200);
    assert_eq!(api.faults.calls("take_fallback_tick"), 2);
}

/// Without the watermark of the backup, the line may hold stale data, so a tick must not promote.
async fn without_the_backup_ticks_promote_no_visitor() {
    let silent = InProcessApi::start_with_silent_backup(fast_settings()).await;
    let unreachable = InProcessApi::start_without_backup(fast_settings()).await;
    for api in [silent, unreachable] {
        let mut guests = Vec::new();
        for _ in 0..3 {
            guests.push(enter_and_expect_created(&api).await.0);
        }
        api.faults.grant_fallback_ticks();
        api.advance_seconds(60);
        sleep(Duration::from_millis(1_100)).await;
        // The tick gives up on a backup that never answers.
        api.send(guests[2].status()).await.expect_status(200);
        let view = queue_view(&api).await;
        assert_eq!(view.fallback_ticked_at_ms, api.now_ms(), "a tick was due");
        assert_eq!((view.waiting, view.totals.promoted), (1, 0));
    }
}
