//! A process killed between the line and the backup: nobody was told anything, and the next call writes what is missing.

use serde_json::json;
use uuid::Uuid;
use vestibule::{
    backup::Backup,
    domain::{
        id::{EntryId, IdKey, Salt, Visitor},
        record::Record,
        state::State,
    },
    line::{Check, Claimed, Departed, Departure, Line, Validated},
};
use vestibule_tests::{
    edge::{Ask, EdgeUnderTest, entry, queue},
    functions::root_key,
};

use crate::{Guest, enters, full};

async fn record(edge: &EdgeUnderTest, id: EntryId) -> Option<Record> {
    let record = edge.backup.entry(&edge.shelf(), id).await;
    record.expect("the backup answers")
}

fn token(guest: &Guest) -> EntryId {
    guest.token.parse().expect("a token")
}

#[tokio::test]
async fn a_visitor_who_left_stays_gone() {
    let edge = full(json!({})).await;
    for tries_again in [true, false] {
        let (guest, _) = enters(&edge).await;
        let left = edge
            .line
            .leave(&queue(), token(&guest), None, Departure::Leave)
            .await;
        assert!(
            matches!(left, Ok(Departed::Gone(_))),
            "and the process dies: {left:?}"
        );
        assert_eq!(
            record(&edge, token(&guest)).await.expect("written").state,
            State::Waiting
        );

        if tries_again {
            edge.send(Ask::delete(entry(&guest.token)).visitor(&guest.id))
                .await
                .is(204);
        } else {
            let gone = edge.send(Ask::get(entry(&guest.token))).await;
            gone.is(410);
            assert_eq!(gone.body["state"], "left", "and not expired");
        }
        assert_eq!(
            record(&edge, token(&guest)).await.expect("written").state,
            State::Left
        );
        assert_eq!(
            edge.line.end(&queue(), token(&guest)).await.expect("answered"),
            None,
            "settled"
        );
    }
}

#[tokio::test]
async fn a_visitor_who_was_let_in_is_written_when_they_look() {
    let edge = full(json!({ "interval_seconds": 1 })).await;
    let (guest, _) = enters(&edge).await;
    edge.configure(json!({ "interval_seconds": 1, "capacity": 100 }), "2")
        .await;
    edge.pass_seconds(1);
    assert_eq!(edge.promote().await.promoted, 1);
    let claimed = edge.line.claim(&queue(), token(&guest)).await;
    assert!(
        matches!(claimed, Ok(Claimed::Active { .. })),
        "and the process dies: {claimed:?}"
    );
    assert_ne!(
        record(&edge, token(&guest)).await.expect("written").state,
        State::Active
    );

    let look = edge.send(Ask::get(entry(&guest.token))).await;
    assert_eq!(look.is(200).text("state"), "active");
    let record = record(&edge, token(&guest)).await.expect("written");
    assert_eq!(record.state, State::Active);
    assert_eq!(record.expires_at_ms, Some(look.number("expires_at_ms")));
}

#[tokio::test]
async fn a_visitor_who_was_consumed_stays_so() {
    let edge = EdgeUnderTest::open(json!({})).await;
    let (guest, _) = enters(&edge).await;
    let check = Check {
        visit: None,
        claims: false,
        consumes: true,
        let_in_until_ms: None,
    };
    let consumed = edge.line.validate(&queue(), token(&guest), check).await;
    assert!(
        matches!(consumed, Ok(Validated::Active { .. })),
        "and the process dies: {consumed:?}"
    );
    edge.send(Ask::post(format!("{}/complete", entry(&guest.token))))
        .await
        .is(204);
    assert_eq!(
        record(&edge, token(&guest)).await.expect("written").state,
        State::Completed
    );
}

#[tokio::test]
async fn whoever_was_let_in_at_once_is_written_when_they_ask_again() {
    let edge = EdgeUnderTest::open(json!({})).await;
    let visitor = Uuid::new_v4();
    let id =
        IdKey::derive(&root_key(), &queue(), &Salt::new([1; 32])).entry_id(&Visitor::from_random(visitor));
    edge.line.enter(&queue(), id).await.expect("and the process dies");
    assert_eq!(record(&edge, id).await, None);

    let again = edge.send(Ask::enter().visitor(&visitor.to_string())).await;
    again.is(200);
    assert_eq!(again.text("token"), id.to_string());
    assert_eq!(again.body["durable"], true, "a pass is given for what is written");
    let record = record(&edge, id).await.expect("written");
    assert_eq!(
        (record.state, record.expires_at_ms),
        (State::Active, Some(again.number("expires_at_ms")))
    );
}
