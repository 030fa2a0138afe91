//! A Redis that stops, dies and comes back under a process that goes on: what visitors and the protected service notice.
//! Behind it is the `DynamoDB` emulator.

use std::{
    net::TcpListener,
    process::{Child, Command, Stdio},
    sync::Arc,
    time::Duration,
};

use axum::Router;
use futures_util::future::join_all;
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio::{
    sync::watch,
    time::{Instant, sleep},
};
use uuid::Uuid;
use vestibule::{
    backup::{Backup, LinePart, StoredQueue},
    config::Keys,
    domain::id::{QueueId, RootKey},
    http::{Edge, router},
    line::{Line, PromoteOrder, redis::RedisLine},
};
use vestibule_tests::{
    edge::{Answer, Ask, BOUND, configuration, local, send_to, signer},
    lines::fresh_queue,
    servers,
};

/// No call takes longer than 2 s; as much again for a machine that has other things to do.
const NO_HANG: Duration = Duration::from_secs(4);

/// A server of this test's own, which keeps what it has when it is killed.
struct Server {
    child: Child,
    port: u16,
    dir: TempDir,
    is_cluster: bool,
}

impl Server {
    fn start(is_cluster: bool) -> Self {
        // Two at once, so that they differ; the second is for the bus of a cluster.
        let listeners = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").expect("a free port"));
        let [port, bus] = listeners
            .each_ref()
            .map(|l| l.local_addr().expect("an address").port());
        drop(listeners);
        let dir = tempfile::tempdir().expect("a folder");
        if is_cluster {
            let options = format!(
                "cluster-enabled yes\ncluster-port {bus}\ncluster-announce-ip 127.0.0.1\n\
                 cluster-require-full-coverage no\n"
            );
            std::fs::write(dir.path().join("more.conf"), options).expect("written");
        } else {
            std::fs::write(dir.path().join("more.conf"), "").expect("written");
        }
        let child = Self::launch(&dir, port);
        Self {
            child,
            port,
            dir,
            is_cluster,
        }
    }

    fn launch(dir: &TempDir, port: u16) -> Child {
        Command::new("redis-server")
            .arg(dir.path().join("more.conf"))
            .args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--save", ""])
            .args(["--appendonly", "yes", "--appendfsync", "always", "--dir"])
            .arg(dir.path())
            .stdout(Stdio::null())
            .spawn()
            .expect("redis-server is installed")
    }

    fn url(&self) -> String {
        let scheme = if self.is_cluster { "redis+cluster" } else { "redis" };
        format!("{scheme}://127.0.0.1:{}", self.port)
    }

    async fn assign_slots(&self) {
        let end = Instant::now() + BOUND;
        let cli = |words: &[&str]| {
            let port = self.port.to_string();
            let said = Command::new("redis-cli").args(["-p", &port]).args(words).output();
            String::from_utf8(said.expect("redis-cli is installed").stdout).expect("text")
        };
        while !cli(&["cluster", "info"]).contains("cluster_state:ok") {
            assert!(Instant::now() < end, "no cluster in {BOUND:?}");
            cli(&["cluster", "addslotsrange", "0", "16383"]);
            sleep(Duration::from_millis(50)).await;
        }
    }

    fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let status = Command::new("kill").args([name, &pid]).status();
        assert!(status.expect("kill is there").success());
    }

    /// Nobody hears from it any more, and no connection breaks.
    fn freeze(&mut self) {
        self.signal("-STOP");
    }

    fn thaw(&mut self) {
        self.signal("-CONT");
    }

    /// `kill -9`
    fn kill(&mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
    }

    fn restart(&mut self) {
        self.child = Self::launch(&self.dir, self.port);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Visitor {
    id: String,
    at: String,
    entered: Answer,
}

/// A process that serves visitors, over that Redis and the emulator.
struct Process {
    queue: QueueId,
    routes: Router,
    _stop: watch::Sender<bool>,
}

impl Process {
    async fn over(url: &str, queue: &QueueId) -> Self {
        let line = RedisLine::connect_later(url, None).expect("an address");
        let backup = servers::dynamodb().await;
        let keys = Keys {
            root: RootKey::new(vec![7; 32]).expect("long enough"),
            signer: signer(),
        };
        let (stop, stopped) = watch::channel(false);
        let edge = Edge::new(Arc::new(line), Arc::new(backup), keys, local(), stopped);
        Self {
            queue: queue.clone(),
            routes: router(edge),
            _stop: stop,
        }
    }

    /// Sends it and sees that it does not hang.
    async fn send(&self, ask: Ask) -> (Answer, Duration) {
        let begun = Instant::now();
        let answer = send_to(&self.routes, ask).await;
        let took = begun.elapsed();
        assert!(took < NO_HANG, "{took:?} for {answer:?}");
        (answer, took)
    }

    async fn enters(&self) -> Visitor {
        let id = Uuid::new_v4().to_string();
        let ask = || Ask::post(format!("/queues/{}/entries", self.queue)).visitor(&id);
        let entered = self.in_time(ask, |answer| answer.status == 201).await;
        let at = format!("/queues/{}/entries/{}", self.queue, entered.text("token"));
        Visitor { id, at, entered }
    }

    /// Sends it until the answer is so; gives up after a while.
    async fn in_time(&self, ask: impl Fn() -> Ask, is_so: impl Fn(&Answer) -> bool) -> Answer {
        let begun = Instant::now();
        loop {
            let (answer, _) = self.send(ask()).await;
            if is_so(&answer) {
                println!("so after {:?}", begun.elapsed());
                return answer;
            }
            assert!(
                begun.elapsed() < BOUND,
                "in {BOUND:?} it was never so: {answer:?}"
            );
            sleep(Duration::from_millis(50)).await;
        }
    }
}

fn look(visitor: &Visitor) -> Ask {
    Ask::get(visitor.at.clone()).visitor(&visitor.id)
}

fn settings() -> Map<String, Value> {
    let settings = json!({
        "capacity": 1, "batch": 1, "session_seconds": 3_600, "on_outage": "open", "outage_grace_seconds": 60,
    });
    settings.as_object().expect("an object").clone()
}

/// Creates a queue in the line and in the backup.
async fn create(url: &str) -> QueueId {
    let (queue, configuration) = (fresh_queue(), configuration(&settings(), "1"));
    let end = Instant::now() + BOUND;
    let line = RedisLine::connect_later(url, None).expect("an address");
    while let Err(error) = line.configure(&queue, &configuration, true).await {
        assert!(Instant::now() < end, "{error}");
        sleep(Duration::from_millis(50)).await;
    }
    let stored = StoredQueue {
        settings: settings().into(),
        settings_order: 0,
        line: LinePart::new(configuration.salt),
    };
    let created = servers::dynamodb().await.create_queue(&queue, &stored).await;
    assert!(created.expect("the backup answers"));
    queue
}

/// What everybody notices while the line is away.
async fn is_degraded(process: &Process, inside: &Visitor, waiting: &Visitor) {
    let mut slowest = Duration::ZERO;
    let mut ask = async |ask: Ask| {
        let (answer, took) = process.send(ask).await;
        slowest = slowest.max(took);
        answer
    };
    for _ in 0..2 {
        let answer = ask(look(waiting)).await;
        assert_eq!(answer.is(200).text("state"), "waiting");
        assert_eq!(answer.body["degraded"], true);
        assert!(answer.body.get("position").is_none(), "{answer:?}");
        let answer = ask(look(inside)).await;
        assert_eq!(answer.is(200).body["degraded"], true);
        let question = json!({ "pass": answer.text("pass") });
        let answer = ask(Ask::post(format!("{}/validate", inside.at)).json(&question)).await;
        assert_eq!(answer.is(200).body["degraded"], true);
        for change in [
            Ask::post(format!("/queues/{}/entries", process.queue)),
            Ask::post(format!("{}/claim", waiting.at)).visitor(&waiting.id),
            Ask::post(format!("{}/complete", waiting.at)),
            Ask::post(format!("{}/extend", waiting.at))
                .visitor(&waiting.id)
                .json(&json!({ "seconds": 60 })),
        ] {
            let answer = ask(change).await;
            answer.is_problem(503, "line-unavailable").header("retry-after");
        }
    }
    let crowd = join_all((0..100).map(|_| process.send(look(waiting)))).await;
    let slowest_of_crowd = crowd.iter().map(|(_, took)| *took).max();
    println!("slowest call {slowest:?}, of a hundred at once {slowest_of_crowd:?}");
    let (answered, others): (Vec<_>, Vec<_>) = crowd.iter().partition(|(answer, _)| answer.status == 200);
    // The emulator may be too slow for all of them: those are told to come again.
    for (answer, _) in &others {
        answer.is_problem(503, "line-unavailable").header("retry-after");
    }
    println!("{} of them hear where they stand", answered.len());
    assert!(answered.len() > others.len());
}

async fn goes_on(process: &Process, inside: &Visitor, waiting: &Visitor) {
    let answer = process
        .in_time(|| look(waiting), |answer| answer.body["degraded"] == false)
        .await;
    assert_eq!(answer.is(200).number("position"), 1, "nobody lost a place");
    let (answer, _) = process.send(look(inside)).await;
    assert_eq!(
        answer.is(200).number("expires_at_ms"),
        inside.entered.number("expires_at_ms")
    );
    let question = json!({ "visitor": inside.id });
    let (answer, _) = process
        .send(Ask::post(format!("{}/validate", inside.at)).json(&question))
        .await;
    assert!(answer.is(200).body.get("degraded").is_none(), "{answer:?}");
}

async fn survives(is_cluster: bool) {
    let mut server = Server::start(is_cluster);
    if is_cluster {
        server.assign_slots().await;
    }
    let queue = create(&server.url()).await;
    let process = Process::over(&server.url(), &queue).await;
    let (inside, waiting) = (process.enters().await, process.enters().await);
    assert_eq!(inside.entered.text("state"), "active");

    server.freeze();
    is_degraded(&process, &inside, &waiting).await;
    server.thaw();
    goes_on(&process, &inside, &waiting).await;

    server.kill();
    is_degraded(&process, &inside, &waiting).await;
    // A process that starts meanwhile has never seen the line.
    let late = Process::over(&server.url(), &queue).await;
    is_degraded(&late, &inside, &waiting).await;
    server.restart();
    goes_on(&process, &inside, &waiting).await;
    goes_on(&late, &inside, &waiting).await;
}

#[tokio::test]
async fn a_redis_that_stops_and_dies_is_missed_and_used_again() {
    survives(false).await;
}

#[tokio::test]
async fn a_cluster_that_stops_and_dies_is_missed_and_used_again() {
    survives(true).await;
}

/// Waits until a process listens to the queue.
async fn until_heard(server: &Server, queue: &QueueId) {
    let address = format!("redis://127.0.0.1:{}", server.port);
    let client = redis::Client::open(address).expect("an address");
    let mut link = servers::link(client).await;
    let end = Instant::now() + BOUND;
    loop {
        let mut ask = redis::cmd("PUBSUB");
        ask.arg("SHARDNUMSUB")
            .arg(format!("vestibule:{{{queue}}}:changes"));
        let (_, listeners): (String, u64) = ask.query_async(&mut link).await.expect("it answers");
        if listeners == 1 {
            return;
        }
        assert!(Instant::now() < end, "nobody listened in {BOUND:?}");
        sleep(Duration::from_millis(20)).await;
    }
}

/// Whoever is held hears that the line is away, and whoever is held when it is back hears of the turn.
async fn holds_again(is_cluster: bool) {
    let mut server = Server::start(is_cluster);
    if is_cluster {
        server.assign_slots().await;
    }
    let queue = create(&server.url()).await;
    let line = RedisLine::connect(&server.url()).await.expect("it answers");
    let mut brisk = settings();
    brisk.insert("interval_seconds".to_owned(), json!(1));
    let changed = line.configure(&queue, &configuration(&brisk, "2"), false).await;
    changed.expect("there is the queue");
    let process = Process::over(&server.url(), &queue).await;
    let (inside, waiting) = (process.enters().await, process.enters().await);
    // What died with the line is held for as long as its lease: another one is, after that.
    let behind = process.enters().await;
    let hold = |visitor: &Visitor| {
        let (routes, ask) = (
            process.routes.clone(),
            Ask::get(format!("{}?wait=20", visitor.at)),
        );
        tokio::spawn(async move { send_to(&routes, ask).await })
    };

    let held = hold(&behind);
    until_heard(&server, &queue).await;
    server.kill();
    let answer = held.await.expect("it is answered");
    assert_eq!(answer.is(200).text("state"), "waiting");
    assert_eq!(answer.body["degraded"], true);

    server.restart();
    goes_on(&process, &inside, &waiting).await;
    let held = hold(&waiting);
    until_heard(&server, &queue).await;
    let done = Ask::post(format!("{}/complete", inside.at));
    process.send(done).await.0.is(204);
    let order = PromoteOrder {
        asked: 1,
        heartbeat: true,
        fence: None,
    };
    let end = Instant::now() + BOUND;
    let promotion = loop {
        match line.promote(&queue, order).await {
            Ok(promotion) => break promotion,
            // Its link is the old one.
            Err(error) => assert!(Instant::now() < end, "{error}"),
        }
        sleep(Duration::from_millis(50)).await;
    };
    assert_eq!(promotion.promoted, 1, "{promotion:?}");
    let answer = held.await.expect("it is answered");
    assert_eq!(answer.is(200).text("state"), "ready");
    // The table has not heard of it yet: the message said so.
    assert_eq!(answer.number("promoted_at_ms"), promotion.now_ms);
}

#[tokio::test]
async fn a_hold_outlives_no_redis_and_the_next_one_is_told_again() {
    holds_again(false).await;
}

#[tokio::test]
async fn a_hold_outlives_no_cluster_and_the_next_one_is_told_again() {
    holds_again(true).await;
}
