//! Two processes over one Redis and one backup, and what anybody asks of them.

use std::{sync::Arc, time::Duration};

use ::redis::aio::MultiplexedConnection;
use axum::Router;
use serde_json::{Value, json};
use tokio::{sync::watch, time::Instant};
use uuid::Uuid;
use vestibule_backup::{Backup, EntryPartition, QueueMetadata, StoredQueue};
use vestibule_backup_file::FileBackup;
use vestibule_domain::{
    id::{EntryId, QueueId},
    record::EntryRecord,
    settings::Settings,
};
use vestibule_engine::sync::SettingsPolicy;
use vestibule_line::{Line, QueueView};
use vestibule_line_redis::RedisLine;
use vestibule_operate::{admin::Admin, promoter::Promoter};
use vestibule_tests::{
    edge::{Answer, Ask, BOUND, local, process, send_to},
    entries::{now_ms, partition_of},
    functions::root_key,
    lines::{Backend, ManualClock, configuration, fresh_queue, tick_order},
    waiting::poll_until,
};

/// Two processes over one Redis and one backup.
pub(crate) struct Scene {
    pub(crate) queue: QueueId,
    pub(crate) line: RedisLine,
    pub(crate) backup: Arc<FileBackup>,
    pub(crate) routers: [Router; 2],
    pub(crate) link: MultiplexedConnection,
    _stop: watch::Sender<bool>,
    _folder: tempfile::TempDir,
}

/// A visitor who has entered.
#[derive(Debug, Clone)]
pub(crate) struct Guest {
    pub(crate) id: String,
    pub(crate) token: String,
}

impl Guest {
    pub(crate) fn member(&self) -> String {
        self.entry().to_member()
    }

    pub(crate) fn entry(&self) -> EntryId {
        self.token.parse().expect("a token")
    }
}

impl Scene {
    /// One at a time goes in, once in an hour: who comes second waits.
    pub(crate) async fn open(on: Backend, settings: Value) -> Self {
        let line = RedisLine::connect(&on.url()).await.expect("it answers");
        Self::over(line, on, settings).await
    }

    /// The same by a clock that the test sets, which begins with the right time.
    pub(crate) async fn by_hand(on: Backend, settings: Value) -> (Self, ManualClock) {
        let clock = ManualClock::new();
        clock.set_ms(now_ms());
        let line = RedisLine::connect(&on.url()).await.expect("it answers");
        let line = line
            .with_given_time(clock.as_server_clock())
            .with_witness(clock.as_clock());
        (Self::over(line, on, settings).await, clock)
    }

    async fn over(line: RedisLine, on: Backend, mut settings: Value) -> Self {
        for (name, value) in [("capacity", 1), ("batch", 1), ("interval_seconds", 3_600)] {
            if settings.get(name).is_none() {
                settings[name] = value.into();
            }
        }
        let map = settings.as_object().expect("an object");
        let folder = tempfile::tempdir().expect("a folder");
        let backup = Arc::new(FileBackup::open(folder.path().join("store")).expect("a store"));
        let queue = fresh_queue();
        let configuration = configuration(&Settings::from_map(map).expect("settings"));
        line.configure(&queue, &configuration, true)
            .await
            .expect("configured");
        let stored = StoredQueue {
            settings: map.clone().into(),
            settings_order: 0,
            metadata: QueueMetadata::new(configuration.salt),
        };
        assert!(backup.create_queue(&queue, &stored).await.expect("created"));
        let (stop, stopped) = watch::channel(false);
        let routers = [(); 2].map(|()| process(Arc::new(line.clone()), backup.clone(), local(), &stopped));
        let link = on.connection_to_owner(&queue).await;
        Self {
            queue,
            line,
            backup,
            routers,
            link,
            _stop: stop,
            _folder: folder,
        }
    }

    pub(crate) async fn send(&self, ask: Ask) -> Answer {
        send_to(&self.routers[0], ask).await
    }

    pub(crate) fn path(&self, guest: &Guest) -> String {
        format!("/queues/{}/entries/{}", self.queue, guest.token)
    }

    pub(crate) async fn enters_as(&self, id: &str) -> (Guest, Answer) {
        let ask = Ask::post(format!("/queues/{}/entries", self.queue)).visitor(id);
        let answer = self.send(ask).await;
        let token = answer.text("token").to_owned();
        let guest = Guest {
            id: id.to_owned(),
            token,
        };
        (guest, answer)
    }

