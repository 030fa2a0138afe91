//! The step by what it answers, the loop in paused time.

mod faulty;

use std::{sync::Arc, time::Duration};

use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio::time::{Instant, sleep};

use self::faulty::{Fault, Faulty};
use super::{
    Policy, Promoter, SyncError, Synced,
    sync::{self, configuration, revision, sync},
    tick::tick,
};
use crate::{
    backup::{Backup, LinePart, Shelf, StoredQueue, file::FileBackup, write_through::write_through},
    domain::{
        id::{EntryId, IdKey, QueueId, RootKey, Salt, Visitor},
        pace::HeldBackBy,
        settings::Settings,
        state::State,
    },
    line::{Configured, Entered, Line, LineError, memory::MemoryLine},
};

/// What a tick and its neighbours need: a line, a backup in a folder that goes with it, and queues in both.
struct Scene {
    line: Arc<dyn Line>,
    backup: Arc<FileBackup>,
    _dir: TempDir,
}

impl Scene {
    fn new(line: Arc<dyn Line>) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let backup = FileBackup::open(dir.path().join("backup.redb")).expect("a new store");
        Self {
            line,
            backup: Arc::new(backup),
            _dir: dir,
        }
    }

    async fn store(&self, name: &str, settings: Value) -> (QueueId, StoredQueue) {
        let queue: QueueId = name.parse().expect("a queue id");
        let stored = StoredQueue {
            settings: map(settings),
            line: LinePart {
                epoch: 1,
                generation: 1,
                salt: Salt::new([3; 32]),
            },
        };
        assert!(self.backup.create_queue(&queue, &stored).await.expect("stored"));
        (queue, stored)
    }

    async fn sync(&self, queue: &QueueId) -> Result<Synced, SyncError> {
        sync(&*self.line, &*self.backup, queue, Policy::default()).await
    }

    /// A new queue that is in force, and the shelf of its entries.
    async fn queue(&self, name: &str, settings: Value) -> (QueueId, Shelf) {
        let (queue, stored) = self.store(name, settings).await;
        let wanted = configuration(&stored, Policy::default()).expect("right settings");
        let configured = self.line.configure(&queue, &wanted, true).await;
        assert_eq!(configured.expect("configured"), Configured::Created);
        let shelf = Shelf::of(&queue, &wanted);
        (queue, shelf)
    }

    /// Enters as a visitor does, written through.
    async fn enter(&self, shelf: &Shelf, visitor: &str) -> EntryId {
        let id = id(&shelf.queue, visitor);
        match self.line.enter(&shelf.queue, id).await {
            Ok(Entered::Joined {
                change: Some(change), ..
            }) => {
                let through = write_through(&*self.line, &*self.backup, shelf, &change).await;
                assert!(through.expect("written").durable);
            }
            other => panic!("did not enter: {other:?}"),
        }
        id
    }

    fn promoter(&self) -> Arc<Promoter> {
        Arc::new(Promoter::new(
            self.line.clone(),
            self.backup.clone(),
            Policy::default(),
        ))
    }
}

fn map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("not an object: {other}"),
    }
}

fn id(queue: &QueueId, visitor: &str) -> EntryId {
    let root = RootKey::new(vec![1; 32]).expect("long enough");
    IdKey::derive(&root, queue, &Salt::new([3; 32])).entry_id(&Visitor::known(visitor).expect("valid"))
}

fn memory() -> Arc<dyn Line> {
    Arc::new(MemoryLine::new())
}

#[tokio::test]
async fn a_tick_promotes_and_takes_the_journal_to_the_backup() {
    let scene = Scene::new(memory());
    let settings = json!({ "capacity": 2, "batch": 5, "paused": true });
    let (queue, shelf) = scene.queue("q", settings).await;
    let mut ids = Vec::new();
    for visitor in ["a", "b", "c"] {
        ids.push(scene.enter(&shelf, visitor).await);
    }
    let stored = scene.backup.queue(&queue).await.expect("read").expect("is there");
    let open = map(json!({ "capacity": 2, "batch": 5 }));
    assert!(
        scene
            .backup
            .replace_settings(&queue, &stored.settings, &open)
            .await
            .expect("replaced")
    );
    scene.sync(&queue).await.expect("synced");

    let ticked = tick(&*scene.line, &*scene.backup, &shelf).await.expect("ticked");

    assert_eq!((ticked.promoted, ticked.waiting, ticked.ready), (2, 1, 2));
    assert_eq!(ticked.held_back_by, HeldBackBy::Capacity);
    assert_eq!(ticked.drained, Ok(2));
    assert_eq!(scene.line.view(&queue).await.expect("seen").journal, 0);
    for (id, state) in ids.into_iter().zip([State::Ready, State::Ready, State::Waiting]) {
        let record = scene
            .backup
            .entry(&shelf, id)
            .await
            .expect("read")
            .expect("is there");
        assert_eq!(record.state, state);
    }
}

