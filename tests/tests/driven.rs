//! Nobody promotes but those who call: several processes on one Redis and one table, as so many environments of a function.
//! Everybody gets through in order, never faster than the pace, never over capacity, and the table has it all.

use std::{sync::Arc, time::Duration};

use axum::Router;
use futures_util::future::join_all;
use serde_json::json;
use tokio::{
    sync::watch,
    time::{Instant, sleep, timeout},
};
use uuid::Uuid;
use vestibule_backup::{Backup, EntryPartition, QueueMetadata, StoredQueue};
use vestibule_backup_dynamodb::{Connection, DynamoDbBackup, TableNames};
use vestibule_domain::{id::QueueId, settings::Settings, state::EntryState};
use vestibule_engine::sync::SettingsPolicy;
use vestibule_line::{Line, QueueView};
use vestibule_line_redis::RedisLine;
use vestibule_operate::promoter::Promoter;
use vestibule_tests::{
    edge::{Answer, Ask, local, process, send_to},
    functions::fresh_tables,
    lines::{Backend, configuration, fresh_queue},
    servers::dynamodb_url,
    waiting::{poll_until, wait_until},
};

const PROCESSES: usize = 8;
const VISITORS: usize = 60;
const CAPACITY: u32 = 12;
const BATCH: u32 = 4;
/// Sixty at four a second take 15 s.
const BOUND: Duration = Duration::from_mins(2);

struct Scene {
    queue: QueueId,
    line: RedisLine,
    backup: DynamoDbBackup,
    processes: Vec<Router>,
    _stop: watch::Sender<bool>,
}

#[derive(Debug, Clone)]
struct Guest {
    id: String,
    token: String,
    joined_at_ms: u64,
    state: String,
}

impl Scene {
    async fn open(on: Backend) -> Self {
        let (queue, url) = (fresh_queue(), on.url());
        let settings = json!({ "capacity": CAPACITY, "batch": BATCH, "interval_seconds": 1 });
        let settings = settings.as_object().expect("an object");
        let configuration = configuration(&Settings::from_map(settings).expect("settings"));
        let line = RedisLine::connect(&url).await.expect("it answers");
        line.configure(&queue, &configuration, true)
            .await
            .expect("configured");
        // Of its own: a promoter serves every queue that it finds.
        let tables = fresh_tables();
        let backup = table(&tables).await;
        backup.create_tables_if_missing().await.expect("tables");
        let stored = StoredQueue {
            settings: settings.clone().into(),
            settings_order: 0,
            metadata: QueueMetadata::new(configuration.salt),
        };
        assert!(backup.create_queue(&queue, &stored).await.expect("created"));
        let (stop, stopped) = watch::channel(false);
        let mut processes = Vec::new();
        for _ in 0..PROCESSES {
            let own = RedisLine::connect(&url).await.expect("it answers");
            let backup = Arc::new(table(&tables).await);
            processes.push(process(Arc::new(own), backup, local(), &stopped));
        }
        Self {
            queue,
            line,
            backup,
            processes,
            _stop: stop,
        }
    }

    /// To any of the processes, as the gateway has it; once more where a busy machine took too long.
    async fn send(&self, ask: impl Fn() -> Ask) -> Answer {
        let send = async || {
            let any = rand::random_range(0..self.processes.len());
            send_to(&self.processes[any], ask()).await
        };
        poll_until(BOUND, send, |answer| answer.status != 503).await
    }

    async fn enters(&self) -> Guest {
        let id = Uuid::new_v4().to_string();
        let answer = self
            .send(|| Ask::post(format!("/queues/{}/entries", self.queue)).visitor(&id))
            .await;
        Guest {
            id,
            token: answer.text("token").to_owned(),
            joined_at_ms: answer.number("joined_at_ms"),
            state: answer.text("state").to_owned(),
        }
    }

    /// Looks until the turn comes, now and then held; claims, stays for a moment, and is done.
    async fn goes_through(&self, guest: &Guest, nth: usize) {
        let path = format!("/queues/{}/entries/{}", self.queue, guest.token);
        let wait = if nth.is_multiple_of(3) { "?wait=5" } else { "" };
        let mut state = guest.state.clone();
        while state == "waiting" {
            sleep(Duration::from_millis(200 + nth as u64 * 7 % 300)).await;
            let look = self
                .send(|| Ask::get(format!("{path}{wait}")).visitor(&guest.id))
                .await;
            look.is(200).text("state").clone_into(&mut state);
        }
        if state == "ready" {
            let claim = || {
                Ask::post(format!("{path}/claim"))
                    .visitor(&guest.id)
                    .json(&json!({}))
            };
            self.send(claim).await.is(200);
        }
        sleep(Duration::from_millis(500)).await;
        self.send(|| Ask::post(format!("{path}/complete")).json(&json!({})))
            .await
            .is(204);
    }

    async fn everybody_goes_through(&self, guests: &[Guest]) {
        let going = guests
            .iter()
            .enumerate()
            .map(|(nth, guest)| self.goes_through(guest, nth));
        timeout(BOUND, join_all(going)).await.expect("in time");
    }

    async fn view(&self) -> QueueView {
        let view = async || self.line.queue_view(&self.queue).await;
        poll_until(BOUND, view, Result::is_ok).await.expect("a view")
    }

