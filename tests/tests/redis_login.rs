//! Logging in with tokens that are made when they are needed, on a server and on every node of a cluster, whose user has for a
//! password the token of one moment alone.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime},
};

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_credential_types::{
    Credentials,
    provider::{ProvideCredentials, SharedCredentialsProvider, future},
};
use futures_util::future::join_all;
use redis::{FromRedisValue, aio::MultiplexedConnection};
use tokio::sync::watch;
use uuid::Uuid;
use vestibule_line::Line;
use vestibule_line_redis::{IamLogin, IamUser, RedisLine};
use vestibule_tests::{
    lines::{Backend, fresh_queue, open_queue_with_one_waiting, tick_order},
    waiting::{poll_until, wait_until},
};

/// 2026-09-01T12:00:00Z
const START: u64 = 1_788_264_000;
const BOUND: Duration = Duration::from_secs(20);
const HOUR: u64 = 3_600;

/// Credentials that are there once the gate is open.
#[derive(Debug)]
struct Gated(watch::Sender<bool>);

impl ProvideCredentials for Gated {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        let mut open = self.0.subscribe();
        future::ProvideCredentials::new(async move {
            open.wait_for(|open| *open).await.expect("the sender lives");
            let session = Some("session".to_owned());
            Ok(Credentials::new("AKIDEXAMPLE", "secret", session, None, "test"))
        })
    }
}

/// A user of a server, who logs in with tokens by a clock that the test moves.
struct User {
    name: String,
    login: IamLogin,
    clock: Arc<AtomicU64>,
    gate: watch::Sender<bool>,
    /// To each server.
    operators: Vec<MultiplexedConnection>,
}

impl User {
    async fn new(backend: Backend) -> Self {
        let name = format!("app-{}", Uuid::new_v4());
        let (clock, gate) = (Arc::new(AtomicU64::new(START)), watch::Sender::new(true));
        Self {
            login: login(&name, &clock, &gate),
            name,
            clock,
            gate,
            operators: backend.connections().await,
        }
    }

    /// Time passes, and from now on the server takes the token of this moment and no other. Like `ElastiCache`, it asks
    /// nothing of a connection that is open.
    async fn token_of(&mut self, hours: u64) {
        self.clock.store(START + hours * HOUR, Ordering::SeqCst);
        let token = self.login.create_token().await.expect("signed");
        let mut set = redis::cmd("ACL");
        set.arg(&["SETUSER", &self.name, "on", "resetpass", "~*", "&*", "+@all"])
            .arg(format!(">{token}"));
        self.order::<()>(&set).await;
    }

    /// What each server answers.
    async fn order<T: FromRedisValue>(&mut self, command: &redis::Cmd) -> Vec<T> {
        let orders = self.operators.iter_mut().map(async |operator| {
            let done = command.query_async(operator).await;
            done.expect("it answers")
        });
        join_all(orders).await
    }

    /// The id and the last command of each of the user's connections, but for those to replicas: no call goes there.
    async fn connections(&mut self) -> Vec<(String, String)> {
        let lists: Vec<String> = self.order(redis::cmd("CLIENT").arg("LIST")).await;
        let roles: Vec<String> = self.order(redis::cmd("INFO").arg("replication")).await;
        let lists = lists.iter().zip(roles);
        let lists = lists.filter(|(_, role)| role.contains("role:master"));
        let field = |line: &str, name: &str| {
            let value = line
                .split(' ')
                .find_map(|field| field.strip_prefix(name)?.strip_prefix('='));
            value.unwrap_or_default().to_owned()
        };
        // Each server counts its connections by itself.
        let lines = lists
            .enumerate()
            .flat_map(|(server, (list, _))| list.lines().map(move |line| (server, line)));
        let own = lines.filter(|(_, line)| field(line, "user") == self.name);
        own.map(|(server, line)| (format!("{server}:{}", field(line, "id")), field(line, "cmd")))
            .collect()
    }

    /// Waits until the last thing on every connection of the user is this command, pinging where asked.
    async fn until_all_did(&mut self, command: &str, pinging: Option<&RedisLine>) -> Vec<String> {
        let look = async || {
            if let Some(line) = pinging {
                line.ping().await.expect("pings");
            }
            self.connections().await
        };
        let all_did = |connections: &Vec<(String, String)>| {
            !connections.is_empty() && connections.iter().all(|(_, last)| last == command)
        };
        let connections = poll_until(BOUND, look, all_did).await;
        connections.into_iter().map(|(id, _)| id).collect()
    }
}

