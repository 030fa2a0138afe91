//! Every operation and every refusal, with the line inside the process and the backup in a file.

mod advice;
mod blocks;
mod brake;
mod clock;
mod commands;
mod create_many;
mod defaults;
mod deletion;
mod endings;
mod entries;
mod events;
mod evict;
mod kept_times;
mod lanes;
mod load;
mod opening;
mod overtaken;
mod pages;
mod plan;
mod queues;
mod raced;
mod recorded_results;
mod refusals;
mod report;
mod rights;
mod root_key;
mod rotate;
mod sources;
mod stored;

use std::sync::Arc;

use serde_json::{Value, json};
use tempfile::TempDir;
use vestibule_backup::{Backup, EntryPartition, QueueMetadata, StoredQueue, StoredSettings};
use vestibule_backup_file::FileBackup;
use vestibule_domain::{
    id::{EntryId, IdKey, QueueId, RootKey, Visitor},
    key_ring::KeyRing,
};
use vestibule_engine::{sync::SettingsPolicy, write_through::write_through};
use vestibule_faults::MemoryKeyStore;
use vestibule_line::{Arrival, EnterOutcome, Line};

use super::{Admin, SigningKeys};

/// The fixture: the admin function with the line and the backup behind it.
struct AdminFixture {
    admin: Admin,
    dir: TempDir,
}

fn root_key() -> RootKey {
    RootKey::new(vec![1; 32]).expect("long enough")
}

impl AdminFixture {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let backup = FileBackup::open(dir.path().join("backup.redb")).expect("a new store");
        let admin = Admin {
            line: Line::in_process(),
            backup: Arc::new(backup),
            root_key: root_key().into(),
            policy: SettingsPolicy::default(),
            signing_keys: SigningKeys {
                store: Arc::new(MemoryKeyStore::new(KeyRing::single("one"))),
                cache_seconds: 300,
            },
        };
        Self { admin, dir }
    }

    /// Creates the fixture with a queue `q`.
    async fn with_queue(settings: Value) -> Self {
        let desk = Self::new();
        desk.run(json!({ "op": "create", "queue": "q", "settings": settings }))
            .await;
        desk
    }

    /// Sends a command that must succeed. Returns its result.
    async fn run(&self, order: Value) -> Value {
        let mut answer = self.admin.handle(order.clone()).await;
        assert_eq!(answer["ok"], true, "{order}: {answer}");
        answer["result"].take()
    }

    /// Runs a command that must be refused for this field.
    async fn expect_refused_field(&self, command: Value, field: &str) {
        let problem = self.run_refused(command.clone()).await;
        assert_eq!(problem["field"], field, "{command}: {problem}");
        assert_eq!(
            (&problem["status"], &problem["code"]),
            (&json!(400), &json!("invalid-command"))
        );
    }

    /// Sends a command that must be refused. Returns its problem.
    async fn run_refused(&self, order: Value) -> Value {
        let mut answer = self.admin.handle(order.clone()).await;
        assert_eq!(answer["ok"], false, "{order}: {answer}");
        let problem = answer["problem"].take();
        for part in ["type", "title", "code", "detail"] {
            assert!(problem[part].is_string(), "{part} of {problem}");
        }
        assert!(problem["status"].is_u64(), "{problem}");
        problem
    }

    async fn setting_in_force(&self, field: &str) -> Value {
        self.run(json!({ "op": "describe", "queue": "q" })).await["settings"][field].take()
    }

    async fn stored_queue(&self) -> StoredQueue {
        self.admin
            .backup
            .read_queue(&queue())
            .await
            .expect("read")
            .expect("is there")
    }

    /// Writes settings like an operator who edits the table, without any validation.
    async fn replace_stored_settings(&self, settings: Value) {
        let stored = self.stored_queue().await;
        let Value::Object(settings) = settings else {
            panic!("an object")
        };
        let replaced = self
            .admin
            .backup
            .replace_settings(&queue(), &stored.settings, &settings)
            .await;
        assert!(replaced.expect("written").is_some());
    }

    /// Replaces the backup by a new one whose stored settings are `left`, which need not be a map.
    /// An operator can write such a value into the table.
    async fn store_raw_settings(&mut self, left: Value) {
        let settings = match left {
            Value::Object(map) => map.into(),
            Value::Null => StoredSettings::Missing,
            other => StoredSettings::Other(other),
        };
        let stored = StoredQueue {
            settings,
            ..self.stored_queue().await
        };
        let path = self.dir.path().join(uuid::Uuid::new_v4().to_string());
        self.admin.backup = Arc::new(FileBackup::open(path).expect("a new store"));
        let created = self.admin.backup.create_queue(&queue(), &stored).await;
        assert!(created.expect("written"));
    }

    /// The entry id of a visitor, whether the visitor has entered or not.
    async fn entry_id(&self, visitor: &str) -> EntryId {
        let QueueMetadata { salt, .. } = self.stored_queue().await.metadata;
        let ids = IdKey::derive_for_queue(&root_key(), &queue(), &salt).expect("the key of the salt");
        ids.entry_id(&Visitor::known(visitor).expect("valid"))
    }

    /// Lets a known visitor enter and poll at once, and writes the entry through to the backup.
    async fn enter(&self, visitor: &str) -> EntryId {
        self.enter_as(self.entry_id(visitor).await).await
    }

    async fn enter_anonymous(&self, browser: &str) -> EntryId {
        let salt = self.stored_queue().await.metadata.salt;
        let ids = IdKey::derive_for_queue(&root_key(), &queue(), &salt).expect("the key of the salt");
        self.enter_as(ids.entry_id(&Visitor::anonymous(browser).expect("a visitor id")))
            .await
    }

    async fn enter_as(&self, id: EntryId) -> EntryId {
        match self.admin.line.enter(&queue(), id, Arrival::Ordinary).await {
            Ok(EnterOutcome::Joined {
                change: Some(change), ..
            }) => {
                write_through(&self.admin.line, &*self.admin.backup, &entry_partition(), &change)
                    .await
                    .expect("written");
            }
            other => panic!("did not enter: {other:?}"),
        }
        let polled = self.admin.line.check_in(&queue(), id).await;
        polled.expect("an answer");
        id
    }

    fn line(&self) -> &Line {
        &self.admin.line
    }

    fn backup(&self) -> &dyn Backup {
        &*self.admin.backup
    }
}

fn queue() -> QueueId {
    "q".parse().expect("a queue id")
}

fn entry_partition() -> EntryPartition {
    EntryPartition {
        queue: queue(),
        generation: 1,
        retain_hours: 24,
        grace_seconds: 600,
    }
}

/// Each switch command, with the setting that it changes and the new value.
fn switches() -> [(Value, &'static str, Value); 6] {
    [
        (json!({ "op": "pause", "queue": "q" }), "paused", json!(true)),
        (json!({ "op": "resume", "queue": "q" }), "paused", json!(false)),
        (
            json!({ "op": "drain", "queue": "q", "confirm": "q", "epoch": 1 }),
            "entrance",
            json!("draining"),
        ),
        (
            json!({ "op": "close", "queue": "q", "confirm": "q", "epoch": 1 }),
            "entrance",
            json!("closed"),
        ),
        (
            json!({ "op": "finish", "queue": "q", "confirm": "q", "epoch": 1 }),
            "entrance",
            json!("finished"),
        ),
        (json!({ "op": "open", "queue": "q" }), "entrance", json!("open")),
    ]
}
