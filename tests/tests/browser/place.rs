//! The visitor's place in line: shown, kept, and given up.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::{
    proxy::Call,
    scene::Scene,
    tab::{BOUND, LOOK_PAUSE},
};

/// Settings with which one visitor is active and no other is promoted.
fn full_queue() -> Value {
    json!({ "capacity": 1, "batch": 1, "interval_seconds": 3_600, "claim_seconds": 10, "session_seconds": 3_600 })
}

#[tokio::test]
async fn visitor_who_joins_sees_position_and_wait() {
    // The capacity is large and one entry per minute is promoted, so the pace alone determines the wait.
    let settings = json!({ "capacity": 100, "batch": 1, "interval_seconds": 60 });
    let (scene, _) = Scene::with_one_active(settings).await;
    let before = scene.enter().await;
    assert_eq!(before.entry["position"], json!(1));

    let tab = scene.open_page().await;
    let view = tab
        .until("position and wait are shown", |view| {
            !view.part("wait").is_empty()
        })
        .await;
    assert!(view.shows_position(2), "{view:?}");
    assert_eq!(view.title, "2 · You are in line");
    let calls = scene.proxy.calls();
    let ranges: Vec<_> = calls
        .iter()
        .map(|call| &call.body["estimated_wait_seconds"])
        .collect();
    let is_one_of_them = ranges
        .iter()
        .any(|range| in_minutes(range).as_deref() == Some(view.part("wait")));
    assert!(is_one_of_them, "{ranges:?}: {view:?}");
    scene.assert_no_page_errors();
}

/// The text for the second position at one entry per minute, which is neither in seconds nor in hours.
fn in_minutes(range: &Value) -> Option<String> {
    let (low, high) = (range["low"].as_u64()?, range["high"].as_u64()?);
    assert!((90..7_200).contains(&high), "{range}");
    let (low, high) = ((low / 60).max(1), high.div_ceil(60));
    Some(if low == high {
        format!("about {high} minutes")
    } else {
        format!("{low} to {high} minutes")
    })
}

#[tokio::test]
async fn shown_position_never_rises() {
    // Two entries may be promoted in this hour: the active one, and the one that misses its turn.
    let settings = json!({
        "capacity": 1, "batch": 2, "interval_seconds": 3_600, "claim_seconds": 10, "session_seconds": 3_600
    });
    let (scene, first) = Scene::with_one_active(settings).await;
    let absent = scene.enter().await;
    scene.proxy.shorten_polls();
    let tab = scene.open_page().await;
    tab.until("the visitor is behind the absent one", |view| {
        view.shows_position(2)
    })
    .await;
    let token = scene.browser_token();

    scene.complete(&first).await;
    tab.until("the absent visitor is promoted", |view| view.shows_position(1))
        .await;
    wait_until_ended(&scene, absent.token()).await;
    let back = scene.enter_again(&absent).await;
    assert_eq!(
        (&back["state"], &back["position"]),
        (&json!("waiting"), &json!(1))
    );
    wait_until_received(&scene, 2).await;
    assert_eq!(scene.entry_status(&token).await["position"], json!(2));
    assert!(tab.read_view().await.shows_position(1));
    assert_eq!(tab.shown_positions().await, [2, 1], "the position never rises");

    tab.reload().await;
    tab.until("the position is shown after a reload", |view| {
        !view.part("position").is_empty()
    })
    .await;
    wait_until_received(&scene, 2).await;
    assert_eq!(
        tab.shown_positions().await,
        [1],
        "a reload shows the stored position"
    );
    scene.assert_no_page_errors();
}

/// Waits until an entry has ended.
async fn wait_until_ended(scene: &Scene, token: &str) {
    let end = Instant::now() + BOUND;
    while scene.entry_status(token).await["status"] != json!(410) {
        assert!(Instant::now() < end, "the entry {token} has not ended");
        sleep(LOOK_PAUSE).await;
    }
}

