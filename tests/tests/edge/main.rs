//! What visitors and the protected service can do at the edge, and what they cannot.

mod away;
mod away_passes;
mod backup_behind;
mod bad_input;
mod budget;
mod clock;
mod drive;
mod events;
mod grace;
mod hold;
mod http_api;
mod identity;
mod killed;
mod load;
mod pacing;
mod protected;
mod samples;
mod visit;

use serde_json::Value;
use uuid::Uuid;
use vestibule_tests::edge::{Answer, Ask, EdgeUnderTest};

/// Somebody new.
fn stranger() -> String {
    Uuid::new_v4().to_string()
}

/// An anonymous visitor who has entered.
struct Guest {
    id: String,
    token: String,
}

/// Enters and says how it went.
async fn enters(edge: &EdgeUnderTest) -> (Guest, Answer) {
    let id = stranger();
    let answer = edge.send(Ask::enter().visitor(&id)).await;
    answer.is(201);
    let token = answer.text("token").to_owned();
    (Guest { id, token }, answer)
}

/// Settings with which nobody gets in before a promotion: the one place is taken, and the bucket with it.
async fn full(mut settings: Value) -> EdgeUnderTest {
    settings["capacity"] = 1.into();
    settings["batch"] = 1.into();
    let edge = EdgeUnderTest::open(settings).await;
    let (_, first) = enters(&edge).await;
    assert_eq!(first.text("state"), "active");
    edge
}
