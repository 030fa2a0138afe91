//! Whoever asks about an entry that Redis forgot finds it where it was.

use serde_json::json;
use tokio::join;
use vestibule_domain::state::EntryState;
use vestibule_line::{
    EntryLine, EntryLookup, LeaveOutcome, LeaveReason, NotFound, QueueLine, RecoveryLine, ReplacedEntry,
    RestoreEntryOrder, RestoreEntryOutcome,
};
use vestibule_tests::{
    edge::{Ask, send_to},
    lines::Backend,
};

use crate::scene::{Scene, usual};

pub(crate) async fn a_forgotten_place_is_where_it_was(on: Backend) {
    let scene = Scene::open(on, usual()).await;
    let guests = scene.guests(6).await;
    scene.forget(&[guests[4].clone(), guests[2].clone()]).await;
    // Whoever comes next meanwhile stands in front of nobody who came before.
    let newcomer = scene.guests(1).await;
    // The last one first, so that the order of asking decides nothing.
    scene.status(&guests[4]).await.is(200);
    assert_eq!(scene.positions(&guests[1..]).await, [1, 2, 3, 4, 5]);
    assert_eq!(scene.positions(&newcomer).await, [6]);
    let record = scene.record(&guests[2]).await;
    assert_eq!(record.state, EntryState::Waiting);
    // The visit is the old one, and may be ended as such.
    let leave = Ask::delete(format!(
        "{}?visit={}",
        scene.path(&guests[2]),
        record.visit.number()
    ));
    scene.send(leave.visitor(&guests[2].id)).await.is(204);
    assert_eq!(scene.record(&guests[2]).await.state, EntryState::Left);
    scene.status(&guests[2]).await.is_problem(410, "left");
}

pub(crate) async fn a_forgotten_one_may_leave_and_nobody_brings_them_back(on: Backend) {
    let scene = Scene::open(on, usual()).await;
    let guests = scene.guests(3).await;
    scene.forget(&guests).await;
    scene
        .send(Ask::delete(scene.path(&guests[1])).visitor(&guests[1].id))
        .await
        .is(204);
    assert_eq!(scene.record(&guests[1]).await.state, EntryState::Left);
    // The first is active: the protected service is done.
    scene
        .send(scene.service(&guests[0], "complete", &json!({})))
        .await
        .is(204);
    assert_eq!(scene.record(&guests[0]).await.state, EntryState::Completed);
    // And the line forgets that, too.
    scene.forget(&guests).await;
    for guest in &guests[..2] {
        assert_eq!(scene.status(guest).await.status, 410);
        let look = scene.line.status(&scene.queue, guest.entry()).await;
        assert_eq!(look.expect("status"), EntryLookup::NotFound(NotFound::Unknown));
    }
    assert_eq!(scene.positions(&guests[2..]).await, [1]);
}

pub(crate) async fn a_forgotten_turn_can_be_claimed(on: Backend) {
    let scene = Scene::open(on, json!({ "capacity": 1, "batch": 2 })).await;
    let guests = scene.guests(3).await;
    scene
        .send(scene.service(&guests[0], "complete", &json!({})))
        .await
        .is(204);
    scene.promote().await;
    scene.drain().await;
    let called = scene.status(&guests[1]).await.number("promoted_at_ms");
    scene.forget(&guests).await;
    let claimed = scene
        .send(Ask::post(format!("{}/claim", scene.path(&guests[1]))).visitor(&guests[1].id))
        .await;
    claimed.is(200);
    assert_eq!(claimed.text("state"), "active");
    assert_eq!(claimed.body["durable"], true);
    assert_eq!(claimed.number("promoted_at_ms"), called, "they were called once");
    assert!(claimed.body["pass"].is_string());
    assert_eq!(
        scene.positions(&guests[2..]).await,
        [1],
        "and nobody else is let in"
    );
    scene.promote().await;
    assert_eq!(scene.positions(&guests[2..]).await, [1]);
}

pub(crate) async fn whoever_was_let_in_and_forgotten_may_act_until_the_same_end(on: Backend) {
    let scene = Scene::open(on, usual()).await;
    let guests = scene.guests(2).await;
    let before = scene.status(&guests[0]).await;
    let asked = json!({ "visitor": guests[0].id });
    scene.forget(&guests).await;
    let valid = scene.send(scene.service(&guests[0], "validate", &asked)).await;
    valid.is(200);
    assert_eq!(valid.number("expires_at_ms"), before.number("expires_at_ms"));
    scene.forget(&guests).await;
    let longer = json!({ "seconds": 400 });
    let extend = scene
        .service(&guests[0], "extend", &longer)
        .visitor(&guests[0].id);
    let extended = scene.send(extend).await;
    assert!(extended.is(200).number("expires_at_ms") > before.number("expires_at_ms"));
    let waits = scene
        .send(scene.service(&guests[1], "validate", &json!({ "visitor": guests[1].id })))
        .await;
    waits.is_problem(409, "not-your-turn");
}

