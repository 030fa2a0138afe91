//! Visitors who missed their turn and come back within the grace.

mod missed_turn;

use serde_json::{Value, json};
use tokio::join;
use vestibule_api::config::ApiConfig;
use vestibule_backup::{Backup, PutOutcome};
use vestibule_domain::configuration::Configuration;
use vestibule_line::{Arrival, ConfigureOutcome, EnterOutcome};
use vestibule_tests::in_process::{
    ApiResponse, InProcessApi, QUEUE, configuration, event, queue_id, with_claims, with_header,
};

use self::missed_turn::{
    enter_again, enter_three, expect_old_place, flush, get_status, get_status_until,
    let_first_of_three_miss_the_turn, read_record, settings,
};
use super::{enter_and_expect_created, new_visitor_id, start_full_queue};

super::cases![
    a_missed_turn_gives_the_old_place_back_once,
    a_visitor_who_comes_back_claims_the_next_turn,
    a_turn_is_missed_before_a_tick_ends_it,
    a_visitor_who_returns_after_the_grace_enters_at_the_end,
    a_shorter_grace_breaks_no_promise,
    a_draining_queue_has_no_grace,
    two_concurrent_returns_give_one_place,
    a_process_killed_during_a_return_loses_no_place,
    without_the_backup_the_old_place_is_lost,
    a_visitor_who_logs_in_gets_the_anonymous_place_back,
];

async fn a_missed_turn_gives_the_old_place_back_once() {
    let api = start_full_queue(settings()).await;
    let [(first, waited), (second, _), (third, _)] = let_first_of_three_miss_the_turn(&api).await;
    let ended = get_status(&api, &first).await;
    let ended = ended.expect_problem(410, "expired");
    assert_eq!(ended.body["visit"], waited.body["visit"]);
    assert_eq!(ended.number("ended_at_ms"), api.now_ms());
    assert_eq!(ended.number("grace_until_ms"), api.now_ms() + 600_000);

    api.advance_seconds(30);
    let back = enter_again(&api, &first).await;
    expect_old_place(&back, &waited);
    expect_old_place(&enter_again(&api, &first).await, &waited);
    assert_eq!(get_status(&api, &third).await.number("position"), 2);
    flush(&api).await;
    expect_old_place(&enter_again(&api, &first).await, &waited);

    // The visitor misses the next turn as well, before the journal is flushed.
    api.send(second.claim()).await.expect_status(200);
    api.advance_seconds(20);
    assert_eq!(api.promote().await.promoted, 1);
    assert_eq!(
        get_status(&api, &first).await.expect_status(200).text("state"),
        "ready"
    );
    api.advance_seconds(60);
    assert_eq!(api.promote().await.no_shows, 1);
    let ended = get_status(&api, &first).await;
    assert!(
        ended
            .expect_problem(410, "expired")
            .body
            .get("grace_until_ms")
            .is_none()
    );
    let new_visit = enter_again(&api, &first).await;
    assert_eq!(new_visit.expect_status(201).text("state"), "waiting");
    assert_ne!(new_visit.body["visit"], waited.body["visit"]);
    assert_eq!(new_visit.number("joined_at_ms"), api.now_ms());
}

async fn a_visitor_who_comes_back_claims_the_next_turn() {
    let api = start_full_queue(settings()).await;
    let [(first, waited), (second, _), _] = let_first_of_three_miss_the_turn(&api).await;
    expect_old_place(&enter_again(&api, &first).await, &waited);
    api.send(second.leave()).await.expect_status(204);
    api.advance_seconds(10);
    assert_eq!(api.promote().await.promoted, 1);
    flush(&api).await;
    let claim = || first.claim();
    let claimed = api.send(claim()).await;
    assert_eq!(claimed.expect_status(200).text("state"), "active");
    assert_eq!(claimed.body["durable"], true);
    for field in ["visit", "joined_at_ms"] {
        assert_eq!(claimed.body[field], waited.body[field], "{field}");
    }
    // A session that expires has no grace.
    api.advance_seconds(20);
    api.promote().await;
    let ended = get_status(&api, &first).await;
    assert!(
        ended
            .expect_problem(410, "expired")
            .body
            .get("grace_until_ms")
            .is_none()
    );
    assert_eq!(
        enter_again(&api, &first)
            .await
            .expect_status(201)
            .number("joined_at_ms"),
        api.now_ms()
    );
}

