//! Requests alone promote: several processes on one Redis and one table, like so many environments of a
//! function. All visitors get through in order, within pace and capacity, and the table has every entry.

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
use vestibule_line::{Line, OperatorView};
use vestibule_promoter::Promoter;
use vestibule_tests::{
    functions::fresh_tables,
    in_process::{ApiRequest, ApiResponse, build_router, local_config, send_to},
    lines::{Backend, configuration, fresh_queue},
    servers::dynamodb_url,
    waiting::{poll_until, wait_until},
};

const PROCESSES: usize = 8;
const VISITORS: usize = 60;
const CAPACITY: u32 = 12;
const BATCH: u32 = 4;
/// Sixty visitors at four a second take 15 s.
const BOUND: Duration = Duration::from_mins(2);

struct Scene {
    queue: QueueId,
    line: Line,
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
        let line = Line::connect_patiently(&url).await.expect("it answers");
        line.configure(&queue, &configuration, true)
            .await
            .expect("configured");
        // The tables are new, because a promoter serves every queue that it finds.
        let tables = fresh_tables();
        let backup = connect_backup(&tables).await;
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
            let own = Line::connect_patiently(&url).await.expect("it answers");
            let backup = Arc::new(connect_backup(&tables).await);
            processes.push(build_router(own, backup, local_config(), &stopped));
        }
        Self {
            queue,
            line,
            backup,
            processes,
            _stop: stop,
        }
    }

    /// Sends a request to a random process, as a gateway does. Repeats it if a busy machine took too long.
    async fn send(&self, ask: impl Fn() -> ApiRequest) -> ApiResponse {
        let send = async || {
            let any = rand::random_range(0..self.processes.len());
            send_to(&self.processes[any], ask()).await
        };
        poll_until(BOUND, send, |answer| answer.status != 503).await
    }

    async fn enter_and_expect_created(&self) -> Guest {
        let id = Uuid::new_v4().to_string();
        let answer = self
            .send(|| ApiRequest::post(format!("/queues/{}/entries", self.queue)).visitor(&id))
            .await;
        Guest {
            id,
            token: answer.text("token").to_owned(),
            joined_at_ms: answer.number("joined_at_ms"),
            state: answer.text("state").to_owned(),
        }
    }

    /// Polls until the turn comes, sometimes with a held poll. Then claims, stays for a moment and completes.
    async fn wait_and_complete(&self, guest: &Guest, nth: usize) {
        let path = format!("/queues/{}/entries/{}", self.queue, guest.token);
        let wait = if nth.is_multiple_of(3) { "?wait=5" } else { "" };
        let mut state = guest.state.clone();
        while state == "waiting" {
            sleep(Duration::from_millis(200 + nth as u64 * 7 % 300)).await;
            let answer = self
                .send(|| ApiRequest::get(format!("{path}{wait}")).visitor(&guest.id))
                .await;
            answer.expect_status(200).text("state").clone_into(&mut state);
        }
        if state == "ready" {
            let claim = || {
                ApiRequest::post(format!("{path}/claim"))
                    .visitor(&guest.id)
                    .json(&json!({}))
            };
            self.send(claim).await.expect_status(200);
        }
        sleep(Duration::from_millis(500)).await;
        self.send(|| ApiRequest::post(format!("{path}/complete")).json(&json!({})))
            .await
            .expect_status(204);
    }

    async fn all_wait_and_complete(&self, guests: &[Guest]) {
        let going = guests
            .iter()
            .enumerate()
            .map(|(nth, guest)| self.wait_and_complete(guest, nth));
        timeout(BOUND, join_all(going)).await.expect("in time");
    }

    async fn view(&self) -> OperatorView {
        let view = async || self.line.queue_view(&self.queue).await;
        poll_until(BOUND, view, Result::is_ok).await.expect("a view")
    }

    /// Watches the line all the time.
    fn start_watch(&self) -> Watch {
        let (line, queue) = (self.line.clone(), self.queue.clone());
        let (stop, mut stopped) = watch::channel(());
        let watching = tokio::spawn(async move {
            let mut views = Vec::new();
            loop {
                // On a busy machine a view may fail. It is left out.
                views.extend(line.queue_view(&queue).await);
                tokio::select! {
                    _ = stopped.changed() => return views,
                    () = sleep(Duration::from_millis(20)) => {}
                }
            }
        });
        Watch { stop, watching }
    }

    /// Waits until the journal is empty. Then the table shows every entry as completed, promoted in the order
    /// of the places.
    async fn expect_table_to_agree(&self, guests: &[Guest]) {
        let end = Instant::now() + BOUND;
        // The last requests have ended, so one more status request flushes the journal.
        while self.view().await.journal_len > 0 {
            assert!(Instant::now() < end, "the journal did not become empty in time");
            self.send(|| ApiRequest::get(format!("/queues/{}/entries/{}", self.queue, guests[0].token)))
                .await;
            sleep(Duration::from_millis(200)).await;
        }
        let partition = EntryPartition::from_configuration(&self.queue, &self.view().await.configuration);
        let mut promoted = Vec::new();
        for guest in guests {
            let id = guest.token.parse().expect("a token");
            let record = self
                .backup
                .read_entry(&partition, id)
                .await
                .expect("the table answers");
            let record = record.expect("a record");
            assert_eq!(record.state, EntryState::Completed, "{record:?}");
            promoted.push((
                guest.joined_at_ms,
                record.promoted_at_ms.expect("a completed entry was promoted"),
            ));
        }
        assert!(
            promoted.is_sorted_by_key(|(_, promoted_at_ms)| *promoted_at_ms),
            "{promoted:?}"
        );
    }
}

