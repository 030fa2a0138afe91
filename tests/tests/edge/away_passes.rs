//! The line is away: whose pass is honoured all the same.

use serde_json::{Value, json};
use uuid::Uuid;
use vestibule_api::pass::PassGrant;
use vestibule_backup::{Backup, Lease, LeaseOutcome};
use vestibule_domain::{id::Salt, score::Visit};
use vestibule_line::{EntryLine, LeaveOutcome, LeaveReason};
use vestibule_tests::edge::{Answer, Ask, EdgeUnderTest, entry, queue, signer};

use crate::{Guest, away::look, enters};

fn validate(guest: &Guest, question: &Value) -> Ask {
    Ask::post(format!("{}/validate", entry(&guest.token))).json(question)
}

fn open_for(grace_seconds: u32) -> Value {
    json!({ "on_outage": "open", "outage_grace_seconds": grace_seconds })
}

/// A pass of this entry that was made so long ago, for a minute.
fn pass_of(edge: &EdgeUnderTest, guest: &Guest, entered: &Answer, epoch: u32, seconds_ago: u64) -> String {
    let queue = queue();
    let grant = PassGrant {
        queue: &queue,
        entry: guest.token.parse().expect("a token"),
        visit: Visit::new(entered.number("visit")).expect("a visit"),
        epoch,
        session_end_ms: u64::MAX,
        pass_seconds: 60,
    };
    let pass = signer().sign(&grant, edge.now_ms() - seconds_ago * 1_000);
    pass.expect("signs").reveal().to_owned()
}

#[tokio::test]
async fn with_the_backup_away_as_well_nobody_hears_that_a_place_is_gone() {
    let edge = EdgeUnderTest::without_backup(open_for(60)).await;
    let (guest, entered) = enters(&edge).await;
    edge.switch.turn_off();
    let answer = edge.send(look(&guest)).await;
    answer.is_problem(503, "line-unavailable").header("retry-after");
    // What this process saw last says that a pass is honoured, and the pass speaks for itself.
    let question = json!({ "pass": entered.text("pass") });
    let answer = edge.send(validate(&guest, &question)).await;
    assert_eq!(answer.is(200).body["degraded"], true);
    let old = json!({ "pass": pass_of(&edge, &guest, &entered, 0, 0) });
    edge.send(validate(&guest, &old))
        .await
        .is_problem(403, "invalid-pass");
}

#[tokio::test]
async fn a_queue_lets_nobody_through_unseen_unless_it_is_told_to() {
    let edge = EdgeUnderTest::open(json!({})).await;
    let (guest, entered) = enters(&edge).await;
    edge.switch.turn_off();
    let question = json!({ "pass": entered.text("pass") });
    let answer = edge.send(validate(&guest, &question)).await;
    answer.is_problem(503, "line-unavailable").header("retry-after");
}

#[tokio::test]
async fn an_open_queue_honours_a_pass_for_a_while_past_its_end() {
    let edge = EdgeUnderTest::open(open_for(120)).await;
    let (guest, entered) = enters(&edge).await;
    let (other, _) = enters(&edge).await;
    let pass = |ago| json!({ "pass": pass_of(&edge, &guest, &entered, 1, ago) });
    edge.switch.turn_off();
    for ago in [100, 59, 0] {
        // While the line is taken to be there, a pass that is over is refused.
        let honoured = |answer: &Answer| answer.status == 200;
        let answer = edge.send_until(|| validate(&guest, &pass(ago)), honoured).await;
        assert_eq!(answer.body["valid"], true);
        assert_eq!(answer.body["degraded"], true);
        assert_eq!(answer.number("visit"), entered.number("visit"));
        let exp = (edge.now_ms() - ago * 1_000) / 1_000 + 60;
        assert_eq!(answer.number("expires_at_ms"), (exp + 120) * 1_000);
    }
    let refused = async |guest: &Guest, question: Value| {
        let answer = edge.send(validate(guest, &question)).await;
        answer.is_problem(403, "invalid-pass").text("detail").to_owned()
    };
    assert_eq!(refused(&guest, pass(181)).await, "it has expired");
    assert_eq!(refused(&other, pass(0)).await, "it belongs to another entry");
    let mut forged = pass_of(&edge, &guest, &entered, 1, 0);
    forged.truncate(forged.len() - 6);
    forged.push_str("AAAAAA");
    assert_eq!(
        refused(&guest, json!({ "pass": forged })).await,
        "its signature is wrong"
    );
    let mut named = pass(0);
    named["visitor"] = json!(other.id);
    edge.send(validate(&guest, &named))
        .await
        .is_problem(403, "token-owner-mismatch");
    named["visitor"] = json!(guest.id);
    edge.send(validate(&guest, &named)).await.is(200);
    for question in [
        json!({ "visitor": guest.id }),
        json!({ "pass": entered.text("pass"), "consume": true }),
    ] {
        edge.send(validate(&guest, &question))
            .await
            .is_problem(503, "line-unavailable");
    }
}

