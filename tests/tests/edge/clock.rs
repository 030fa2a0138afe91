//! The clock of the line's server is set: what visitors and the protected service see of it.

use serde_json::json;
use tokio::time::timeout;
use vestibule_domain::pace::LimitedBy;
use vestibule_line::{AdjustClockOutcome, PromotionLine, QueueLine};
use vestibule_tests::edge::{Answer, Ask, BOUND, EdgeUnderTest, QUEUE, entry, queue};

use crate::{Guest, enters, full};

const HOUR_MS: i64 = 3_600_000;

/// Looks until the public view says so: it is a second old at most.
async fn view_says(edge: &EdgeUnderTest, limited_by: serde_json::Value) {
    let look = || Ask::get(format!("/queues/{QUEUE}"));
    let says = |view: &Answer| view.is(200).body["limited_by"] == limited_by;
    edge.send_until(look, says).await;
}

#[tokio::test]
async fn a_queue_that_holds_says_so_and_keeps_everybody() {
    for off_ms in [HOUR_MS, -HOUR_MS] {
        let edge = EdgeUnderTest::open(json!({ "capacity": 3, "batch": 1, "interval_seconds": 1 })).await;
        let (active, entered) = enters(&edge).await;
        assert_eq!(entered.text("state"), "active");
        let (waiting, _) = enters(&edge).await;
        edge.promote().await;
        view_says(&edge, json!(null)).await;
        edge.pass_seconds(1);

        edge.clock.set_server_error_ms(off_ms);
        assert_eq!(edge.promote().await.limited_by, LimitedBy::Clock);
        view_says(&edge, json!("clock")).await;
        let look = edge
            .send(Ask::get(entry(&active.token)).visitor(&active.id))
            .await;
        assert_eq!(look.is(200).text("state"), "active");
        assert_eq!(look.number("expires_at_ms"), entered.number("expires_at_ms"));
        for question in [
            json!({ "visitor": active.id }),
            json!({ "pass": look.text("pass") }),
        ] {
            let asked = Ask::post(format!("{}/validate", entry(&active.token))).json(&question);
            assert_eq!(edge.send(asked).await.is(200).body["valid"], true, "{question}");
        }
        // Nothing moves, so nobody is held, and whoever comes is behind those who were there.
        let poll = Ask::get(format!("{}?wait=20", entry(&waiting.token))).visitor(&waiting.id);
        let answer = timeout(BOUND, edge.send(poll)).await.expect("not held");
        assert_eq!((answer.text("state"), answer.number("position")), ("waiting", 1));
        let (_, late) = enters(&edge).await;
        assert_eq!((late.text("state"), late.number("position")), ("waiting", 2));
        assert!(late.number("joined_at_ms").abs_diff(edge.now_ms()) <= 10_000);

        let clocks = edge.line.queue_view(&queue()).await.expect("seen").clocks;
        let adjusted = edge.line.adjust_clock(&queue(), clocks.wanted_offset_ms()).await;
        assert_eq!(adjusted.expect("adjust"), AdjustClockOutcome::Applied);
        view_says(&edge, json!(null)).await;
        assert_eq!(edge.promote().await.promoted, 1);
        let look = edge
            .send(Ask::get(entry(&waiting.token)).visitor(&waiting.id))
            .await;
        assert_eq!(look.text("state"), "ready");
    }
}

#[tokio::test]
async fn the_time_to_claim_stands_still_while_the_queue_is_paused() {
    let settings = json!({ "capacity": 1, "batch": 1, "session_seconds": 20, "interval_seconds": 10 });
    let with = |paused: bool| {
        let mut settings = settings.clone();
        settings["paused"] = paused.into();
        settings
    };
    let edge = full(settings.clone()).await;
    let (guest, _) = enters(&edge).await;
    edge.pass_seconds(20);
    edge.promote().await;
    edge.pass_seconds(50);
    edge.configure(with(true), "paused").await;
    let look = async |guest: &Guest| edge.send(Ask::get(entry(&guest.token)).visitor(&guest.id)).await;
    let paused = look(&guest).await;
    assert_eq!(paused.is(200).text("state"), "ready");
    assert_eq!(paused.number("claim_by_ms"), edge.now_ms() + 10_000);
    // Far longer than there is time to claim.
    edge.pass_seconds(3_600);
    let promotion = edge.promote().await;
    assert_eq!((promotion.no_shows, promotion.promoted), (0, 0));
    let still = look(&guest).await;
    assert_eq!(still.is(200).text("state"), "ready");
    assert_eq!(still.number("claim_by_ms"), edge.now_ms() + 10_000);
    edge.configure(with(false), "resumed").await;
    edge.pass_seconds(9);
    assert_eq!(edge.promote().await.no_shows, 0);
    let claim = Ask::post(format!("{}/claim", entry(&guest.token))).visitor(&guest.id);
    assert_eq!(edge.send(claim).await.is(200).text("state"), "active");

    // And runs out when it is over.
    let (late, _) = enters(&edge).await;
    edge.pass_seconds(20);
    edge.promote().await;
    edge.configure(with(true), "paused again").await;
    edge.pass_seconds(3_600);
    edge.configure(with(false), "resumed again").await;
    edge.pass_seconds(61);
    assert_eq!(edge.promote().await.no_shows, 1);
    assert!(look(&late).await.is_problem(410, "expired").body["grace_until_ms"].is_u64());
}
