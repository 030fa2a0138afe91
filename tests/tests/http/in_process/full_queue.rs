//! A full queue: newcomers are told so and come back later, and nobody with a place is refused.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::time::Instant;
use vestibule_engine::flush::flush_journal;
use vestibule_faults::Fault;
use vestibule_line::{JournalLimits, OperatorView};
use vestibule_tests::in_process::{ApiRequest, ApiResponse, InProcessApi, QUEUE, entry_path, queue_id};

use super::{Guest, enter_and_expect_created, new_visitor_id, start_full_queue};

super::cases![
    a_full_queue_asks_newcomers_to_come_back,
    a_missed_turn_within_the_grace_returns_to_a_full_queue,
    an_outage_of_the_backup_lets_nobody_into_a_full_queue,
    a_flood_beyond_the_tables_throughput_stops_no_promotion,
    a_flood_without_a_queue_limit_stops_at_the_journals_limit,
];

fn enter_as(visitor: &str) -> ApiRequest {
    ApiRequest::enter().visitor(visitor)
}

/// Asserts that the visitor is told clearly that the queue is full for now. Returns `Retry-After`, in seconds.
fn expect_full(response: &ApiResponse) -> u64 {
    let refused = response.expect_problem(503, "queue-full");
    let detail = refused.text("detail");
    assert!(detail.contains("full for now"), "{detail}");
    refused.header("retry-after").parse().expect("whole seconds")
}

/// Reads the public document until it says whether the queue is full. Each process caches it for a second.
async fn expect_document(api: &InProcessApi, is_full: bool) {
    let document = || ApiRequest::get(format!("/queues/{QUEUE}"));
    api.send_until(document, |document| document.body["full"] == is_full)
        .await;
}

async fn view(api: &InProcessApi) -> OperatorView {
    api.line.queue_view(&queue_id()).await.expect("the queue")
}

async fn a_full_queue_asks_newcomers_to_come_back() {
    let api = start_full_queue(json!({ "queue_limit": 2 })).await;
    let (first, _) = enter_and_expect_created(&api).await;
    let (second, _) = enter_and_expect_created(&api).await;
    let newcomer = new_visitor_id();
    for _ in 0..5 {
        let seconds = expect_full(&api.send(enter_as(&newcomer)).await);
        assert!((10..=60).contains(&seconds), "{seconds}");
    }
    // The same for a visitor whose id the server draws.
    expect_full(&api.send(ApiRequest::enter()).await);
    expect_document(&api, true).await;
    for guest in [&first, &second] {
        let again = api.send(enter_as(&guest.id)).await;
        assert_eq!(again.expect_status(200).text("token"), guest.token);
    }
    api.send(first.leave()).await.expect_status(204);
    expect_document(&api, false).await;
    api.send(enter_as(&newcomer)).await.expect_status(201);
    expect_full(&api.send(enter_as(&new_visitor_id())).await);
}

/// One promotion every ten seconds, and room for two in line.
fn two_in_line() -> Value {
    json!({ "session_seconds": 20, "interval_seconds": 10, "queue_limit": 2 })
}

/// A visitor misses the turn, and others fill the line.
async fn let_one_miss_the_turn() -> (InProcessApi, Guest, ApiResponse) {
    let api = start_full_queue(two_in_line()).await;
    let (first, waited) = enter_and_expect_created(&api).await;
    api.advance_seconds(20);
    assert_eq!(api.promote().await.promoted, 1);
    api.advance_seconds(60);
    assert_eq!(api.promote().await.no_shows, 1);
    // The first newcomer takes the free slot.
    for _ in 0..3 {
        enter_and_expect_created(&api).await;
    }
    expect_full(&api.send(enter_as(&new_visitor_id())).await);
    (api, first, waited)
}

async fn a_missed_turn_within_the_grace_returns_to_a_full_queue() {
    let (api, first, waited) = let_one_miss_the_turn().await;
    let back = api.send(enter_as(&first.id)).await;
    assert_eq!(back.expect_status(200).text("state"), "waiting");
    assert_eq!(back.body["visit"], waited.body["visit"]);
    assert_eq!((back.number("position"), view(&api).await.waiting), (1, 3));
    expect_full(&api.send(enter_as(&new_visitor_id())).await);
    // After the grace the visitor is a newcomer.
    let (api, first, _) = let_one_miss_the_turn().await;
    let until = Instant::now() + Duration::from_mins(1);
    let flushed = flush_journal(&api.line, &*api.backup, &api.partition(), 1_000, until).await;
    flushed.expect("flushed");
    api.advance_seconds(601);
    let has_no_grace = |ended: &ApiResponse| ended.body.get("grace_until_ms").is_none();
    api.send_until(|| first.status(), has_no_grace).await;
    expect_full(&api.send(enter_as(&first.id)).await);
}