#[tokio::test]
async fn a_tick_of_a_queue_that_the_line_does_not_have_says_so() {
    let scene = Scene::new(memory());
    let (queue, stored) = scene.store("q", json!({})).await;
    let shelf = Shelf::of(&queue, &configuration(&stored, Policy::default()).expect("right"));
    let error = tick(&*scene.line, &*scene.backup, &shelf)
        .await
        .expect_err("lost");
    assert!(matches!(error, LineError::Unknown), "{error}");
}

#[tokio::test]
async fn settings_edited_in_the_backup_reach_the_line_and_wrong_ones_do_not() {
    let scene = Scene::new(memory());
    let (queue, _) = scene.queue("q", json!({ "capacity": 7 })).await;
    let edit = async |settings: Value| {
        let stored = scene.backup.queue(&queue).await.expect("read").expect("is there");
        assert!(
            scene
                .backup
                .replace_settings(&queue, &stored.settings, &map(settings))
                .await
                .expect("written")
        );
        scene.sync(&queue).await.expect("synced")
    };
    let in_force = async || scene.line.view(&queue).await.expect("seen").configuration;

    let synced = edit(json!({ "capacity": "9" })).await;
    assert!(
        matches!(
            synced,
            Synced::InForce {
                how: Configured::Changed,
                ..
            }
        ),
        "{synced:?}"
    );
    let right = in_force().await;
    assert_eq!(right.settings.capacity, 9);
    assert_eq!(right.revision, revision(&right.settings));

    for (wrong, field) in [
        (json!({ "capacity": 0 }), "capacity"),
        (json!({ "batsh": 1 }), "batsh"),
        (
            json!({ "trust_client_visitor_id": true }),
            "trust_client_visitor_id",
        ),
    ] {
        match edit(wrong).await {
            Synced::Refused { error, .. } => assert_eq!(error.field, field),
            other => panic!("{field} was taken: {other:?}"),
        }
        assert_eq!(in_force().await, right, "the old ones stay in force");
    }
    let synced = edit(json!({ "capacity": 9 })).await;
    assert!(
        matches!(
            synced,
            Synced::InForce {
                how: Configured::Same,
                ..
            }
        ),
        "{synced:?}"
    );
}

#[tokio::test]
async fn a_lost_queue_is_put_back_with_everybody_in_place() {
    let scene = Scene::new(memory());
    let (queue, shelf) = scene.queue("q", json!({ "paused": true })).await;
    let ids = [scene.enter(&shelf, "a").await, scene.enter(&shelf, "b").await];
    let before = [
        scene.line.status(&queue, ids[0]).await,
        scene.line.status(&queue, ids[1]).await,
    ];

    let after_the_loss = Scene {
        line: memory(),
        ..scene
    };
    let synced = after_the_loss.sync(&queue).await.expect("synced");

    assert!(
        matches!(
            synced,
            Synced::InForce {
                how: Configured::Created,
                ..
            }
        ),
        "{synced:?}"
    );
    for (id, before) in ids.into_iter().zip(before) {
        let now = after_the_loss.line.status(&queue, id).await.expect("answered");
        assert_eq!(now, before.expect("answered"));
    }
}

#[tokio::test]
async fn a_lost_queue_with_wrong_settings_is_not_guessed_at() {
    let scene = Scene::new(memory());
    let (queue, _) = scene.store("q", json!({ "capacity": "many" })).await;
    let error = scene.sync(&queue).await.expect_err("nothing says how");
    assert!(
        matches!(&error, SyncError::Stuck(wrong) if wrong.field == "capacity"),
        "{error}"
    );
}

#[tokio::test]
async fn a_queue_that_was_removed_is_gone() {
    let scene = Scene::new(memory());
    assert_eq!(
        scene.sync(&"q".parse().expect("an id")).await.expect("answered"),
        Synced::Gone
    );
}

