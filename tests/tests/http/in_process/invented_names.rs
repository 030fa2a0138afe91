//! Floods of requests for queues and tokens that do not exist.

use std::time::Instant;

use serde_json::json;
use vestibule_backup::{Backup, PutOutcome};
use vestibule_domain::id::EntryId;
use vestibule_line::{Arrival, EnterOutcome, Line};
use vestibule_tests::in_process::{
    ApiRequest, InProcessApi, QUEUE, anonymous_visitor, configuration, entry_path, queue_id,
};

use super::enter_and_expect_created;

super::cases![
    a_flood_for_one_unknown_queue_asks_once_a_second,
    a_flood_of_invented_queues_is_limited_and_hides_none,
    a_queue_that_is_created_is_known_within_two_seconds,
    a_flood_with_one_unknown_token_asks_once_a_second,
    a_flood_of_invented_tokens_is_limited_and_hides_none,
    a_visitor_who_enters_is_known_at_once,
    a_lost_entry_comes_back_during_a_flood,
];

const FLOOD: u64 = 2_000;
/// The limit of lookups that find nothing: so many at once, and one more each second.
const LOOKUPS_AT_ONCE: u64 = 100;

/// How many seconds have begun since then, on a machine that may be slow.
fn seconds_begun(since: Instant) -> u64 {
    since.elapsed().as_secs() + 1
}

async fn a_flood_for_one_unknown_queue_asks_once_a_second() {
    let api = InProcessApi::start(json!({})).await;
    let begun = Instant::now();
    for _ in 0..FLOOD / 4 {
        for request in [
            ApiRequest::get("/queues/none"),
            ApiRequest::post("/queues/none/entries"),
            ApiRequest::get(format!("/queues/none/entries/{}", token(1))),
            ApiRequest::post(format!("/queues/none/entries/{}/claim", token(1))),
        ] {
            api.send(request).await.expect_status(404);
        }
    }
    let seconds = seconds_begun(begun);
    for (name, calls) in [
        ("line", api.faults.calls("queue_view")),
        ("backup", api.backup_faults.calls("read_queue")),
    ] {
        assert!(
            (1..=seconds).contains(&calls),
            "{calls} calls of the {name} in {seconds} s"
        );
    }
}

/// The queues of the shop stay in the cache, and one that this process has not served yet is found.
async fn a_flood_of_invented_queues_is_limited_and_hides_none() {
    let api = InProcessApi::start(json!({})).await;
    api.create_queue("second", json!({})).await;
    api.send(ApiRequest::get(format!("/queues/{QUEUE}")))
        .await
        .expect_status(200);
    let (begun, views) = (Instant::now(), api.faults.calls_for_queue("queue_view", QUEUE));
    let mut refused = 0;
    for number in 0..FLOOD {
        let answer = api.send(ApiRequest::get(format!("/queues/none{number}"))).await;
        if answer.status == 429 {
            answer.expect_problem(429, "too-many-requests");
            assert!(answer.headers.contains_key("retry-after"));
            refused += 1;
        } else {
            assert_eq!(answer.expect_status(404).text("code"), "unknown-queue");
        }
        let known = api.send(ApiRequest::get(format!("/queues/{QUEUE}"))).await;
        known.expect_status(200);
    }
    let seconds = seconds_begun(begun);
    let reads = api.backup_faults.calls("read_queue");
    assert!(reads <= LOOKUPS_AT_ONCE + seconds, "{reads} in {seconds} s");
    assert!(refused > 0);
    let views = api.faults.calls_for_queue("queue_view", QUEUE) - views;
    assert!(
        views <= seconds,
        "the queue of the shop was read {views} times in {seconds} s"
    );
    api.send(ApiRequest::get("/queues/second"))
        .await
        .expect_status(200);
}

async fn a_queue_that_is_created_is_known_within_two_seconds() {
    let api = InProcessApi::start(json!({})).await;
    let view = || ApiRequest::get("/queues/late");
    api.send(view()).await.expect_status(404);
    api.create_queue("late", json!({})).await;
    let created = Instant::now();
    while api.send(view()).await.status != 200 {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        assert!(created.elapsed().as_secs() < 20, "the queue stays unknown");
    }
    let reads = api.backup_faults.calls("read_queue");
    assert!(reads <= 2, "no request but the first had to ask: {reads}");
}