pub(crate) async fn a_held_poll_ends_with_the_place_it_began_with(on: Backend) {
    let scene = Scene::open(on, json!({ "interval_seconds": 1 })).await;
    let guests = scene.guests(3).await;
    let held = scene.send(Ask::get(format!("{}?wait=3", scene.path(&guests[2]))).visitor(&guests[2].id));
    let forgets = async {
        // Once the poll has looked, or before: it ends the same.
        tokio::task::yield_now().await;
        scene.forget(&guests[1..]).await;
    };
    let (answer, ()) = join!(held, forgets);
    answer.is(200);
    assert_eq!(answer.text("state"), "waiting");
    assert_eq!(scene.positions(&guests[1..]).await, [1, 2]);
}

pub(crate) async fn one_that_ended_is_gone_though_the_backup_does_not_know_yet(on: Backend) {
    let scene = Scene::open(on, usual()).await;
    let guests = scene.guests(3).await;
    let left = scene
        .line
        .leave(&scene.queue, guests[1].entry(), None, LeaveReason::Leave)
        .await;
    assert!(
        matches!(left, Ok(LeaveOutcome::Ended(_))),
        "and the process dies: {left:?}"
    );
    assert_eq!(scene.record(&guests[1]).await.state, EntryState::Waiting);
    scene.status(&guests[1]).await.is_problem(410, "left");
    assert_eq!(scene.record(&guests[1]).await.state, EntryState::Left);
    assert_eq!(scene.positions(&guests[2..]).await, [1]);
}

pub(crate) async fn many_ask_at_once_for_a_forgotten_one(on: Backend) {
    let scene = Scene::open(on, usual()).await;
    let guests = scene.guests(4).await;
    scene.forget(&guests).await;
    let asks = (0..12).map(|n| {
        let guest = &guests[1 + n % 3];
        let ask = Ask::get(scene.path(guest)).visitor(&guest.id);
        send_to(&scene.routers[n % 2], ask)
    });
    for answer in futures_util::future::join_all(asks).await {
        answer.is(200);
    }
    assert_eq!(scene.positions(&guests[1..]).await, [1, 2, 3]);
    let view = scene.line.queue_view(&scene.queue).await.expect("view");
    assert_eq!((view.waiting, view.ready, view.active), (3, 0, 0));
}

pub(crate) async fn a_process_killed_while_it_puts_one_back_leaves_nothing_behind(on: Backend) {
    let scene = Scene::open(on, usual()).await;
    let guests = scene.guests(4).await;
    scene.forget(&guests).await;
    for (killed_after, guest) in (1..).zip(&guests[1..3]) {
        let mut instead = ReplacedEntry::Nothing;
        for _ in 0..killed_after {
            let revival = RestoreEntryOrder {
                record: scene.record(guest).await,
                generation: 1,
                replaced: instead,
            };
            if let RestoreEntryOutcome::TicketIssued(mark) = scene
                .line
                .restore_entry(&scene.queue, &revival)
                .await
                .expect("revive")
            {
                instead = ReplacedEntry::Ticket(mark);
            }
        }
    }
    assert_eq!(
        scene.positions(&guests[3..]).await,
        [2],
        "one of the two stands in front"
    );
    assert_eq!(scene.positions(&guests[1..]).await, [1, 2, 3]);
}

pub(crate) async fn a_visit_of_before_that_the_redis_remembers_ends_nobodys_place(on: Backend) {
    let scene = Scene::open(on, json!({ "capacity": 1, "batch": 1, "interval_seconds": 1 })).await;
    let guests = scene.guests(1).await;
    let old = scene.snapshot().await;
    // The visit ends, and the visitor comes again, and waits behind somebody.
    scene
        .send(scene.service(&guests[0], "complete", &json!({})))
        .await
        .is(204);
    scene.guests(1).await;
    let (again, entered) = scene.enters_as(&guests[0].id).await;
    assert_eq!(entered.is(201).text("state"), "waiting");
    // The Redis remembers the visit of before alone, and that one times out by and by.
    scene.go_back_to(&old).await;
    let key = format!("vestibule:{{{}}}:active", scene.queue);
    let past: Result<(), _> = ::redis::cmd("ZADD")
        .arg(key)
        .arg(1)
        .arg(again.member())
        .query_async(&mut scene.link.clone())
        .await;
    past.expect("Redis answers");
    scene.promote().await;
    scene.drain().await;
    let answer = scene.settled(&again).await;
    assert_eq!(answer.is(200).number("visit"), entered.number("visit"));
    assert_eq!(answer.number("joined_at_ms"), entered.number("joined_at_ms"));
    assert_eq!(
        scene.record(&again).await.visit.number(),
        u16::try_from(entered.number("visit")).expect("a visit")
    );
}