/// Runs the loop in paused time with one queue of each fault beside a sound one, and says how often each was promoted.
async fn ticks_in(run: Duration) -> (u64, u64, u64) {
    let line = Arc::new(Faulty::new(MemoryLine::new()));
    let scene = Scene::new(line.clone());
    for name in ["broken", "slow", "sound"] {
        scene.queue(name, json!({})).await;
    }
    line.inject("broken", Fault::Broken);
    line.inject("slow", Fault::Slow(Duration::from_secs(3_600)));
    tokio::time::pause();
    scene.promoter().run(sleep(run)).await;
    (line.calls("broken"), line.calls("slow"), line.calls("sound"))
}

#[tokio::test]
async fn a_broken_and_a_slow_queue_delay_nobody() {
    let (broken, slow, sound) = ticks_in(Duration::from_millis(30_500)).await;
    assert!(
        (28..=30).contains(&sound),
        "one tick a second, the first after a listing: {sound}"
    );
    assert_eq!(broken, sound, "a broken queue is tried every second as well");
    assert!(
        (4..=6).contains(&slow),
        "given up after 5 s, passed over meanwhile: {slow}"
    );
}

#[tokio::test]
async fn the_loop_ends_on_time_whatever_is_under_way() {
    let line = Arc::new(Faulty::new(MemoryLine::new()));
    let scene = Scene::new(line.clone());
    scene.queue("slow", json!({})).await;
    line.inject("slow", Fault::Slow(Duration::from_secs(3_600)));
    tokio::time::pause();
    let started = Instant::now();
    scene.promoter().run(sleep(Duration::from_secs(10))).await;
    assert!(
        started.elapsed() < Duration::from_secs(12),
        "{:?}",
        started.elapsed()
    );
    let calls = line.calls("slow");
    sleep(Duration::from_secs(60)).await;
    assert_eq!(line.calls("slow"), calls, "nothing goes on after the end");
}

#[tokio::test]
async fn the_loop_takes_edited_settings_over_and_puts_lost_queues_back() {
    let line = Arc::new(Faulty::new(MemoryLine::new()));
    let scene = Scene::new(line.clone());
    let (queue, stored) = scene.store("q", json!({ "capacity": 7 })).await;
    let promoter = scene.promoter();
    let edit_and_lose = async {
        until(async || line.view(&queue).await.is_ok_and(|view| view.heartbeat_ms > 0)).await;
        let nine = map(json!({ "capacity": 9 }));
        assert!(
            scene
                .backup
                .replace_settings(&queue, &stored.settings, &nine)
                .await
                .expect("written")
        );
        until(async || {
            line.view(&queue)
                .await
                .is_ok_and(|view| view.configuration.settings.capacity == 9)
        })
        .await;
        line.lose_everything();
        until(async || {
            line.view(&queue)
                .await
                .is_ok_and(|view| view.configuration.settings.capacity == 9)
        })
        .await;
    };
    promoter.run(edit_and_lose).await;
}

async fn until(mut condition: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !condition().await {
            sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), waiting)
        .await
        .expect("it comes about in time");
}

#[tokio::test]
async fn the_end_takes_every_journal_to_the_backup() {
    let scene = Scene::new(memory());
    let (queue, shelf) = scene.queue("q", json!({ "capacity": 1, "batch": 1 })).await;
    let second = id(&queue, "b");
    let Ok(Entered::Joined {
        change: Some(change), ..
    }) = scene.line.enter(&queue, second).await
    else {
        panic!("did not enter");
    };
    scene.line.record(&queue, &change).await.expect("recorded");
    let promoter = scene.promoter();
    promoter.sync_all().await.expect("listed");
    promoter.settle_all().await.expect("settled");
    assert_eq!(scene.line.view(&queue).await.expect("seen").journal, 0);
    assert!(scene.backup.entry(&shelf, second).await.expect("read").is_some());
}

#[test]
fn a_revision_names_settings_and_nothing_else() {
    let (a, b) = (
        Settings::default(),
        Settings {
            capacity: 101,
            ..Settings::default()
        },
    );
    assert_eq!(revision(&a), revision(&a.clone()));
    assert_ne!(revision(&a), revision(&b));
    assert_eq!(revision(&a).len(), 16);
    let trusting = Settings {
        trust_client_visitor_id: true,
        ..a
    };
    assert!(
        Policy {
            trust_client_visitor_id: true
        }
        .check(trusting.clone())
        .is_ok()
    );
    assert_eq!(
        Policy::default().check(trusting).expect_err("refused").field,
        "trust_client_visitor_id"
    );
}