async fn a_turn_is_missed_before_a_tick_ends_it() {
    let api = start_full_queue(settings()).await;
    let [(first, waited), (second, _), (third, _)] = enter_three(&api).await;
    api.advance_seconds(20);
    api.promote().await;
    flush(&api).await;
    api.advance_seconds(90);
    expect_old_place(&enter_again(&api, &first).await, &waited);
    assert_eq!(get_status(&api, &third).await.number("position"), 3);
    let promotion = api.promote().await;
    assert_eq!(
        (promotion.no_shows, promotion.promoted),
        (0, 1),
        "the place of the missed turn is free"
    );
    assert_eq!(get_status(&api, &first).await.text("state"), "ready");

    // A status request needs no tick either to see that the turn is over.
    let claim = first.claim();
    api.send(claim).await.expect_status(200);
    api.advance_seconds(20);
    api.promote().await;
    flush(&api).await;
    let called = read_record(&api, &second).await;
    api.advance_seconds(90);
    let claim_by_ms = called.expires_at_ms.expect("a deadline");
    let ended = get_status(&api, &second).await;
    let until_ms = ended.expect_problem(410, "expired").number("grace_until_ms");
    let possible = claim_by_ms + 600_000..=api.now_ms() + 600_000;
    assert!(possible.contains(&until_ms), "{called:?} {ended:?}");
}

async fn a_visitor_who_returns_after_the_grace_enters_at_the_end() {
    let mut settings = settings();
    settings["grace_seconds"] = 30.into();
    let api = start_full_queue(settings).await;
    let [(first, waited), ..] = let_first_of_three_miss_the_turn(&api).await;
    assert!(get_status(&api, &first).await.body["grace_until_ms"].is_u64());
    api.advance_seconds(31);
    let ended = get_status_until(&api, &first, |ended| ended.body.get("grace_until_ms").is_none()).await;
    assert!(ended.expect_problem(410, "expired").body["ended_at_ms"].is_u64());
    let new_visit = enter_again(&api, &first).await;
    assert_eq!(new_visit.expect_status(201).number("position"), 2);
    assert_ne!(new_visit.body["visit"], waited.body["visit"]);
}

async fn a_shorter_grace_breaks_no_promise() {
    let api = start_full_queue(full_queue_settings()).await;
    let [(first, waited), _, (third, _)] = let_first_of_three_miss_the_turn(&api).await;
    let ended = get_status(&api, &first).await;
    let promised_ms = ended.expect_problem(410, "expired").number("grace_until_ms");

    let with = |name: &str, value: Value| {
        let mut settings = full_queue_settings();
        (settings["grace_seconds"], settings[name]) = (json!(0), value);
        configuration(settings.as_object().expect("an object"), name)
    };
    let old = api
        .line
        .queue_view(&queue_id())
        .await
        .expect("a view")
        .view
        .configuration;
    let new = with("message", json!("shorter"));
    let new = Configuration {
        kept_times: old
            .kept_times
            .after_change(&old.settings, &new.settings, api.now_ms()),
        ..new
    };
    let changed = api.line.configure(&queue_id(), &new, false).await;
    assert_eq!(changed.expect("an answer"), ConfigureOutcome::Changed);
    get_status_until(&api, &third, |waiting| waiting.body["message"] == "shorter").await;
    let ended = get_status(&api, &first).await;
    assert_eq!(
        ended.expect_problem(410, "expired").number("grace_until_ms"),
        promised_ms
    );
    expect_old_place(&enter_again(&api, &first).await, &waited);
}

fn full_queue_settings() -> Value {
    let mut settings = settings();
    settings["capacity"] = 1.into();
    settings["batch"] = 1.into();
    settings
}