async fn an_outage_of_the_backup_lets_nobody_into_a_full_queue() {
    let (api, first, waited) = let_one_miss_the_turn().await;
    api.backup_faults.fail_all(Fault::Unavailable);
    expect_full(&api.send(enter_as(&first.id)).await);
    expect_full(&api.send(enter_as(&new_visitor_id())).await);
    api.backup_faults.heal_all();
    let back = api.send(enter_as(&first.id)).await;
    assert_eq!(back.expect_status(200).body["visit"], waited.body["visit"]);
}

/// Enters with ever new ids from eight tasks, so often in all. Returns how many got a place, and the refusals.
async fn flood(api: &InProcessApi, times: usize) -> (u64, Vec<ApiResponse>) {
    const TASKS: usize = 8;
    let task = async || {
        let (mut entered, mut refused) = (0, Vec::new());
        for _ in 0..times / TASKS {
            let response = api.send(enter_as(&new_visitor_id())).await;
            if response.status == 201 {
                entered += 1;
            } else {
                refused.push(response);
            }
        }
        (entered, refused)
    };
    let (entered, refused): (Vec<u64>, Vec<_>) =
        join_all((0..TASKS).map(|_| task())).await.into_iter().unzip();
    (entered.into_iter().sum(), refused.into_iter().flatten().collect())
}

/// Completes the visit of an active visitor, ticks, and claims the turn of the next one.
async fn serve_next(api: &InProcessApi, active: &Guest, next: &Guest) {
    let complete = ApiRequest::post(format!("{}/complete", entry_path(&active.token)));
    api.send(complete).await.expect_status(204);
    api.advance_seconds(1);
    assert_eq!(api.promote().await.promoted, 1);
    let claimed = api.send(next.claim()).await;
    assert_eq!(claimed.expect_status(200).text("state"), "active");
}

/// Four honest visitors: one is active, three wait.
async fn enter_honest_visitors(api: &InProcessApi) -> Vec<Guest> {
    let mut honest = Vec::new();
    for _ in 0..4 {
        honest.push(enter_and_expect_created(api).await.0);
    }
    honest
}

async fn a_flood_beyond_the_tables_throughput_stops_no_promotion() {
    const LIMIT: u64 = 30;
    let settings = json!({ "capacity": 1, "batch": 1, "interval_seconds": 1, "queue_limit": LIMIT });
    let api = InProcessApi::start(settings).await;
    let honest = enter_honest_visitors(&api).await;
    // Each write waits for its deadline, and then goes to the journal. Time passes at once.
    tokio::time::pause();
    api.backup_faults.fail_all(Fault::Throttled);
    let mut fakes = 0;
    for turn in 1..honest.len() {
        let (entered, refused) = flood(&api, 160).await;
        fakes += entered;
        for response in &refused {
            assert!(expect_full(response) >= 10);
        }
        let flooded = view(&api).await;
        assert_eq!(flooded.waiting, LIMIT, "the fakes fill the line to its limit");
        assert!(
            flooded.journal_len <= 3 * LIMIT,
            "{} records",
            flooded.journal_len
        );
        // Those who wait are served in their turn, and see their places.
        for (position, guest) in (1..).zip(&honest[turn..]) {
            let status = api.send(guest.status()).await;
            assert_eq!(status.expect_status(200).number("position"), position);
        }
        serve_next(&api, &honest[turn - 1], &honest[turn]).await;
    }
    // Each promotion made room for one.
    assert_eq!(fakes, LIMIT - 3 + 2);
    api.backup_faults.heal_all();
    tokio::time::resume();
    let until = Instant::now() + Duration::from_mins(1);
    let flushed = flush_journal(&api.line, &*api.backup, &api.partition(), 1_000, until).await;
    flushed.expect("flushed");
    assert_eq!(view(&api).await.journal_len, 0);
}

async fn a_flood_without_a_queue_limit_stops_at_the_journals_limit() {
    const RECORDS: u64 = 40;
    let limits = JournalLimits {
        new_entries: RECORDS,
        all_changes: 2 * RECORDS,
        ..JournalLimits::default()
    };
    let settings = json!({ "capacity": 1, "batch": 1, "interval_seconds": 1 });
    let api = InProcessApi::start_without_backup_and_with_limits(settings, limits).await;
    let honest = enter_honest_visitors(&api).await;
    for turn in 1..honest.len() {
        // A tick notices that the journal is full, so a flood of one second passes its limit.
        let (entered, refused) = flood(&api, 48).await;
        assert!(turn == 1 || entered == 0, "{entered} fakes");
        for response in &refused {
            let seconds = response
                .expect_problem(503, "backup-behind")
                .header("retry-after")
                .to_owned();
            assert!(seconds.parse::<u64>().expect("whole seconds") >= 10, "{seconds}");
        }
        assert!(turn == 1 || refused.len() == 48);
        serve_next(&api, &honest[turn - 1], &honest[turn]).await;
        let flooded = view(&api).await;
        assert!(
            flooded.journal_len < 2 * RECORDS,
            "{} records",
            flooded.journal_len
        );
    }
}
