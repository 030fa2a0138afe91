//! A cluster of the test's own, two processes over it, their promoter, and the tables of DynamoDB.

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
use vestibule_backup::Backup;
use vestibule_backup_dynamodb::{Connection, DynamoDbBackup};
use vestibule_domain::{
    id::{EntryId, QueueId},
    record::EntryRecord,
};
use vestibule_engine::sync::SettingsPolicy;
use vestibule_line::Line;
use vestibule_line_redis::RedisLine;
use vestibule_operate::{admin::Admin, promoter::Promoter};
use vestibule_tests::{
    cluster::{Node, OwnCluster},
    edge::{self, BOUND, local},
    entries::partition_of,
    functions::{fresh_tables, root_key},
    lines::fresh_queue,
    servers::dynamodb_url,
};

pub(crate) const CAPACITY: u64 = 40;
pub(crate) const BATCH: u64 = 10;

pub(crate) struct Scene {
    pub(crate) own: OwnCluster,
    pub(crate) processes: Vec<Router>,
    /// Whose primary dies.
    pub(crate) struck: QueueId,
    /// On another primary.
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
        let dying = own.cluster.owner(&struck).await;
        let spared = loop {
            let queue = fresh_queue();
            if own.cluster.owner(&queue).await.port != dying.port {
                break queue;
            }
        };
        // The one that dies is the only one that the processes were told of.
        let url = own.cluster.url_of(&format!("127.0.0.1:{}", dying.port));
        let (stop, stopped) = watch::channel(false);
        let process = || process(&url, &backup, &stopped);
        let promoter = Arc::new(Promoter::new(
            Arc::new(line(&url)),
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
        // Now, so that it finds both in the line and puts neither back.
        scene.promoting = Some(tokio::spawn(async move {
            let stopped = async move { drop(until.wait_for(|stop| *stop).await) };
            promoter.run(stopped).await;
        }));
        scene.watch(line(&url));
        scene
    }

    async fn create(&self, queue: &QueueId) {
        let admin = Admin {
            line: Arc::new(line(&self.url)),
            backup: self.backup.clone(),
            root_key: root_key(),
            policy: SettingsPolicy::default(),
        };
        let settings = json!({
            "capacity": CAPACITY, "batch": BATCH, "interval_seconds": 1, "claim_seconds": 20, "session_seconds": 20,
        });
        let order = json!({ "op": "create", "queue": queue.to_string(), "settings": settings });
        let answer = admin.handle(order).await;
        assert_eq!(answer["ok"], Value::Bool(true), "{answer}");
    }

    /// Looks all the time how many are inside.
    fn watch(&self, line: RedisLine) {
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

    /// The most who were ready and active at once.
    pub(crate) fn most_inside(&self) -> u64 {
        self.most_inside.load(Ordering::SeqCst)
    }

    /// A process that starts now, and is told of these nodes.
    pub(crate) fn late_process(&self, nodes: &[u16]) -> Router {
        let nodes: Vec<_> = nodes.iter().map(|port| format!("127.0.0.1:{port}")).collect();
        process(
            &self.own.cluster.url_of(&nodes.join(",")),
            &self.backup,
            &self.stop.subscribe(),
        )
    }

    /// The primary of the struck queue, and the replica that follows it.
    pub(crate) async fn pair(&self) -> (Node, Node) {
        let primary = self.own.cluster.owner(&self.struck).await;
        let nodes = self.own.cluster.nodes().await;
        let replica = nodes
            .into_iter()
            .find(|node| node.follows.as_ref() == Some(&primary.id));
        (primary, replica.expect("each primary has one"))
    }

    /// The entries that a node has of the struck queue, whatever their state.
    pub(crate) async fn members(&self, node: &mut Node) -> Vec<EntryId> {
        node.ask::<String>(&["READONLY"]).await;
        let mut members = Vec::new();
        for set in ["waiting", "ready", "active"] {
            let key = format!("vestibule:{{{}}}:{set}", self.struck);
            let found: Vec<String> = node.ask(&["ZRANGE", &key, "0", "-1"]).await;
            members.extend(
                found
                    .iter()
                    .map(|member| EntryId::from_member(member).expect("a member")),
            );
        }
        members
    }

    /// What the table says of an entry.
    pub(crate) async fn record(&self, token: &str) -> EntryRecord {
        let shelf = partition_of(self.struck.clone());
        let record = self
            .backup
            .read_entry(&shelf, token.parse().expect("a token"))
            .await;
        record.expect("an answer").expect("a record")
    }

    /// The promoter ends its run, and everything that it had begun.
    pub(crate) async fn close(&mut self) {
        self.stop.send(true).expect("somebody listens");
        let ended = tokio::time::timeout(BOUND, self.promoting.take().expect("it runs")).await;
        ended.expect("in time").expect("without a panic");
    }
}

fn line(url: &str) -> RedisLine {
    RedisLine::connect_lazily(url, None).expect("an address")
}

fn process(url: &str, backup: &Arc<DynamoDbBackup>, stopped: &watch::Receiver<bool>) -> Router {
    edge::process(Arc::new(line(url)), backup.clone(), local(), stopped)
}