fn login(name: &str, clock: &Arc<AtomicU64>, gate: &watch::Sender<bool>) -> IamLogin {
    let aws = SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("eu-central-1"))
        .credentials_provider(SharedCredentialsProvider::new(Gated(gate.clone())))
        .build();
    let user = IamUser {
        cache: "line".to_owned(),
        user: name.to_owned(),
    };
    let clock = Arc::clone(clock);
    let now = move || SystemTime::UNIX_EPOCH + Duration::from_secs(clock.load(Ordering::SeqCst));
    IamLogin::new(user, &aws)
        .expect("complete")
        .with_clock(Arc::new(now))
}

async fn each_connection_has_a_fresh_token(backend: Backend) {
    let mut user = User::new(backend).await;
    user.token_of(0).await;
    let line = RedisLine::connect_with_login_without_tls(&backend.url(), user.login.clone())
        .await
        .expect("logs in");
    line.ping().await.expect("pings");

    // The process slept, and its connection is dead.
    user.token_of(2).await;
    let mut kill = redis::cmd("CLIENT");
    kill.arg(&["KILL", "USER", &user.name]);
    let killed: Vec<u64> = user.order(&kill).await;
    assert!(killed.iter().all(|killed| *killed > 0), "{killed:?}");
    let again = async || line.ping().await.is_ok();
    wait_until(BOUND, "it logs in with the token of now", again).await;
}

async fn a_live_connection_logs_in_again(backend: Backend) {
    let mut user = User::new(backend).await;
    user.token_of(0).await;
    let line = RedisLine::connect_with_login_without_tls(&backend.url(), user.login.clone())
        .await
        .expect("logs in");
    // Another one for whoever listens, which pings by itself.
    let listening = line.subscribe(&fresh_queue()).await.expect("listens");
    let before = user.until_all_did("ping", Some(&line)).await;

    user.token_of(7).await;
    // The login is made beside the call, before it or after: here it is held back until it must come after.
    user.gate.send_replace(false);
    line.ping().await.expect("pings, which is use");
    assert_eq!(user.until_all_did("ping", None).await, before);
    user.gate.send_replace(true);
    let after = user.until_all_did("auth", None).await;
    assert_eq!(before, after, "the same connections");
    line.ping().await.expect("and they are of use still");
    drop(listening);
}

/// Its connection is opened when somebody listens first.
async fn whoever_listens_has_a_fresh_token(backend: Backend) {
    let mut user = User::new(backend).await;
    user.token_of(0).await;
    let line = RedisLine::connect_with_login_without_tls(&backend.url(), user.login.clone())
        .await
        .expect("logs in");
    let queue = fresh_queue();
    open_queue_with_one_waiting(&line, &queue).await;

    user.token_of(2).await;
    let mut changes = line
        .subscribe(&queue)
        .await
        .expect("logs in with the token of now");
    let promotion = line.promote(&queue, tick_order(1)).await.expect("promotes");
    assert_eq!(promotion.promoted, 1, "{promotion:?}");
    let heard = tokio::time::timeout(BOUND, changes.next()).await.expect("heard");
    assert_eq!(heard.expect("nothing broke").at_ms, promotion.now_ms);
}

async fn a_wrong_token_is_refused(backend: Backend) {
    let mut user = User::new(backend).await;
    user.token_of(1).await;
    user.clock.store(START, Ordering::SeqCst);
    let refused = RedisLine::connect_with_login_without_tls(&backend.url(), user.login.clone())
        .await
        .expect_err("refused");
    let token = user.login.create_token().await.expect("signed");
    assert!(refused.to_string().contains("cannot be reached"), "{refused}");
    assert!(!refused.to_string().contains(&token), "{refused}");
}

macro_rules! on_each {
    ($($name:ident),*) => {
        mod server { $(#[tokio::test] async fn $name() { super::$name(super::Backend::Redis).await; })* }
        mod valkey { $(#[tokio::test] async fn $name() { super::$name(super::Backend::Valkey).await; })* }
        mod cluster { $(#[tokio::test] async fn $name() { super::$name(super::Backend::Cluster).await; })* }
    };
}

on_each!(
    each_connection_has_a_fresh_token,
    a_live_connection_logs_in_again,
    whoever_listens_has_a_fresh_token,
    a_wrong_token_is_refused
);

#[tokio::test]
async fn no_token_goes_over_a_wire_that_anybody_reads() {
    for url in ["redis://127.0.0.1", "redis+cluster://127.0.0.1"] {
        let login = login("app", &Arc::new(AtomicU64::new(START)), &watch::Sender::new(true));
        let refused = RedisLine::connect_with_login(url, login)
            .await
            .expect_err("refused");
        assert!(refused.to_string().contains("TLS"), "{refused}");
    }
}