async fn a_draining_queue_has_no_grace() {
    let settings = full_queue_settings();
    let api = start_full_queue(settings.clone()).await;
    let [(first, waited), ..] = let_first_of_three_miss_the_turn(&api).await;
    let has_grace = |ended: &ApiResponse| ended.body.get("grace_until_ms").is_some();
    get_status_until(&api, &first, has_grace).await;
    // A grace that was switched off by hand ends at once, too: only the command `update` records what it was.
    for (name, value) in [("grace_seconds", json!(0)), ("entrance", json!("draining"))] {
        let mut other = settings.clone();
        other[name] = value;
        api.configure_line(other, name).await;
        get_status_until(&api, &first, |ended| !has_grace(ended)).await;
    }
    // The visitor is not in line, so cannot enter.
    enter_again(&api, &first)
        .await
        .expect_problem(409, "queue-draining");
    api.configure_line(settings, "as before").await;
    get_status_until(&api, &first, has_grace).await;
    expect_old_place(&enter_again(&api, &first).await, &waited);
}

async fn two_concurrent_returns_give_one_place() {
    let api = start_full_queue(settings()).await;
    let [(first, waited), ..] = let_first_of_three_miss_the_turn(&api).await;
    let (one, two) = join!(enter_again(&api, &first), enter_again(&api, &first));
    for response in [one, two] {
        expect_old_place(&response, &waited);
    }
    assert_eq!(api.promote().await.waiting, 2, "the visitor waits once");
}

async fn a_process_killed_during_a_return_loses_no_place() {
    // Where a waiting one who enters again moves to the back, a place that the backup has is one that is given up.
    for (re_entry, is_written) in [("keep", false), ("keep", true), ("requeue", false)] {
        let mut settings = settings();
        settings["re_entry"] = re_entry.into();
        let api = start_full_queue(settings).await;
        let [(first, waited), ..] = let_first_of_three_miss_the_turn(&api).await;
        flush(&api).await;
        let id = first.token.parse().expect("a token");
        let entered = api.line.enter(&queue_id(), id, Arrival::Ordinary).await;
        let Ok(EnterOutcome::Joined {
            change: Some(change), ..
        }) = entered
        else {
            panic!("{entered:?}");
        };
        if is_written {
            let put = api.backup.put_change(&api.partition(), &change).await;
            assert!(matches!(put, Ok(PutOutcome::VisitContinues(_))), "{put:?}");
        }
        api.advance_seconds(1);
        expect_old_place(&enter_again(&api, &first).await, &waited);
        assert_eq!(api.promote().await.waiting, 2);
    }
}

async fn without_the_backup_the_old_place_is_lost() {
    let api =
        InProcessApi::start_without_backup(json!({ "capacity": 1, "batch": 1, "session_seconds": 20 })).await;
    enter_and_expect_created(&api).await;
    let (guest, waited) = enter_and_expect_created(&api).await;
    enter_and_expect_created(&api).await;
    api.advance_seconds(20);
    api.promote().await;
    api.advance_seconds(60);
    api.promote().await;
    let again = enter_again(&api, &guest).await;
    assert_eq!(
        again.expect_status(201).body["durable"],
        false,
        "the response says so"
    );
    assert_ne!(again.body["visit"], waited.body["visit"]);
}

async fn a_visitor_who_logs_in_gets_the_anonymous_place_back() {
    let api = InProcessApi::start_with_config(
        ApiConfig::default(),
        json!({ "capacity": 1, "batch": 1, "session_seconds": 20 }),
    );
    let api = api.await;
    let enter = || event("POST", "/queues/{queue}/entries", &json!({ "queue": QUEUE }));
    api.send_event(&enter()).await.expect_status(201);
    let id = new_visitor_id();
    let anonymous = || with_header(enter(), "X-Visitor-Id", &id);
    let waited = api.send_event(&anonymous()).await;
    waited.expect_status(201);
    let next = api.send_event(&enter()).await;
    next.expect_status(201);
    for waiting in [&waited, &next] {
        let entry = waiting.text("token").parse().expect("a token");
        api.line.check_in(&queue_id(), entry).await.expect("an answer");
    }
    api.advance_seconds(20);
    api.promote().await;
    api.advance_seconds(60);
    assert_eq!(api.promote().await.no_shows, 1);
    let known = with_claims(anonymous(), &json!({ "sub": "ada" }));
    expect_old_place(&api.send_event(&known).await, &waited);
}