#[tokio::test]
async fn a_pass_of_a_visit_that_is_over_is_not_honoured() {
    let edge = EdgeUnderTest::open(open_for(3_600)).await;
    let (guest, entered) = enters(&edge).await;
    let question = json!({ "pass": entered.text("pass") });
    edge.send(Ask::delete(entry(&guest.token)).visitor(&guest.id))
        .await
        .is(204);
    edge.switch.turn_off();
    edge.send(validate(&guest, &question))
        .await
        .is_problem(410, "completed");
}

#[tokio::test]
async fn a_pass_of_before_a_restore_counts_and_one_of_before_a_reset_does_not() {
    let edge = EdgeUnderTest::open(open_for(60)).await;
    let (guest, entered) = enters(&edge).await;
    let question = json!({ "pass": pass_of(&edge, &guest, &entered, 1, 0) });
    edge.switch.turn_off();
    let lease = Lease::new(Uuid::new_v4());
    let leased = edge.backup.take_lease(&queue(), 1, lease, 0).await;
    assert!(matches!(leased, Ok(LeaseOutcome::Taken(_))), "{leased:?}");
    edge.send(validate(&guest, &question)).await.is(200);
    let begun = edge
        .backup
        .begin_generation(&queue(), 2, Salt::new([1; 32]))
        .await;
    assert_eq!(begun.expect("begun").expect("of epoch 2").min_epoch, 3);
    let refused = edge
        .send_until(|| validate(&guest, &question), |answer| answer.status == 403)
        .await;
    assert_eq!(
        refused.is_problem(403, "invalid-pass").text("detail"),
        "it is of an epoch that is over"
    );
}

#[tokio::test]
async fn what_an_operator_stores_meanwhile_acts_and_what_is_wrong_does_not() {
    let edge = EdgeUnderTest::open(json!({})).await;
    let (guest, entered) = enters(&edge).await;
    let question = json!({ "pass": entered.text("pass") });
    edge.switch.turn_off();
    edge.send(validate(&guest, &question)).await.is(503);
    edge.store(open_for(60)).await;
    edge.send_until(|| validate(&guest, &question), |answer| answer.status == 200)
        .await;
    let mut wrong = open_for(60);
    wrong["capacity"] = json!("many");
    edge.store(wrong).await;
    // In force was what the line showed last: closed.
    edge.send_until(|| validate(&guest, &question), |answer| answer.status == 503)
        .await;
    edge.send(look(&guest)).await.is(200);
}

#[tokio::test]
async fn an_evicted_visitor_stays_out() {
    let edge = EdgeUnderTest::open(open_for(60)).await;
    let (guest, entered) = enters(&edge).await;
    let id = guest.token.parse().expect("a token");
    let left = edge.line.leave(&queue(), id, None, LeaveReason::Evict).await;
    let LeaveOutcome::Ended(change) = left.expect("the line answers") else {
        panic!("it was there")
    };
    edge.backup
        .put_change(&edge.shelf(), &change)
        .await
        .expect("written");
    edge.switch.turn_off();
    edge.send(look(&guest)).await.is_problem(503, "line-unavailable");
    let question = json!({ "pass": entered.text("pass") });
    edge.send(validate(&guest, &question))
        .await
        .is_problem(410, "left");
}
