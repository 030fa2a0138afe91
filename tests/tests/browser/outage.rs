//! The page during an outage of the server.

use serde_json::json;

use crate::scene::Scene;

#[tokio::test]
async fn page_waits_in_an_outage_and_then_continues() {
    let settings = json!({
        "capacity": 1, "batch": 10, "interval_seconds": 1, "claim_seconds": 10, "session_seconds": 3_600
    });
    let (mut scene, first) = Scene::with_one_active(settings).await;
    let second = scene.enter().await;
    let tab = scene.open_page_directly().await;
    tab.until("the position is shown", |view| view.shows_position(2))
        .await;

    let killed = scene.kill_runner().await;
    let error_text = "No answer at the moment. Trying again; your place is kept.";
    let view = tab
        .until("the error is shown", |view| view.part("trouble") == error_text)
        .await;
    assert!(view.shows_position(2), "{view:?}");

    scene.restart_runner(&killed);
    tab.until("the error is gone", |view| {
        view.shows_position(2) && view.part("trouble").is_empty()
    })
    .await;
    assert_eq!(scene.run_command("stats").await["waiting"], json!(2));
    scene.leave(&second).await;
    tab.until("the first position is shown", |view| view.shows_position(1))
        .await;
    scene.complete(&first).await;
    tab.until("the visitor is admitted", |view| {
        view.part("headline") == "You are in"
    })
    .await;
    assert_eq!(tab.shown_positions().await, [2, 1]);
    scene.assert_no_page_errors();
}
