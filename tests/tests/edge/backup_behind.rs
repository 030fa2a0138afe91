//! DynamoDB is away: places are given by way of the journal, up to its limit, and nothing of it is lost.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use vestibule_backup::Backup;
use vestibule_domain::state::EntryState;
use vestibule_engine::flush::flush_journal;
use vestibule_line::{JournalLimits, QueueLine};
use vestibule_tests::edge::{Ask, EdgeUnderTest, entry, queue};

use crate::{Guest, enters, stranger};

/// Two get in at once, everybody else waits.
async fn edge(newcomers: u64, all: u64) -> EdgeUnderTest {
    let limits = JournalLimits {
        new_entries: newcomers,
        all_changes: all,
        ..JournalLimits::default()
    };
    let settings = json!({ "capacity": 2, "batch": 2, "interval_seconds": 1 });
    EdgeUnderTest::without_backup_within(settings, limits).await
}

async fn journal(edge: &EdgeUnderTest) -> u64 {
    edge.line
        .queue_view(&queue())
        .await
        .expect("the queue")
        .journal_len
}

fn enter_again(guest: &Guest) -> Ask {
    Ask::enter().visitor(&guest.id)
}

/// The backup is back: the promoter takes the journal there.
async fn drained(edge: &EdgeUnderTest) {
    let until = Instant::now() + Duration::from_mins(1);
    let drained = flush_journal(&edge.line, &*edge.backup, &edge.shelf(), 1_000, until).await;
    drained.expect("drained");
    assert_eq!(journal(edge).await, 0);
}

async fn state(edge: &EdgeUnderTest, guest: &Guest) -> Option<EntryState> {
    let id = guest.token.parse().expect("a token");
    let record = edge.backup.read_entry(&edge.shelf(), id).await;
    record.expect("an answer").map(|record| record.state)
}

#[tokio::test]
async fn at_the_limit_of_the_journal_newcomers_come_later_and_the_others_are_served() {
    let edge = edge(3, 100).await;
    let mut guests = Vec::new();
    for _ in 0..3 {
        let (guest, answer) = enters(&edge).await;
        assert_eq!(answer.body["durable"], false, "it says so");
        guests.push(guest);
    }
    let newcomer = stranger();
    let refused = edge.send(Ask::enter().visitor(&newcomer)).await;
    let wait = refused
        .is_problem(503, "backup-behind")
        .header("retry-after")
        .to_owned();
    assert!(wait.parse::<u64>().expect("whole seconds") >= 5, "{wait}");

    // Who is in line is still there, and who is inside can go.
    let again = edge.send(enter_again(&guests[2])).await;
    assert_eq!(again.is(200).text("token"), guests[2].token);
    assert_eq!((again.text("state"), again.number("position")), ("waiting", 1));
    edge.send(Ask::get(entry(&guests[2].token))).await.is(200);
    edge.send(Ask::delete(entry(&guests[0].token)).visitor(&guests[0].id))
        .await
        .is(204);
    let pass = edge
        .send(Ask::get(entry(&guests[1].token)).visitor(&guests[1].id))
        .await;
    assert!(pass.is(200).body["pass"].is_string());
    edge.pass_seconds(1);
    assert_eq!(edge.promote().await.promoted, 0, "nobody's turn could be written");

    drained(&edge).await;
    for (guest, state_now) in
        guests
            .iter()
            .zip([EntryState::Completed, EntryState::Active, EntryState::Waiting])
    {
        assert_eq!(state(&edge, guest).await, Some(state_now));
    }
    assert_eq!(edge.promote().await.promoted, 1);
    edge.send(Ask::enter().visitor(&newcomer)).await.is(201);
}

#[tokio::test]
async fn past_the_reserve_nothing_is_promised_that_could_be_lost() {
    let edge = edge(4, 4).await;
    let (inside, _) = enters(&edge).await;
    let (other, _) = enters(&edge).await;
    let (waiting, _) = enters(&edge).await;
    edge.send(Ask::delete(entry(&other.token)).visitor(&other.id))
        .await
        .is(204);
    assert_eq!(journal(&edge).await, 4);

    // They keep what they have.
    let again = edge.send(enter_again(&waiting)).await;
    assert_eq!(again.is(200).body["durable"], Value::Bool(false));
    let leave = || Ask::delete(entry(&inside.token)).visitor(&inside.id);
    edge.send(leave())
        .await
        .is_problem(503, "backup-behind")
        .header("retry-after");
    // It is over all the same: to leave again is nothing new. Whoever asks hears so when the backup can say that nothing came
    // after it.
    edge.send(Ask::get(entry(&inside.token)))
        .await
        .is_problem(503, "backup-unavailable");
    edge.send(leave()).await.is(204);

    drained(&edge).await;
    assert_eq!(state(&edge, &inside).await, Some(EntryState::Active), "not yet");
    // The line remembers the end, so the next look has it written.
    edge.send(Ask::get(entry(&inside.token))).await.is(503);
    drained(&edge).await;
    assert_eq!(state(&edge, &inside).await, Some(EntryState::Completed));
}