async fn connect_backup(tables: &TableNames) -> DynamoDbBackup {
    DynamoDbBackup::connect(Connection {
        endpoint_url: Some(dynamodb_url()),
        tables: tables.clone(),
    })
    .await
}

struct Watch {
    stop: watch::Sender<()>,
    watching: tokio::task::JoinHandle<Vec<OperatorView>>,
}

impl Watch {
    async fn views(self) -> Vec<OperatorView> {
        drop(self.stop);
        self.watching.await.expect("the watching task does not panic")
    }
}

/// Between any two views the bucket gave at most what it held and what it earned meanwhile.
fn verify_pace_and_capacity(views: &[OperatorView]) {
    let batch = u64::from(BATCH);
    for (n, from) in views.iter().enumerate() {
        assert!(from.ready + from.active <= CAPACITY.into(), "{from:?}");
        for to in &views[n..] {
            let let_in = |view: &OperatorView| view.totals.promoted + view.totals.fast_tracked;
            let (went, passed_ms) = (let_in(to) - let_in(from), to.now_ms - from.now_ms);
            assert!(
                went <= batch + passed_ms * batch / 1_000,
                "{went} entries were let in within {passed_ms} ms"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fallback_ticks_of_many_processes_keep_the_pace() {
    let scene = Scene::open(Backend::Redis).await;
    let watch = scene.start_watch();
    let mut guests = Vec::new();
    for _ in 0..VISITORS {
        guests.push(scene.enter_and_expect_created().await);
    }
    scene.all_wait_and_complete(&guests).await;
    let views = watch.views().await;
    verify_pace_and_capacity(&views);
    let (first, last) = (&views[0], views.last().expect("some"));
    assert_eq!(
        (last.heartbeat_ms, last.totals.no_shows),
        (0, 0),
        "no promoter has ticked"
    );
    let mut ticks: Vec<_> = views.iter().map(|view| view.fallback_ticked_at_ms).collect();
    ticks.dedup();
    let seconds = (last.now_ms - first.now_ms) / 1_000;
    assert!(
        ticks.len() as u64 <= seconds * 10 / 9 + 2,
        "{} ticks in {seconds} s",
        ticks.len()
    );
    scene.expect_table_to_agree(&guests).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fallback_ticks_take_over_from_a_promoter_that_dies() {
    let scene = Scene::open(Backend::Redis).await;
    let (line, backup) = (scene.line.clone(), Arc::new(scene.backup.clone()));
    let promoter = Arc::new(Promoter::new(line, backup, SettingsPolicy::default()));
    let running = tokio::spawn(async move { promoter.run(std::future::pending()).await });
    let watch = scene.start_watch();
    let mut guests = Vec::new();
    for _ in 0..VISITORS {
        guests.push(scene.enter_and_expect_created().await);
    }
    let promoter_death = async {
        let promoted = async || scene.view().await.totals.promoted >= 10;
        wait_until(BOUND, "ten entries are promoted", promoted).await;
        let fallback_ticked_before_ms = scene.view().await.fallback_ticked_at_ms;
        running.abort();
        fallback_ticked_before_ms
    };
    let (fallback_ticked_before_ms, ()) = tokio::join!(promoter_death, scene.all_wait_and_complete(&guests));
    let views = watch.views().await;
    verify_pace_and_capacity(&views);
    let last = views.last().expect("some");
    assert!(
        last.fallback_ticked_at_ms > fallback_ticked_before_ms,
        "requests have run fallback ticks since then"
    );
    assert!(
        last.heartbeat_ms > 0 && last.now_ms > last.heartbeat_ms + 3_000,
        "{last:?}"
    );
    scene.expect_table_to_agree(&guests).await;
}
