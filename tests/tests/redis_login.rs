//! Logging in with tokens that are created when needed, on a server and on every node of a cluster. At each
//! moment the server accepts one token as the user's password.

use std::{
    collections::BTreeSet,
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
use vestibule_line::{IamLogin, IamUser, Line};
use vestibule_tests::{
    lines::{Backend, fresh_queue, open_queue_with_one_waiting, tick_order},
    waiting::{poll_until, wait_until},
};

/// 2026-09-01T12:00:00Z
const START: u64 = 1_788_264_000;
const BOUND: Duration = Duration::from_secs(20);
const HOUR: u64 = 3_600;

/// AWS credentials that are available once the gate is open.
#[derive(Debug)]
struct GatedCredentials(watch::Sender<bool>);

impl ProvideCredentials for GatedCredentials {
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

/// The commands that test a connection: of a cluster's node, and of one server.
const LINK_TESTS: [&str; 2] = ["ping", "unlink"];

/// A Redis user that logs in with tokens, by a clock that the test moves.
struct User {
    name: String,
    login: IamLogin,
    clock: Arc<AtomicU64>,
    gate: watch::Sender<bool>,
    /// Connections of an operator to each server.
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

    /// A new user and a line that logged in with the user's first token.
    async fn with_line(backend: Backend) -> (Self, Line) {
        let mut user = Self::new(backend).await;
        user.accept_token_of_hour(0).await;
        let line = Line::connect_with_login_without_tls(&backend.url(), user.login.clone()).await;
        (user, line.expect("logs in"))
    }

    /// Moves the clock to this hour. From now on the server accepts only the token of that moment. Like
    /// `ElastiCache`, it does not check connections that are already open.
    async fn accept_token_of_hour(&mut self, hours: u64) {
        self.clock.store(START + hours * HOUR, Ordering::SeqCst);
        let token = self.login.create_token().await.expect("signed");
        let mut set = redis::cmd("ACL");
        set.arg(&["SETUSER", &self.name, "on", "resetpass", "~*", "&*", "+@all"])
            .arg(format!(">{token}"));
        self.run_on_each::<()>(&set).await;
    }

    /// Sends a command to each server and returns the answers.
    async fn run_on_each<T: FromRedisValue>(&mut self, command: &redis::Cmd) -> Vec<T> {
        let commands = self.operators.iter_mut().map(async |operator| {
            let done = command.query_async(operator).await;
            done.expect("it answers")
        });
        join_all(commands).await
    }

    /// The id and the last command of each of the user's connections to primaries. No call goes to a replica.
    async fn connections(&mut self) -> Vec<(String, String)> {
        let lists: Vec<String> = self.run_on_each(redis::cmd("CLIENT").arg("LIST")).await;
        let roles: Vec<String> = self.run_on_each(redis::cmd("INFO").arg("replication")).await;
        let lists = lists.iter().zip(roles);
        let lists = lists.filter(|(_, role)| role.contains("role:master"));
        let field = |line: &str, name: &str| {
            let value = line
                .split(' ')
                .find_map(|field| field.strip_prefix(name)?.strip_prefix('='));
            value.unwrap_or_default().to_owned()
        };
        // Connection ids are unique per server only.
        let lines = lists
            .enumerate()
            .flat_map(|(server, (list, _))| list.lines().map(move |line| (server, line)));
        let own = lines.filter(|(_, line)| field(line, "user") == self.name);
        own.map(|(server, line)| (format!("{server}:{}", field(line, "id")), field(line, "cmd")))
            .collect()
    }

    /// Waits until one of these commands was the last one on every connection of the user. Meanwhile it pings
    /// the line that it is given.
    async fn wait_until_last_command(
        &mut self,
        commands: &[&str],
        pinging: Option<&Line>,
    ) -> BTreeSet<String> {
        let read_connections = async || {
            if let Some(line) = pinging {
                line.ping().await.expect("pings");
            }
            self.connections().await
        };
        let all_match = |connections: &Vec<(String, String)>| {
            !connections.is_empty()
                && connections
                    .iter()
                    .all(|(_, last)| commands.contains(&last.as_str()))
        };
        let connections = poll_until(BOUND, read_connections, all_match).await;
        connections.into_iter().map(|(id, _)| id).collect()
    }
}

fn login(name: &str, clock: &Arc<AtomicU64>, gate: &watch::Sender<bool>) -> IamLogin {
    let aws = SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("eu-central-1"))
        .credentials_provider(SharedCredentialsProvider::new(GatedCredentials(gate.clone())))
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

async fn a_new_connection_logs_in_with_the_current_token(backend: Backend) {
    let (mut user, line) = User::with_line(backend).await;
    line.ping().await.expect("pings");

    // The process slept, and its connections are closed.
    user.accept_token_of_hour(2).await;
    let mut kill = redis::cmd("CLIENT");
    kill.arg(&["KILL", "USER", &user.name]);
    let killed: Vec<u64> = user.run_on_each(&kill).await;
    // At least the primaries, which are half of a cluster: a client that met it in its first second knows no replicas.
    let nodes_used = killed.iter().filter(|killed| **killed > 0).count();
    assert!(nodes_used * 2 >= killed.len(), "{killed:?}");
    let ping = async || line.ping().await.is_ok();
    wait_until(BOUND, "the line logs in with the current token", ping).await;
}

async fn an_open_connection_logs_in_again(backend: Backend) {
    let (mut user, line) = User::with_line(backend).await;
    // The subscription has a connection of its own, which tests itself.
    let subscription = line.subscribe(&fresh_queue()).await.expect("subscribe");
    let before = user.wait_until_last_command(&LINK_TESTS, Some(&line)).await;

    user.accept_token_of_hour(7).await;
    // The login runs beside the call, before or after it. Here the gate holds it back until after the call.
    user.gate.send_replace(false);
    line.ping().await.expect("the ping uses the connection");
    assert_eq!(user.wait_until_last_command(&LINK_TESTS, None).await, before);
    user.gate.send_replace(true);
    let after = user.wait_until_last_command(&["auth"], None).await;
    assert_eq!(before, after, "the line keeps its connections");
    line.ping().await.expect("the connections still work");
    drop(subscription);
}

/// The connection for subscriptions opens with the first subscription.
async fn a_subscription_logs_in_with_the_current_token(backend: Backend) {
    let (mut user, line) = User::with_line(backend).await;
    let queue = fresh_queue();
    open_queue_with_one_waiting(&line, &queue).await;

    user.accept_token_of_hour(2).await;
    let mut changes = line
        .subscribe(&queue)
        .await
        .expect("logs in with the current token");
    let promotion = line.promote(&queue, tick_order(1)).await.expect("promotes");
    assert_eq!(promotion.promoted, 1, "{promotion:?}");
    let tick = tokio::time::timeout(BOUND, changes.next())
        .await
        .expect("the tick arrives in time");
    assert_eq!(tick.expect("the subscription stays open").at_ms, promotion.now_ms);
}

async fn a_wrong_token_is_refused(backend: Backend) {
    let mut user = User::new(backend).await;
    user.accept_token_of_hour(1).await;
    user.clock.store(START, Ordering::SeqCst);
    let refused = Line::connect_with_login_without_tls(&backend.url(), user.login.clone())
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
    a_new_connection_logs_in_with_the_current_token,
    an_open_connection_logs_in_again,
    a_subscription_logs_in_with_the_current_token,
    a_wrong_token_is_refused
);

#[tokio::test]
async fn no_token_is_sent_without_tls() {
    for url in ["redis://127.0.0.1", "redis+cluster://127.0.0.1"] {
        let login = login("app", &Arc::new(AtomicU64::new(START)), &watch::Sender::new(true));
        let refused = Line::connect_with_login(url, login).await.expect_err("refused");
        assert!(refused.to_string().contains("TLS"), "{refused}");
    }
}
