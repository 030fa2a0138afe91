//! The fallback tick, with everything that belongs to it.

use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep};
use vestibule_backup::{Backup, Shelf};
use vestibule_domain::{pace::HeldBackBy, state::State};
use vestibule_engine::{
    drive::{DriveError, Driven, drive},
    tick::tick,
};

use super::{Scene, slow::paced_line};

/// Sets up a queue with this many waiting visitors that has never been ticked. Two entries may go each second.
async fn lined_up(scene: &Scene, visitors: u32) -> (Shelf, Vec<vestibule_domain::id::EntryId>) {
    let settings = json!({ "capacity": 100, "batch": 2, "interval_seconds": 1, "paused": true });
    let (queue, shelf) = scene.queue("q", settings.clone()).await;
    let mut ids = Vec::new();
    for visitor in 0..visitors {
        ids.push(scene.enter(&shelf, &visitor.to_string()).await);
    }
    let mut going = settings;
    going["paused"] = json!(false);
    scene.edit(&queue, going).await;
    scene.sync(&queue).await.expect("synced");
    (shelf, ids)
}

impl Scene {
    async fn drive(&self, shelf: &Shelf) -> Result<Driven, DriveError> {
        let view = self.line.view(&shelf.queue).await.expect("seen");
        let pace = view.configuration.settings.pace();
        let until = Instant::now() + Duration::from_secs(1);
        drive(&*self.line, &*self.backup, shelf, pace, until).await
    }

    /// Runs a fallback tick that must not be refused. Returns how many entries it promoted.
    async fn drives(&self, shelf: &Shelf) -> u64 {
        match self.drive(shelf).await {
            Ok(Driven::Ticked(ticked)) => ticked.promoted,
            other => panic!("no fallback tick: {other:?}"),
        }
    }

    async fn fence(&self, shelf: &Shelf) -> u64 {
        let stored = self.backup.queue(&shelf.queue).await.expect("read");
        stored.expect("is there").line.fence
    }
}

#[tokio::test]
async fn a_drive_promotes_at_the_pace_and_drains_and_raises_the_fence() {
    let scene = Scene::new(paced_line());
    let (shelf, ids) = lined_up(&scene, 5).await;
    tokio::time::pause();
    let fence = scene.fence(&shelf).await;
    assert_eq!(scene.drives(&shelf).await, 2);
    assert_eq!(
        scene.drive(&shelf).await.expect("answered"),
        Driven::NotDue,
        "a moment later"
    );
    let view = scene.line.view(&shelf.queue).await.expect("seen");
    assert_eq!((view.waiting, view.ready, view.journal), (3, 2, 0));
    assert_eq!(view.heartbeat_ms, 0, "no promoter has ticked the queue");
    assert_eq!(view.driven_at_ms, view.now_ms);
    for (id, state) in ids.iter().zip([State::Ready, State::Ready, State::Waiting]) {
        let record = scene.backup.entry(&shelf, *id).await.expect("read");
        assert_eq!(
            record.expect("is there").state,
            state,
            "the journal is in the backup"
        );
    }
    // This fallback tick raises the fence to what preceded it. The next one raises the fence to cover its
    // promotions.
    assert!(scene.fence(&shelf).await >= fence);
    sleep(Duration::from_secs(1)).await;
    assert_eq!(scene.drives(&shelf).await, 2);
    assert!(scene.fence(&shelf).await > fence);
}

#[tokio::test]
async fn nobody_drives_beside_a_promoter_that_is_there() {
    let scene = Scene::new(paced_line());
    let (shelf, _) = lined_up(&scene, 5).await;
    tokio::time::pause();
    tick(&*scene.line, &shelf.queue, None).await.expect("ticked");
    sleep(Duration::from_millis(2_900)).await;
    assert_eq!(scene.drive(&shelf).await.expect("answered"), Driven::NotDue);
    sleep(Duration::from_millis(100)).await;
    assert_eq!(
        scene.drives(&shelf).await,
        2,
        "three intervals without a heartbeat"
    );
}

#[tokio::test]
async fn a_line_that_came_back_old_or_was_lost_is_not_driven() {
    let scene = Scene::new(paced_line());
    let (shelf, _) = lined_up(&scene, 5).await;
    tokio::time::pause();
    // Another function has seen the line with a higher watermark than the line has now.
    let fence = scene.fence(&shelf).await;
    scene
        .backup
        .raise_fence(&shelf.queue, 1, fence + 5)
        .await
        .expect("raised");
    assert_eq!(scene.drive(&shelf).await.expect("answered"), Driven::Lost);
    let view = scene.line.view(&shelf.queue).await.expect("seen");
    assert_eq!((view.waiting, view.ready), (5, 0), "no entry is promoted");

    assert!(scene.line.forget(&shelf.queue, 2).await.expect("dropped"));
    let until = Instant::now() + Duration::from_secs(1);
    let pace = view.configuration.settings.pace();
    let driven = drive(&*scene.line, &*scene.backup, &shelf, pace, until).await;
    assert_eq!(driven.expect("answered"), Driven::Lost);
}

#[tokio::test]
async fn a_line_of_an_earlier_epoch_is_not_driven() {
    let scene = Scene::new(paced_line());
    let (shelf, _) = lined_up(&scene, 5).await;
    let salt = vestibule_domain::id::Salt::new([4; 32]);
    let begun = scene.backup.begin_generation(&shelf.queue, 1, salt).await;
    assert!(begun.expect("written").is_some());
    assert_eq!(scene.drive(&shelf).await.expect("answered"), Driven::Lost);
    assert_eq!(scene.line.view(&shelf.queue).await.expect("seen").ready, 0);
}

#[tokio::test]
async fn a_paused_queue_is_driven_and_promotes_nobody() {
    let scene = Scene::new(paced_line());
    let (shelf, _) = lined_up(&scene, 5).await;
    scene
        .edit(
            &shelf.queue,
            json!({ "capacity": 100, "batch": 2, "interval_seconds": 1, "paused": true }),
        )
        .await;
    scene.sync(&shelf.queue).await.expect("synced");
    match scene.drive(&shelf).await {
        Ok(Driven::Ticked(ticked)) => {
            assert_eq!((ticked.promoted, ticked.held_back_by), (0, HeldBackBy::Gate));
        }
        other => panic!("no fallback tick: {other:?}"),
    }
}
