//! The turn of the visitor: claimed automatically, kept while the tab is hidden, and taken back after it was missed.

use serde_json::{Value, json};

use crate::{proxy::Call, scene::Scene};

/// Settings with which the next visitor is promoted as soon as the active one completes.
fn one_active_at_a_time() -> Value {
    json!({ "capacity": 1, "batch": 10, "interval_seconds": 1, "claim_seconds": 60, "session_seconds": 3_600 })
}

#[tokio::test]
async fn admitted_visitor_is_sent_to_the_target_with_a_pass() {
    let (scene, first) = Scene::with_one_active(one_active_at_a_time()).await;
    let target = format!("{}?product=7", scene.proxy.shop_url());
    scene
        .update_settings(json!({ "target_url": format!("{target}#lost") }))
        .await;
    let tab = scene.open_page().await;
    tab.until("the position is shown", |view| view.shows_position(1))
        .await;

    scene.complete(&first).await;
    let view = tab.until("the shop is shown", |view| view.title == "Shop").await;
    let pass = view.address.strip_prefix(&format!("{target}#pass="));
    let valid = scene
        .validate(&scene.browser_token(), pass.expect("the pass in the fragment"))
        .await;
    assert_eq!(
        (&valid["valid"], &valid["state"]),
        (&json!(true), &json!("active"))
    );
    let claims = scene.proxy.calls().iter().filter(|call| call.is_claim()).count();
    assert_eq!(claims, 1);
    scene.assert_no_page_errors();
}

#[tokio::test]
async fn without_a_target_the_page_shows_the_session() {
    let (scene, first) = Scene::with_one_active(one_active_at_a_time()).await;
    let tab = scene.open_page().await;
    tab.until("the position is shown", |view| view.shows_position(1))
        .await;

    scene.complete(&first).await;
    let view = tab
        .until("the visitor is admitted", |view| {
            view.part("headline") == "You are in"
        })
        .await;
    assert_eq!(view.part("position"), "");
    let left = view.part("countdown");
    assert!(
        left.starts_with("59:") || left == "60:00",
        "the countdown of an hour shows {left}"
    );
    assert_eq!(scene.run_command("stats").await["active"], json!(1));

    tab.click("leave").await;
    tab.until("the session is over", |view| {
        view.part("headline") == "Done. Thank you for waiting"
    })
    .await;
    let stats = scene.run_command("stats").await;
    assert_eq!(
        (&stats["active"], &stats["totals"]["completed"]),
        (&json!(0), &json!(2))
    );
    scene.assert_no_page_errors();
}

#[tokio::test]
async fn hidden_tab_keeps_its_turn_without_claiming() {
    let (scene, first) = Scene::with_one_active(one_active_at_a_time()).await;
    let tab = scene.open_page().await;
    tab.until("the position is shown", |view| view.shows_position(1))
        .await;
    let empty_tab = scene.open_empty_tab().await;
    tab.until("the tab is hidden", |view| !view.visible).await;

    scene.complete(&first).await;
    tab.until("the turn is shown", |view| view.title == "It is your turn")
        .await;
    // The page continues to poll and does not claim.
    let call_count = scene.proxy.calls().len();
    let ready = |calls: &[Call]| {
        let polls = calls[call_count..]
            .iter()
            .filter(|call| call.is_poll() && call.body["state"] == json!("ready"));
        polls.count() >= 2
    };
    let calls = scene.proxy.until("two more polls", ready).await;
    assert!(!calls.iter().any(Call::is_claim), "a hidden tab must not claim");
    assert_eq!(
        scene.entry_status(&scene.browser_token()).await["state"],
        json!("ready")
    );

    tab.bring_to_front().await;
    let view = tab
        .until("the visitor is admitted", |view| {
            view.part("headline") == "You are in"
        })
        .await;
    assert!(view.visible && !empty_tab.read_view().await.visible);
    scene.assert_no_page_errors();
}

#[tokio::test]
async fn visitor_who_misses_the_turn_gets_the_old_place_back() {
    // Two entries may be promoted in this hour: the active one, and this one once.
    let settings = json!({
        "capacity": 1, "batch": 2, "interval_seconds": 3_600, "claim_seconds": 10, "session_seconds": 3_600
    });
    let (scene, first) = Scene::with_one_active(settings).await;
    let tab = scene.open_page().await;
    tab.until("the position is shown", |view| view.shows_position(1))
        .await;
    scene.enter().await;
    let _other = scene.open_empty_tab().await;
    tab.until("the tab is hidden", |view| !view.visible).await;

    scene.complete(&first).await;
    tab.until("the missed turn is shown", |view| {
        view.part("headline") == "You missed your turn"
    })
    .await;
    tab.bring_to_front().await;
    let view = tab.until("the tab is visible", |view| view.visible).await;
    assert_eq!(view.part("join"), "Take my place back");
    tab.click("join").await;
    tab.until("the visitor is ahead of the next one", |view| {
        view.shows_position(1)
    })
    .await;
    scene.assert_no_page_errors();
}
