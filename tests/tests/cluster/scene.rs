//! A new cluster, two processes that use it, their promoter, and the tables in DynamoDB.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use axum::Router;
use serde_json::{Value, json};
use tokio::{sync::watch, task::JoinHandle, time::sleep};
use vestibule_admin::Admin;
use vestibule_backup::Backup;
use vestibule_backup_dynamodb::{Connection, DynamoDbBackup};
use vestibule_domain::{
    id::{EntryId, QueueId},
    record::EntryRecord,
};
use vestibule_engine::sync::SettingsPolicy;
use vestibule_line::Line;
use vestibule_promoter::Promoter;
use vestibule_tests::{
    cluster::{Node, OwnCluster},
    entries::partition_of,
    functions::{fresh_tables, root_key},
    in_process::{self, BOUND, local_config},
    lines::fresh_queue,
    servers::dynamodb_url,
};

pub(crate) const CAPACITY: u64 = 40;
pub(crate) const BATCH: u64 = 10;

pub(crate) struct Scene {
    pub(crate) own: OwnCluster,
    pub(crate) processes: Vec<Router>,
    /// The queue whose primary dies.
    pub(crate) struck: QueueId,
    /// A queue on another primary.
    pub(crate) spared: QueueId,
    url: String,
    backup: Arc<DynamoDbBackup>,
    most_inside: Arc<AtomicU64>,
    promoting: Option<JoinHandle<()>>,
    stop: watch::Sender<bool>,
}

impl Scene {
    pub(crate) async fn open() -> Self {
        let own = OwnCluster::start();
        let connection = Connection {
            endpoint_url: Some(dynamodb_url()),
            tables: fresh_tables(),
        };
        let backup = Arc::new(DynamoDbBackup::connect(connection).await);
        backup.create_tables_if_missing().await.expect("tables");

        let struck = fresh_queue();
        let dying = own.cluster.primary_of(&struck).await;
        let spared = loop {
            let queue = fresh_queue();
            if own.cluster.primary_of(&queue).await.port != dying.port {
                break queue;
            }
        };
        // The processes know only the address of the primary that dies.
        let url = own.cluster.url_with_nodes(&format!("127.0.0.1:{}", dying.port));
        let (stop, stopped) = watch::channel(false);
        let process = || process(&url, &backup, &stopped);
        let promoter = Arc::new(Promoter::new(
            line(&url),
            backup.clone(),
            SettingsPolicy::default(),
        ));
        let mut until = stopped.clone();
        let mut scene = Self {
            processes: vec![process(), process()],
            promoting: None,
            own,
            struck,
            spared,
            url: url.clone(),
            most_inside: Arc::default(),
            backup,
            stop,
        };
        for queue in [&scene.struck, &scene.spared] {
            scene.create(queue).await;
        }
        // The promoter starts now, so that it finds both queues in the line and restores neither.
        scene.promoting = Some(tokio::spawn(async move {
            let stopped = async move { drop(until.wait_for(|stop| *stop).await) };
            promoter.run(stopped).await;
        }));
        scene.watch(line(&url));
        scene
    }

    async fn create(&self, queue: &QueueId) {
        let admin = Admin {
            line: line(&self.url),
            backup: self.backup.clone(),
            root_key: root_key().into(),
            policy: SettingsPolicy::default(),
            signing_keys: vestibule_tests::functions::fixed_signing_keys(),
        };
        // Each visitor in line has the turn by the place alone, however late the first poll comes in an outage.
        let settings = json!({
            "capacity": CAPACITY, "batch": BATCH, "interval_seconds": 1, "claim_seconds": 20, "session_seconds": 20,
            "presence_seconds": 0,
        });
        let order = json!({ "op": "create", "queue": queue.to_string(), "settings": settings });
        let answer = admin.handle(order).await;
        assert_eq!(answer["ok"], Value::Bool(true), "{answer}");
    }

    /// Watches all the time how many slots are taken.
    fn watch(&self, line: Line) {
        let (queue, most_inside) = (self.struck.clone(), self.most_inside.clone());
        let stopped = self.stop.subscribe();
        tokio::spawn(async move {
            while !*stopped.borrow() {
                if let Ok(view) = line.queue_view(&queue).await {
                    most_inside.fetch_max(view.ready + view.active, Ordering::SeqCst);
                }
                sleep(Duration::from_millis(20)).await;
            }
        });
    }

    /// The highest number of ready and active entries at once.
    pub(crate) fn most_inside(&self) -> u64 {
        self.most_inside.load(Ordering::SeqCst)
    }

    /// A process that starts now and knows these nodes.
    pub(crate) fn start_late_process(&self, nodes: &[u16]) -> Router {
        let nodes: Vec<_> = nodes.iter().map(|port| format!("127.0.0.1:{port}")).collect();
        process(
            &self.own.cluster.url_with_nodes(&nodes.join(",")),
            &self.backup,
            &self.stop.subscribe(),
        )
    }

    /// The primary of the struck queue, and its replica.
    pub(crate) async fn primary_and_replica(&self) -> (Node, Node) {
        let primary = self.own.cluster.primary_of(&self.struck).await;
        let nodes = self.own.cluster.live_nodes().await;
        let replica = nodes
            .into_iter()
            .find(|node| node.primary_id.as_ref() == Some(&primary.id));
        (primary, replica.expect("each primary has a replica"))
    }

    /// The entries that a node holds of the struck queue, whatever their state.
    pub(crate) async fn entries_on(&self, node: &mut Node) -> Vec<EntryId> {
        node.query::<String>(&["READONLY"]).await;
        let mut entries_on = Vec::new();
        for set in ["waiting", "ready", "active"] {
            let key = format!("vestibule:{{{}}}:{set}", self.struck);
            let found: Vec<String> = node.query(&["ZRANGE", &key, "0", "-1"]).await;
            entries_on.extend(
                found
                    .iter()
                    .map(|member| EntryId::from_member(member).expect("a member")),
            );
        }
        entries_on
    }

    /// The record of an entry in the table.
    pub(crate) async fn record(&self, token: &str) -> EntryRecord {
        let partition = partition_of(self.struck.clone());
        let record = self
            .backup
            .read_entry(&partition, token.parse().expect("a token"))
            .await;
        record.expect("an answer").expect("a record")
    }

    /// Stops the promoter and waits until it has finished its steps.
    pub(crate) async fn close(&mut self) {
        self.stop.send(true).expect("a task listens");
        let ended = tokio::time::timeout(BOUND, self.promoting.take().expect("it runs")).await;
        ended.expect("in time").expect("without a panic");
    }
}

fn line(url: &str) -> Line {
    Line::connect_lazily(url, None).expect("an address")
}

fn process(url: &str, backup: &Arc<DynamoDbBackup>, stopped: &watch::Receiver<bool>) -> Router {
    in_process::build_router(line(url), backup.clone(), local_config(), stopped)
}
