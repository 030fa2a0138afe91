//! The place in line: seen, kept, and given up.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::{
    front::Call,
    scene::Scene,
    tab::{BOUND, LOOK},
};

/// One is let in, and nobody after.
fn standing_still() -> Value {
    json!({ "capacity": 1, "batch": 1, "interval_seconds": 3_600, "claim_seconds": 10, "session_seconds": 3_600 })
}

#[tokio::test]
async fn who_joins_sees_the_place_and_the_wait() {
    // Room for many, one a minute: the pace alone says how long it takes.
    let settings = json!({ "capacity": 100, "batch": 1, "interval_seconds": 60 });
    let (scene, _) = Scene::with_one_let_in(settings).await;
    let before = scene.enter().await;
    assert_eq!(before.entry["position"], json!(1));

    let tab = scene.visit().await;
    let shown = tab
        .until("place and wait", |shown| !shown.part("wait").is_empty())
        .await;
    assert!(shown.waits_at(2), "{shown:?}");
    assert_eq!(shown.title, "2 · You are in line");
    let calls = scene.front.calls();
    let told: Vec<_> = calls
        .iter()
        .map(|call| &call.body["estimated_wait_seconds"])
        .collect();
    let is_told = told
        .iter()
        .any(|range| in_minutes(range).as_deref() == Some(shown.part("wait")));
    assert!(is_told, "{told:?}: {shown:?}");
    scene.end();
}

/// The second in line at one a minute: no seconds any more, and no hours yet.
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
async fn the_position_shown_never_rises() {
    // Two may go in this hour: the one who is let in, and the one who misses the turn.
    let settings = json!({
        "capacity": 1, "batch": 2, "interval_seconds": 3_600, "claim_seconds": 10, "session_seconds": 3_600
    });
    let (scene, first) = Scene::with_one_let_in(settings).await;
    let sleeper = scene.enter().await;
    scene.front.hurry();
    let tab = scene.visit().await;
    tab.until("behind the sleeper", |shown| shown.waits_at(2)).await;
    let token = scene.token();

    scene.complete(&first).await;
    tab.until("the sleeper is called", |shown| shown.waits_at(1))
        .await;
    until_gone(&scene, sleeper.token()).await;
    let back = scene.enter_again(&sleeper).await;
    assert_eq!(
        (&back["state"], &back["position"]),
        (&json!("waiting"), &json!(1))
    );
    until_told(&scene, 2).await;
    assert_eq!(scene.status(&token).await["position"], json!(2));
    assert!(tab.shown().await.waits_at(1));
    assert_eq!(tab.positions().await, [2, 1], "never up");

    tab.reload().await;
    tab.until("the place after a reload", |shown| {
        !shown.part("position").is_empty()
    })
    .await;
    until_told(&scene, 2).await;
    assert_eq!(tab.positions().await, [1], "nor by a reload");
    scene.end();
}

/// Waits until an entry is over.
async fn until_gone(scene: &Scene, token: &str) {
    let end = Instant::now() + BOUND;
    while scene.status(token).await["status"] != json!(410) {
        assert!(Instant::now() < end, "{token} is not over");
        sleep(LOOK).await;
    }
}

/// Waits until the page was told a position from now on, and has come back: so it has taken that in.
async fn until_told(scene: &Scene, position: u64) {
    let seen = scene.front.calls().len();
    let is_so = |call: &&Call| call.is_poll() && call.body["position"] == json!(position);
    let twice = |calls: &[Call]| calls[seen..].iter().filter(is_so).count() >= 2;
    scene.front.until(&format!("told {position}"), twice).await;
}

#[tokio::test]
async fn a_higher_position_is_not_shown_after_an_answer_without_one_either() {
    let (scene, _) = Scene::with_one_let_in(standing_still()).await;
    scene.front.hurry();
    // The table, which answers while Redis is away, knows no position.
    let told = [json!(5), json!(3), json!(9), Value::Null, json!(4), json!(2)];
    let answers = AtomicUsize::new(0);
    scene.front.alter(move |call| {
        if call.body["state"] == json!("waiting") {
            let n = answers.fetch_add(1, Ordering::Relaxed);
            call.body["position"] = told[n.min(told.len() - 1)].clone();
        }
    });
    let tab = scene.visit().await;
    tab.until("the lowest", |shown| shown.waits_at(2)).await;
    assert_eq!(tab.positions().await, [5, 3, 3, 2]);
    scene.end();
}

#[tokio::test]
async fn a_reload_keeps_the_place_and_so_does_a_second_tab() {
    let (scene, _) = Scene::with_one_let_in(standing_still()).await;
    scene.enter().await;
    let tab = scene.visit().await;
    tab.until("the place", |shown| shown.waits_at(2)).await;
    scene.enter().await;

    tab.reload().await;
    tab.until("the same place", |shown| shown.waits_at(2)).await;
    let second = scene.visit().await;
    second.until("the same place", |shown| shown.waits_at(2)).await;

    let calls = scene.front.calls();
    let entered: Vec<_> = calls.iter().filter(|call| call.is_enter()).collect();
    assert_eq!(
        entered.len(),
        2,
        "a reload looks, and a second tab enters: {entered:?}"
    );
    assert_eq!(entered[0].body["token"], entered[1].body["token"]);
    assert_eq!(entered[1].status, 200, "no new place");
    assert_eq!(scene.order("stats").await["waiting"], json!(3));
    scene.end();
}

#[tokio::test]
async fn pause_and_message_are_shown() {
    let (scene, _) = Scene::with_one_let_in(standing_still()).await;
    scene.front.hurry();
    let tab = scene.visit().await;
    let shown = tab.until("the place", |shown| shown.waits_at(1)).await;
    assert_eq!(shown.part("message"), "");
    let still = "The line stands still for a moment. Your place is kept.";
    assert_ne!(shown.part("standstill"), still);

    let message = "Sold out soon. <b>곧 시작합니다</b> & more";
    scene.update(json!({ "message": message })).await;
    tab.until("the message, as it was written", |shown| {
        shown.part("message") == message
    })
    .await;
    scene.order("pause").await;
    let shown = tab
        .until("the pause", |shown| shown.part("standstill") == still)
        .await;
    assert!(shown.waits_at(1) && shown.part("message") == message, "{shown:?}");
    scene.order("resume").await;
    tab.until("no pause", |shown| shown.part("standstill") != still)
        .await;
    scene.end();
}

#[tokio::test]
async fn who_leaves_is_out_of_line_and_may_join_again_at_the_back() {
    let (scene, _) = Scene::with_one_let_in(standing_still()).await;
    let tab = scene.visit().await;
    tab.until("the place", |shown| shown.waits_at(1)).await;
    let next = scene.enter().await;
    assert_eq!(next.entry["position"], json!(2));

    tab.click("leave").await;
    let shown = tab
        .until("left", |shown| shown.part("headline") == "You left the line")
        .await;
    assert_eq!((shown.part("position"), shown.part("leave")), ("", ""));
    assert_eq!(scene.status(&scene.token()).await["state"], json!("left"));
    assert_eq!(scene.status(next.token()).await["position"], json!(1));

    tab.click("join").await;
    tab.until("a new place", |shown| shown.waits_at(2)).await;
    scene.end();
}
