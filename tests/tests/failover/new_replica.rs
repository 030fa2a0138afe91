//! An operator replaces the line by a new replica of the backup (`restore`) or by an empty queue (`reset`).
//! Also what passes from before are good for.

use serde_json::json;
use vestibule_api::pass::PassGrant;
use vestibule_backup::Backup;
use vestibule_domain::id::Salt;
use vestibule_line::LeaveReason;
use vestibule_tests::{
    in_process::{ApiRequest, BOUND, signer},
    lines::Backend,
    waiting::wait_until,
};

use crate::scene::Scene;

pub(crate) async fn a_reset_starts_empty_and_voids_all_earlier_tokens(backend: Backend) {
    let scene = Scene::open(
        backend,
        json!({ "capacity": 1, "batch": 1, "interval_seconds": 1 }),
    )
    .await;
    let guests = scene.enter_many(3).await;
    let pass = scene.status(&guests[0]).await.text("pass").to_owned();
    let body = json!({ "pass": pass });
    scene
        .send(guests[0].of_service("validate", &body))
        .await
        .expect_status(200);
    let answer = scene.run_confirmed("reset").await;
    assert_eq!(
        (&answer["generation"], &answer["min_epoch"]),
        (&json!(2), &json!(2))
    );
    let view = scene.view().await;
    assert_eq!(
        (view.waiting, view.ready, view.active, view.bucket.credit),
        (0, 0, 0, 0)
    );

    // No earlier entry may act, whichever process is asked. The final answer follows within a second.
    let validated = scene.send(guests[0].of_service("validate", &body)).await;
    assert_ne!(validated.status, 200, "{validated:?}");
    let validated = scene
        .send_until_served(|| guests[0].of_service("validate", &body))
        .await;
    assert_eq!(
        validated.expect_problem(403, "invalid-pass").text("detail"),
        "the pass belongs to an epoch that has ended"
    );
    let named = json!({ "visitor": guests[0].id });
    let validated = scene.send(guests[0].of_service("validate", &named)).await;
    validated.expect_problem(403, "token-owner-mismatch");
    let claimed = scene.send(guests[1].claim()).await;
    claimed.expect_problem(403, "token-owner-mismatch");
    let public = scene
        .send(ApiRequest::get(format!("/queues/{}", scene.queue)))
        .await;
    assert_eq!(public.expect_status(200).number("min_epoch"), 2);

    // The same visitors get new tokens in a new line. The old entries are still in the table.
    let (again, entered) = scene.enter_as(&guests[0].id).await;
    entered.expect_status(201);
    assert_ne!(again.token, guests[0].token);
    assert_eq!(scene.record(&guests[2]).await.state.name(), "waiting");
    let before = scene
        .backup
        .read_live_entries(&scene.partition(), guests[2].entry_id().shard(), u64::MAX)
        .await;
    assert!(!before.expect("an answer").is_empty());
}

pub(crate) async fn the_promoter_finishes_a_reset_that_was_cut_off(backend: Backend) {
    let scene = Scene::open(backend, json!({})).await;
    let guests = scene.enter_many(3).await;
    // The backup has the new generation, and the process was killed: the line still has the generation before.
    let salt = Salt::new([8; 32]);
    let begun = scene.backup.begin_generation(&scene.queue, 1, salt).await;
    assert!(begun.expect("an answer").is_some());
    let left = scene
        .line
        .leave(&scene.queue, guests[2].entry_id(), None, LeaveReason::Leave)
        .await;
    left.expect("left");
    scene
        .with_promoters(1, async {
            wait_until(BOUND, "the line has the new generation", async || {
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
    // The changes that the line still held of the generation before are in that generation's partition.
    assert_eq!(scene.record(&guests[2]).await.state.name(), "left");
}

pub(crate) async fn a_confirmed_restore_keeps_every_entry(backend: Backend) {
    let scene = Scene::open(backend, json!({})).await;
    let guests = scene.enter_many(5).await;
    let before = scene.positions(&guests[1..]).await;
    let answer = scene.run_confirmed("restore").await;
    assert_eq!(
        (&answer["waiting"], &answer["active"], &answer["epoch"]),
        (&json!(4), &json!(1), &json!(2))
    );
    assert_eq!(scene.positions(&guests[1..]).await, before);
    assert_eq!(scene.stored_queue().await.metadata.min_epoch, 1);
}

pub(crate) async fn a_pass_from_before_a_restore_reactivates_the_entry(backend: Backend) {
    let scene = Scene::open(
        backend,
        json!({ "capacity": 2, "batch": 2, "interval_seconds": 3600 }),
    )
    .await;
    let guests = scene.enter_many(3).await;
    // The visitor was let in while the backup was unavailable, and then the line was lost. The backup shows a
    // waiting entry.
    let now_ms = scene.view().await.now_ms;
    let grant = PassGrant {
        queue: &scene.queue,
        entry: guests[2].entry_id(),
        visit: scene.record(&guests[2]).await.visit(),
        epoch: 1,
        pass_end_ms: now_ms + 60_000,
    };
    let pass = signer().sign(&grant, now_ms).expect("signed");
    let body = json!({ "pass": pass.reveal() });
    let answer = scene.run_confirmed("restore").await;
    assert_eq!((&answer["waiting"], &answer["active"]), (&json!(1), &json!(2)));

    let validated = scene
        .send_until_served(|| guests[2].of_service("validate", &body))
        .await;
    validated.expect_status(200);
    assert_eq!(validated.text("state"), "active");
    assert_eq!(validated.body["durable"], true);
    let view = scene.view().await;
    assert_eq!(
        (view.waiting, view.active),
        (0, 3),
        "the entry was active already, so the capacity does not matter"
    );
    assert_eq!(scene.record(&guests[2]).await.state.name(), "active");
    // The entry is active until the end of the pass, not for a whole session.
    let end_ms = validated.number("expires_at_ms");
    assert!(end_ms <= view.now_ms + 61_000, "{end_ms}");
}