    /// Looks at the line again and again.
    fn watched(&self) -> Watch {
        let (line, queue) = (self.line.clone(), self.queue.clone());
        let (stop, mut stopped) = watch::channel(());
        let looking = tokio::spawn(async move {
            let mut views = Vec::new();
            loop {
                // A look that a busy machine lost is one look less.
                views.extend(line.queue_view(&queue).await);
                tokio::select! {
                    _ = stopped.changed() => return views,
                    () = sleep(Duration::from_millis(20)) => {}
                }
            }
        });
        Watch { stop, looking }
    }

    /// The journal is empty after a while, and the table has everybody as done, called in the order of their places.
    async fn table_agrees(&self, guests: &[Guest]) {
        let end = Instant::now() + BOUND;
        // The last calls are over: one more that looks, as anybody's would.
        while self.view().await.journal_len > 0 {
            assert!(Instant::now() < end, "the journal is never empty");
            self.send(|| Ask::get(format!("/queues/{}/entries/{}", self.queue, guests[0].token)))
                .await;
            sleep(Duration::from_millis(200)).await;
        }
        let shelf = EntryPartition::from_configuration(&self.queue, &self.view().await.configuration);
        let mut called = Vec::new();
        for guest in guests {
            let id = guest.token.parse().expect("a token");
            let record = self
                .backup
                .read_entry(&shelf, id)
                .await
                .expect("the table answers");
            let record = record.expect("a record");
            assert_eq!(record.state, EntryState::Completed, "{record:?}");
            called.push((
                guest.joined_at_ms,
                record.promoted_at_ms.expect("let out of the line"),
            ));
        }
        assert!(
            called.is_sorted_by_key(|(_, promoted_at_ms)| *promoted_at_ms),
            "{called:?}"
        );
    }
}

async fn table(tables: &TableNames) -> DynamoDbBackup {
    DynamoDbBackup::connect(Connection {
        endpoint_url: Some(dynamodb_url()),
        tables: tables.clone(),
    })
    .await
}

struct Watch {
    stop: watch::Sender<()>,
    looking: tokio::task::JoinHandle<Vec<QueueView>>,
}

impl Watch {
    async fn views(self) -> Vec<QueueView> {
        drop(self.stop);
        self.looking.await.expect("it looked to the end")
    }
}

/// Between any two looks the bucket gave no more than was in it and what ran in meanwhile.
fn kept_pace_and_capacity(views: &[QueueView]) {
    let batch = u64::from(BATCH);
    for (n, from) in views.iter().enumerate() {
        assert!(from.ready + from.active <= CAPACITY.into(), "{from:?}");
        for to in &views[n..] {
            let let_out = |view: &QueueView| view.totals.promoted + view.totals.fast_tracked;
            let (went, passed_ms) = (let_out(to) - let_out(from), to.now_ms - from.now_ms);
            assert!(
                went <= batch + passed_ms * batch / 1_000,
                "{went} in {passed_ms} ms"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_processes_drive_at_once_and_the_pace_is_kept() {
    let scene = Scene::open(Backend::Redis).await;
    let watch = scene.watched();
    let mut guests = Vec::new();
    for _ in 0..VISITORS {
        guests.push(scene.enters().await);
    }
    scene.everybody_goes_through(&guests).await;
    let views = watch.views().await;
    kept_pace_and_capacity(&views);
    let (first, last) = (&views[0], views.last().expect("some"));
    assert_eq!(
        (last.heartbeat_ms, last.totals.no_shows),
        (0, 0),
        "no promoter has been there"
    );
    let mut ticks: Vec<_> = views.iter().map(|view| view.fallback_ticked_at_ms).collect();
    ticks.dedup();
    let seconds = (last.now_ms - first.now_ms) / 1_000;
    assert!(
        ticks.len() as u64 <= seconds * 10 / 9 + 2,
        "{} ticks in {seconds} s",
        ticks.len()
    );
    scene.table_agrees(&guests).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_move_on_where_the_promoter_ends_in_the_middle() {
    let scene = Scene::open(Backend::Redis).await;
    let (line, backup) = (Arc::new(scene.line.clone()), Arc::new(scene.backup.clone()));
    let promoter = Arc::new(Promoter::new(line, backup, SettingsPolicy::default()));
    let running = tokio::spawn(async move { promoter.run(std::future::pending()).await });
    let watch = scene.watched();
    let mut guests = Vec::new();
    for _ in 0..VISITORS {
        guests.push(scene.enters().await);
    }
    let dies = async {
        let promoted = async || scene.view().await.totals.promoted >= 10;
        wait_until(BOUND, "ten are called", promoted).await;
        let driven_at_ms = scene.view().await.fallback_ticked_at_ms;
        running.abort();
        driven_at_ms
    };
    let (driven_at_ms, ()) = tokio::join!(dies, scene.everybody_goes_through(&guests));
    let views = watch.views().await;
    kept_pace_and_capacity(&views);
    let last = views.last().expect("some");
    assert!(
        last.fallback_ticked_at_ms > driven_at_ms,
        "since then calls have driven"
    );
    assert!(
        last.heartbeat_ms > 0 && last.now_ms > last.heartbeat_ms + 3_000,
        "{last:?}"
    );
    scene.table_agrees(&guests).await;
}
