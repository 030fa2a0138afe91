//! The server away for a while.

use serde_json::json;

use crate::scene::Scene;

#[tokio::test]
async fn while_the_server_is_away_the_page_waits_and_then_goes_on_by_itself() {
    let settings = json!({
        "capacity": 1, "batch": 10, "interval_seconds": 1, "claim_seconds": 10, "session_seconds": 3_600
    });
    let (mut scene, first) = Scene::with_one_let_in(settings).await;
    let second = scene.enter().await;
    let tab = scene.visit_runner().await;
    tab.until("the place", |shown| shown.waits_at(2)).await;

    let killed = scene.kill().await;
    let trouble = "No answer at the moment. Trying again; your place is kept.";
    let shown = tab
        .until("the trouble", |shown| shown.part("trouble") == trouble)
        .await;
    assert!(shown.waits_at(2), "{shown:?}");

    scene.start_again(&killed);
    tab.until("no trouble", |shown| {
        shown.waits_at(2) && shown.part("trouble").is_empty()
    })
    .await;
    assert_eq!(scene.order("stats").await["waiting"], json!(2));
    scene.leave(&second).await;
    tab.until("the head of the line", |shown| shown.waits_at(1)).await;
    scene.complete(&first).await;
    tab.until("let in", |shown| shown.part("headline") == "You are in")
        .await;
    assert_eq!(tab.positions().await, [2, 1]);
    scene.end();
}