    /// So many enter, one after the other, and stand in this order; the first goes in at once.
    pub(crate) async fn guests(&self, many: usize) -> Vec<Guest> {
        let mut guests = Vec::new();
        for _ in 0..many {
            let (guest, answer) = self.enters_as(&Uuid::new_v4().to_string()).await;
            answer.is(201);
            guests.push(guest);
        }
        guests
    }

    pub(crate) async fn status(&self, guest: &Guest) -> Answer {
        self.send(Ask::get(self.path(guest)).visitor(&guest.id)).await
    }

    /// The positions of these.
    pub(crate) async fn positions(&self, guests: &[Guest]) -> Vec<u64> {
        let mut positions = Vec::new();
        for guest in guests {
            positions.push(self.status(guest).await.is(200).number("position"));
        }
        positions
    }

    pub(crate) async fn promote(&self) {
        self.promote_most(u64::MAX).await;
    }

    /// There is a promoter, so that no call drives.
    pub(crate) async fn beat(&self) {
        self.promote_most(0).await;
    }

    async fn promote_most(&self, asked: u64) {
        self.line
            .promote(&self.queue, tick_order(asked))
            .await
            .expect("promoted");
    }

    /// What the drain of a driver does.
    pub(crate) async fn drain(&self) {
        let until = Instant::now() + Duration::from_secs(10);
        vestibule_engine::flush::flush_journal(&self.line, &*self.backup, &self.shelf(), 100, until)
            .await
            .expect("drained");
    }

    pub(crate) fn key(&self, name: &str) -> String {
        format!("vestibule:{{{}}}:{name}", self.queue)
    }

    /// Does something beside as many promoters.
    pub(crate) async fn beside_promoters<T>(&self, many: usize, work: impl Future<Output = T>) -> T {
        let (stop, stopped) = watch::channel(());
        let promoters: Vec<_> = (0..many)
            .map(|_| {
                let (line, backup) = (Arc::new(self.line.clone()), self.backup.clone());
                let promoter = Arc::new(Promoter::new(line, backup, SettingsPolicy::default()));
                let mut stopped = stopped.clone();
                tokio::spawn(async move {
                    let until = async move { drop(stopped.changed().await) };
                    promoter.run(until).await;
                })
            })
            .collect();
        let done = work.await;
        drop(stop);
        for promoter in promoters {
            promoter.await.expect("it does not panic");
        }
        done
    }

    /// What the backup has of the queue.
    pub(crate) async fn stored(&self) -> StoredQueue {
        let stored = self.backup.read_queue(&self.queue).await;
        stored.expect("an answer").expect("is there")
    }

    pub(crate) async fn view(&self) -> QueueView {
        self.line.queue_view(&self.queue).await.expect("the line has it")
    }

    /// An operator's order that is carried out.
    pub(crate) async fn order(&self, order: Value) -> Value {
        let admin = Admin {
            line: Arc::new(self.line.clone()),
            backup: self.backup.clone(),
            root_key: root_key(),
            policy: SettingsPolicy::default(),
        };
        let mut answer = admin.handle(order.clone()).await;
        assert_eq!(answer["ok"], true, "{order}: {answer}");
        answer["result"].take()
    }

    pub(crate) fn shelf(&self) -> EntryPartition {
        partition_of(self.queue.clone())
    }

    pub(crate) async fn record(&self, guest: &Guest) -> EntryRecord {
        self.record_of(guest.entry()).await
    }

    pub(crate) async fn record_of(&self, id: EntryId) -> EntryRecord {
        let record = self.backup.read_entry(&self.shelf(), id).await;
        record.expect("an answer").expect("a record")
    }

    /// The epoch of the line, where it has the queue.
    pub(crate) async fn line_epoch(&self) -> Option<u32> {
        let view = self.line.queue_view(&self.queue).await.ok()?;
        Some(view.version.epoch)
    }

    /// The answer once nobody is told to come again.
    pub(crate) async fn settled_answer(&self, ask: impl Fn() -> Ask) -> Answer {
        poll_until(
            BOUND,
            async || self.send(ask()).await,
            |answer| answer.status != 503,
        )
        .await
    }

    pub(crate) async fn settled(&self, guest: &Guest) -> Answer {
        self.settled_answer(|| Ask::get(self.path(guest)).visitor(&guest.id))
            .await
    }

    pub(crate) fn service(&self, guest: &Guest, what: &str, body: &Value) -> Ask {
        Ask::post(format!("{}/{what}", self.path(guest))).json(body)
    }
}

/// No settings but those of every scene.
pub(crate) fn usual() -> Value {
    json!({})
}