/// Waits until the page has received a position twice from now on, so that it has handled the first answer.
async fn wait_until_received(scene: &Scene, position: u64) {
    let call_count = scene.proxy.calls().len();
    let is_position = |call: &&Call| call.is_poll() && call.body["position"] == json!(position);
    let twice = |calls: &[Call]| calls[call_count..].iter().filter(is_position).count() >= 2;
    scene
        .proxy
        .until(&format!("the page receives position {position}"), twice)
        .await;
}

#[tokio::test]
async fn position_never_rises_after_an_answer_without_one() {
    let (scene, _) = Scene::with_one_active(full_queue()).await;
    scene.proxy.shorten_polls();
    // While Redis is unavailable, the backup answers, which knows no position.
    let ranges = [json!(5), json!(3), json!(9), Value::Null, json!(4), json!(2)];
    let answers = AtomicUsize::new(0);
    scene.proxy.change_answers(move |call| {
        if call.body["state"] == json!("waiting") {
            let n = answers.fetch_add(1, Ordering::Relaxed);
            call.body["position"] = ranges[n.min(ranges.len() - 1)].clone();
        }
    });
    let tab = scene.open_page().await;
    tab.until("the lowest position is shown", |view| view.shows_position(2))
        .await;
    assert_eq!(tab.shown_positions().await, [5, 3, 3, 2]);
    scene.assert_no_page_errors();
}

#[tokio::test]
async fn reload_and_second_tab_keep_the_place() {
    let (scene, _) = Scene::with_one_active(full_queue()).await;
    scene.enter().await;
    let tab = scene.open_page().await;
    tab.until("the position is shown", |view| view.shows_position(2))
        .await;
    scene.enter().await;

    tab.reload().await;
    tab.until("the same position is shown", |view| view.shows_position(2))
        .await;
    let second = scene.open_page().await;
    second
        .until("the same position is shown", |view| view.shows_position(2))
        .await;

    let calls = scene.proxy.calls();
    let entered: Vec<_> = calls.iter().filter(|call| call.is_enter()).collect();
    assert_eq!(
        entered.len(),
        1,
        "a reload reads the status, and a second tab learns it from the first: {entered:?}"
    );
    assert_eq!(scene.run_command("stats").await["waiting"], json!(3));
    scene.assert_no_page_errors();
}

#[tokio::test]
async fn pause_and_message_are_shown() {
    let (scene, _) = Scene::with_one_active(full_queue()).await;
    scene.proxy.shorten_polls();
    let tab = scene.open_page().await;
    let view = tab
        .until("the position is shown", |view| view.shows_position(1))
        .await;
    assert_eq!(view.part("message"), "");
    let paused_text = "The line stands still for a moment. Your place is kept.";
    assert_ne!(view.part("standstill"), paused_text);

    let message = "Sold out soon. <b>곧 시작합니다</b> & more";
    scene.update_settings(json!({ "message": message })).await;
    tab.until("the message is shown as text", |view| {
        view.part("message") == message
    })
    .await;
    scene.run_command("pause").await;
    let view = tab
        .until("the pause is shown", |view| {
            view.part("standstill") == paused_text
        })
        .await;
    assert!(
        view.shows_position(1) && view.part("message") == message,
        "{view:?}"
    );
    scene.run_command("resume").await;
    tab.until("the pause is over", |view| view.part("standstill") != paused_text)
        .await;
    scene.assert_no_page_errors();
}

#[tokio::test]
async fn visitor_who_leaves_may_join_again_at_the_back() {
    let (scene, _) = Scene::with_one_active(full_queue()).await;
    let tab = scene.open_page().await;
    tab.until("the position is shown", |view| view.shows_position(1))
        .await;
    let next = scene.enter().await;
    assert_eq!(next.entry["position"], json!(2));

    tab.click("leave").await;
    let view = tab
        .until("left", |view| view.part("headline") == "You left the line")
        .await;
    assert_eq!((view.part("position"), view.part("leave")), ("", ""));
    assert_eq!(
        scene.entry_status(&scene.browser_token()).await["state"],
        json!("left")
    );
    assert_eq!(scene.entry_status(next.token()).await["position"], json!(1));

    tab.click("join").await;
    tab.until("a new position is shown", |view| view.shows_position(2))
        .await;
    scene.assert_no_page_errors();
}
