//! What an operator orders: the line as the backup has it, or a new beginning; and what passes of before are good for.

use serde_json::{Value, json};
use vestibule_api::pass::PassGrant;
use vestibule_backup::Backup;
use vestibule_domain::id::Salt;
use vestibule_line::{LeaveReason, Line};
use vestibule_tests::{
    edge::{Ask, BOUND, signer},
    lines::Backend,
    waiting::wait_until,
};

use crate::scene::Scene;

async fn confirmed(scene: &Scene, op: &str) -> Value {
    let queue = scene.queue.as_str();
    let epoch = scene.stored().await.metadata.epoch;
    scene
        .order(json!({ "op": op, "queue": queue, "confirm": queue, "epoch": epoch }))
        .await
}

pub(crate) async fn a_reset_begins_anew_and_nothing_of_before_counts(on: Backend) {
    let scene = Scene::open(on, json!({ "capacity": 1, "batch": 1, "interval_seconds": 1 })).await;
    let guests = scene.guests(3).await;
    let pass = scene.status(&guests[0]).await.text("pass").to_owned();
    let question = json!({ "pass": pass });
    scene
        .send(scene.service(&guests[0], "validate", &question))
        .await
        .is(200);
    let answer = confirmed(&scene, "reset").await;
    assert_eq!(
        (&answer["generation"], &answer["min_epoch"]),
        (&json!(2), &json!(2))
    );
    let view = scene.view().await;
    assert_eq!(
        (view.waiting, view.ready, view.active, view.bucket.credit),
        (0, 0, 0, 0)
    );

    // At once nobody of before may act, whichever process is asked; what they hear settles within a second.
    let validated = scene.send(scene.service(&guests[0], "validate", &question)).await;
    assert_ne!(validated.status, 200, "{validated:?}");
    let validated = scene
        .settled_answer(|| scene.service(&guests[0], "validate", &question))
        .await;
    assert_eq!(
        validated.is_problem(403, "invalid-pass").text("detail"),
        "it is of an epoch that is over"
    );
    let named = json!({ "visitor": guests[0].id });
    let validated = scene.send(scene.service(&guests[0], "validate", &named)).await;
    validated.is_problem(403, "token-owner-mismatch");
    let claimed = scene
        .send(Ask::post(format!("{}/claim", scene.path(&guests[1]))).visitor(&guests[1].id))
        .await;
    claimed.is_problem(403, "token-owner-mismatch");
    let public = scene.send(Ask::get(format!("/queues/{}", scene.queue))).await;
    assert_eq!(public.is(200).number("min_epoch"), 2);

    // The same visitors get other tokens, at the end of a new line. What there was is still in the table.
    let (again, entered) = scene.enters_as(&guests[0].id).await;
    entered.is(201);
    assert_ne!(again.token, guests[0].token);
    assert_eq!(scene.record(&guests[2]).await.state.name(), "waiting");
    let before = scene
        .backup
        .read_live_entries(&scene.shelf(), guests[2].entry().shard())
        .await;
    assert!(!before.expect("an answer").is_empty());
}

pub(crate) async fn a_reset_that_is_cut_short_is_finished_by_the_promoter(on: Backend) {
    let scene = Scene::open(on, json!({})).await;
    let guests = scene.guests(3).await;
    // Stored, and the process killed: the line still has the generation before.
    let salt = Salt::new([8; 32]);
    let begun = scene.backup.begin_generation(&scene.queue, 1, salt).await;
    assert!(begun.expect("an answer").is_some());
    let left = scene
        .line
        .leave(&scene.queue, guests[2].entry(), None, LeaveReason::Leave)
        .await;
    left.expect("left");
    scene
        .beside_promoters(1, async {
            wait_until(BOUND, "the new one is in force", async || {
                scene.line_epoch().await.is_some_and(|epoch| epoch > 2)
            })
            .await;
        })
        .await;
    let view = scene.view().await;
    assert_eq!(
        (
            view.configuration.generation,
            view.waiting,
            view.active,
            view.unsettled_ends
        ),
        (2, 0, 0, 0)
    );
    // What the line still knew of the generation before went to the shelf of that.
    assert_eq!(scene.record(&guests[2]).await.state.name(), "left");
}

pub(crate) async fn a_restore_by_hand_keeps_everybody_and_wants_to_be_confirmed(on: Backend) {
    let scene = Scene::open(on, json!({})).await;
    let guests = scene.guests(5).await;
    let before = scene.positions(&guests[1..]).await;
    let answer = confirmed(&scene, "restore").await;
    assert_eq!(
        (&answer["waiting"], &answer["active"], &answer["epoch"]),
        (&json!(4), &json!(1), &json!(2))
    );
    assert_eq!(scene.positions(&guests[1..]).await, before);
    assert_eq!(scene.stored().await.metadata.min_epoch, 1);
}

pub(crate) async fn a_pass_of_before_a_restore_lets_in_who_had_been_let_in(on: Backend) {
    let scene = Scene::open(on, json!({ "capacity": 2, "batch": 2, "interval_seconds": 3600 })).await;
    let guests = scene.guests(3).await;
    // Let in while the backup was away, and then the line was lost: the backup shows a place in line.
    let grant = PassGrant {
        queue: &scene.queue,
        entry: guests[2].entry(),
        visit: scene.record(&guests[2]).await.visit,
        epoch: 1,
        session_end_ms: u64::MAX,
        pass_seconds: 60,
    };
    let pass = signer().sign(&grant, scene.view().await.now_ms).expect("signed");
    let question = json!({ "pass": pass.reveal() });
    scene
        .send(scene.service(&guests[2], "validate", &question))
        .await
        .is_problem(409, "not-your-turn");
    let answer = confirmed(&scene, "restore").await;
    assert_eq!((&answer["waiting"], &answer["active"]), (&json!(1), &json!(2)));

    let validated = scene
        .settled_answer(|| scene.service(&guests[2], "validate", &question))
        .await;
    validated.is(200);
    assert_eq!(validated.text("state"), "active");
    assert_eq!(validated.body["durable"], true);
    let view = scene.view().await;
    assert_eq!(
        (view.waiting, view.active),
        (0, 3),
        "inside already, whatever the capacity"
    );
    assert_eq!(scene.record(&guests[2]).await.state.name(), "active");
    // Good until the end of the pass, not for a session.
    let end_ms = validated.number("expires_at_ms");
    assert!(end_ms <= view.now_ms + 61_000, "{end_ms}");
}