async fn a_flood_with_one_unknown_token_asks_once_a_second() {
    let api = InProcessApi::start(json!({})).await;
    let begun = Instant::now();
    for _ in 0..FLOOD {
        let answer = api.send(ApiRequest::get(entry_path(&token(1)))).await;
        answer.expect_problem(404, "unknown-entry");
    }
    let seconds = seconds_begun(begun);
    for (name, calls) in [
        ("line", api.faults.calls("check_in")),
        ("backup", api.backup_faults.calls("read_entry")),
    ] {
        assert!(
            (1..=seconds).contains(&calls),
            "{calls} calls of the {name} in {seconds} s"
        );
    }
}

/// A visitor in line is found without the backup, so that a flood takes nothing from a page that has the token alone.
async fn a_flood_of_invented_tokens_is_limited_and_hides_none() {
    let api = InProcessApi::start(json!({})).await;
    let (guest, _) = enter_and_expect_created(&api).await;
    let (begun, reads) = (Instant::now(), api.backup_faults.calls("read_entry"));
    let mut refused = 0;
    for number in 0..FLOOD {
        let answer = api.send(ApiRequest::get(entry_path(&token(number)))).await;
        if answer.status == 429 {
            refused += 1;
        } else {
            answer.expect_problem(404, "unknown-entry");
        }
    }
    let seconds = seconds_begun(begun);
    let reads = api.backup_faults.calls("read_entry") - reads;
    assert!(reads <= LOOKUPS_AT_ONCE + seconds, "{reads} in {seconds} s");
    assert!(refused > 0);
    let by_token = api.send(ApiRequest::get(entry_path(&guest.token))).await;
    assert_eq!(by_token.expect_status(200).text("state"), "active");
    assert_eq!(
        api.send(guest.status()).await.expect_status(200).text("state"),
        "active"
    );
}

async fn a_visitor_who_enters_is_known_at_once() {
    let api = InProcessApi::start(json!({ "capacity": 1_000 })).await;
    for number in 0..50 {
        let (visitor, id) = anonymous_visitor(number);
        let status = || ApiRequest::get(entry_path(&id.to_string()));
        api.send(status()).await.expect_problem(404, "unknown-entry");
        let entered = api.send(ApiRequest::enter().visitor(&visitor)).await;
        assert_eq!(entered.expect_status(201).text("token"), id.to_string());
        // By the token alone, and by the visitor.
        api.send(status()).await.expect_status(200);
        api.send(status().visitor(&visitor)).await.expect_status(200);
    }
}

/// The backup has the entry and the line has lost it. An attacker who knows the token asks for others until no more
/// lookups are granted.
async fn a_lost_entry_comes_back_during_a_flood() {
    let api = InProcessApi::start(json!({ "capacity": 1 })).await;
    let (visitor, id) = anonymous_visitor(1);
    let absent = ApiRequest::get(entry_path(&id.to_string()));
    api.send(absent).await.expect_problem(404, "unknown-entry");
    write_lost_entry(&api, id).await;
    let mut number = 1_000;
    while api.send(ApiRequest::get(entry_path(&token(number)))).await.status != 429 {
        number += 1;
        assert!(number < 1_000 + FLOOD, "the flood is limited");
    }
    let own = ApiRequest::get(entry_path(&id.to_string())).visitor(&visitor);
    api.send(own).await.expect_status(200);
    let by_token = api.send(ApiRequest::get(entry_path(&id.to_string()))).await;
    by_token.expect_status(200);
}

/// Writes the entry of a visitor as a line did that has lost it since.
async fn write_lost_entry(api: &InProcessApi, id: EntryId) {
    let line = Line::in_process_with_clock(api.clock.as_server_clock());
    let configuration = configuration(json!({}).as_object().expect("settings"), "1");
    let configured = line.configure(&queue_id(), &configuration, true).await;
    configured.expect("the line creates the queue");
    let entered = line
        .enter(&queue_id(), id, Arrival::Ordinary)
        .await
        .expect("the queue exists");
    let EnterOutcome::Joined {
        change: Some(change), ..
    } = entered
    else {
        panic!("{entered:?}");
    };
    let written = api.backup.put_change(&api.partition(), &change).await;
    assert!(matches!(written, Ok(PutOutcome::Stored(_))), "{written:?}");
}

/// A token that this queue never issued.
fn token(number: u64) -> String {
    anonymous_visitor(1_000_000 + number).1.to_string()
}
