//! Requests alone promote: several processes on one Redis and one table, like so many environments of a
//! function. All visitors get through in order, within pace and capacity, and the table has every entry.

use std::{sync::Arc, time::Duration};

use axum::Router;
use futures_util::future::join_all;
use serde_json::json;
use tokio::{
    sync::watch,
    time::{sleep, timeout},
};
use vestibule_backup::{Backup, EntryPartition, QueueMetadata, StoredQueue};
use vestibule_backup_dynamodb::{Connection, DynamoDbBackup, TableNames};
use vestibule_crowd::{
    act::Act,
    crowd::{Crowd, PlannedVisit},
    door::{Caller, Door as _},
    record::{VisitEnd, VisitRecord},
    temper::Temper,
};
use vestibule_domain::{id::QueueId, settings::Settings, state::EntryState};
use vestibule_engine::sync::SettingsPolicy;
use vestibule_line::{Line, OperatorView};
use vestibule_promoter::Promoter;
use vestibule_tests::{
    api::{ApiDoor, Transport},
    functions::fresh_tables,
    in_process::{ApiRequest, ApiResponse, build_router, local_config, send_to},
    lines::{Backend, configuration, fresh_queue},
    servers::dynamodb_url,
    waiting::{poll_until, wait_until},
};

const PROCESSES: usize = 8;
const VISITORS: u32 = 60;
/// The visitors arrive so far apart, and stay for so long.
const ARRIVAL_PAUSE: Duration = Duration::from_millis(20);
const STAY_MS: f64 = 500.0;
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

/// Sends each request to a random process, as a gateway does.
struct AnyProcess(Vec<Router>);

impl Transport for AnyProcess {
    async fn exchange(&self, _: Act, request: ApiRequest) -> Option<ApiResponse> {
        let any = rand::random_range(0..self.0.len());
        Some(send_to(&self.0[any], request).await)
    }
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

    fn door(&self) -> ApiDoor<AnyProcess> {
        ApiDoor::new(AnyProcess(self.processes.clone()), self.queue.as_str())
    }

    /// Lets all visitors through, who enter one after the other and stay for a moment.
    async fn serve_all(&self) -> Vec<VisitRecord> {
        let crowd = Crowd::new(self.door());
        let visits = (0..VISITORS).map(async |nth| {
            let visit = PlannedVisit {
                arrives_after: ARRIVAL_PAUSE * nth,
                caller: Caller::anonymous(),
                temper: Temper::honest(STAY_MS),
                seed: rand::random(),
            };
            crowd.run(visit).await.record
        });
        let records = timeout(BOUND, join_all(visits)).await.expect("in time");
        for record in &records {
            assert_eq!(record.end, Some(VisitEnd::Completed), "{record:?}");
        }
        records
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
    async fn expect_table_to_agree(&self, records: &[VisitRecord]) {
        let token = |record: &VisitRecord| record.token.clone().expect("a place");
        let wait = async || {
            // The last requests have ended, so one more status request flushes the journal.
            let _ = self
                .door()
                .status(&Caller::default(), &token(&records[0]), 0)
                .await;
            self.view().await.journal_len == 0
        };
        wait_until(BOUND, "the journal is empty", wait).await;
        let partition = EntryPartition::from_configuration(&self.queue, &self.view().await.configuration);
        let mut promoted = Vec::new();
        for record in records {
            let id = token(record).parse().expect("a token");
            let entry = self.backup.read_entry(&partition, id).await;
            let entry = entry.expect("the table answers").expect("a record");
            assert_eq!(entry.state, EntryState::Completed, "{entry:?}");
            promoted.push((
                record.place,
                entry.promoted_at_ms.expect("a completed entry was promoted"),
            ));
        }
        // Those who did not wait have no place, and were let in first.
        promoted.sort_unstable();
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
    let records = scene.serve_all().await;
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
    scene.expect_table_to_agree(&records).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fallback_ticks_take_over_from_a_promoter_that_dies() {
    let scene = Scene::open(Backend::Redis).await;
    let (line, backup) = (scene.line.clone(), Arc::new(scene.backup.clone()));
    let promoter = Arc::new(Promoter::new(line, backup, SettingsPolicy::default()));
    let running = tokio::spawn(async move { promoter.run(std::future::pending()).await });
    let watch = scene.start_watch();
    let promoter_death = async {
        let promoted = async || scene.view().await.totals.promoted >= 10;
        wait_until(BOUND, "ten entries are promoted", promoted).await;
        let fallback_ticked_before_ms = scene.view().await.fallback_ticked_at_ms;
        running.abort();
        fallback_ticked_before_ms
    };
    let (fallback_ticked_before_ms, records) = tokio::join!(promoter_death, scene.serve_all());
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
    scene.expect_table_to_agree(&records).await;
}
