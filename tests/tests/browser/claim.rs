//! The turn: claimed by itself, kept while the tab is hidden, and taken back where it was missed.

use serde_json::{Value, json};

use crate::{front::Call, scene::Scene};

/// As soon as somebody is done, the next one is called.
fn one_after_the_other() -> Value {
    json!({ "capacity": 1, "batch": 10, "interval_seconds": 1, "claim_seconds": 60, "session_seconds": 3_600 })
}

#[tokio::test]
async fn whoever_is_called_is_sent_to_the_target_with_the_pass() {
    let (scene, first) = Scene::with_one_let_in(one_after_the_other()).await;
    let target = format!("{}?product=7", scene.front.shop());
    scene
        .update(json!({ "target_url": format!("{target}#lost") }))
        .await;
    let tab = scene.visit().await;
    tab.until("the place", |shown| shown.waits_at(1)).await;

    scene.complete(&first).await;
    let shown = tab.until("the shop", |shown| shown.title == "Shop").await;
    let pass = shown.address.strip_prefix(&format!("{target}#pass="));
    let valid = scene
        .validate(&scene.token(), pass.expect("the pass in the fragment"))
        .await;
    assert_eq!(
        (&valid["valid"], &valid["state"]),
        (&json!(true), &json!("active"))
    );
    let claims = scene.front.calls().iter().filter(|call| call.is_claim()).count();
    assert_eq!(claims, 1);
    scene.end();
}

#[tokio::test]
async fn without_a_target_whoever_is_let_in_sees_it_and_says_when_it_is_over() {
    let (scene, first) = Scene::with_one_let_in(one_after_the_other()).await;
    let tab = scene.visit().await;
    tab.until("the place", |shown| shown.waits_at(1)).await;

    scene.complete(&first).await;
    let shown = tab
        .until("let in", |shown| shown.part("headline") == "You are in")
        .await;
    assert_eq!(shown.part("position"), "");
    let left = shown.part("countdown");
    assert!(left.starts_with("59:") || left == "60:00", "{left} of an hour");
    assert_eq!(scene.order("stats").await["active"], json!(1));

    tab.click("leave").await;
    tab.until("done", |shown| {
        shown.part("headline") == "Done. Thank you for waiting"
    })
    .await;
    let stats = scene.order("stats").await;
    assert_eq!(
        (&stats["active"], &stats["totals"]["completed"]),
        (&json!(0), &json!(2))
    );
    scene.end();
}

#[tokio::test]
async fn a_hidden_tab_claims_nothing_and_loses_nothing() {
    let (scene, first) = Scene::with_one_let_in(one_after_the_other()).await;
    let tab = scene.visit().await;
    tab.until("the place", |shown| shown.waits_at(1)).await;
    let other = scene.empty_tab().await;
    tab.until("hidden", |shown| !shown.visible).await;

    scene.complete(&first).await;
    tab.until("called", |shown| shown.title == "It is your turn")
        .await;
    // It goes on to look, and takes nothing.
    let seen = scene.front.calls().len();
    let ready = |calls: &[Call]| {
        let polls = calls[seen..]
            .iter()
            .filter(|call| call.is_poll() && call.body["state"] == json!("ready"));
        polls.count() >= 2
    };
    let calls = scene.front.until("two more looks", ready).await;
    assert!(!calls.iter().any(Call::is_claim), "nobody looks");
    assert_eq!(scene.status(&scene.token()).await["state"], json!("ready"));

    tab.to_front().await;
    let shown = tab
        .until("let in", |shown| shown.part("headline") == "You are in")
        .await;
    assert!(shown.visible && !other.shown().await.visible);
    scene.end();
}

#[tokio::test]
async fn whoever_misses_the_turn_takes_the_old_place_back() {
    // Two may go in this hour: the one who is let in, and this one, once.
    let settings = json!({
        "capacity": 1, "batch": 2, "interval_seconds": 3_600, "claim_seconds": 10, "session_seconds": 3_600
    });
    let (scene, first) = Scene::with_one_let_in(settings).await;
    let tab = scene.visit().await;
    tab.until("the place", |shown| shown.waits_at(1)).await;
    scene.enter().await;
    let _other = scene.empty_tab().await;
    tab.until("hidden", |shown| !shown.visible).await;

    scene.complete(&first).await;
    tab.until("missed", |shown| shown.part("headline") == "You missed your turn")
        .await;
    tab.to_front().await;
    let shown = tab.until("what may be done", |shown| shown.visible).await;
    assert_eq!(shown.part("join"), "Take my place back");
    tab.click("join").await;
    tab.until("ahead of the other one", |shown| shown.waits_at(1))
        .await;
    scene.end();
}
