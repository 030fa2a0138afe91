//! When a process is subscribed to the ticks of a queue.

use redis::{FromRedisValue, aio::MultiplexedConnection};
use uuid::Uuid;
use vestibule_domain::id::QueueId;
use vestibule_line::Line;
use vestibule_tests::{in_process::BOUND, lines::Backend, waiting::wait_until};

use crate::scene::Scene;

/// The number of connections that are subscribed to a queue, over all servers.
async fn count_subscribers(connections: &mut [MultiplexedConnection], queue: &QueueId) -> u64 {
    let channel = format!("vestibule:{{{queue}}}:changes");
    let mut count = 0;
    for connection in connections {
        let mut ask = redis::cmd("PUBSUB");
        ask.arg("SHARDNUMSUB").arg(&channel);
        // The answer is the channel and the number of its subscribers.
        let said: (String, u64) = run_command(connection, &ask).await;
        count += said.1;
    }
    count
}

async fn run_command<T: FromRedisValue>(connection: &mut MultiplexedConnection, command: &redis::Cmd) -> T {
    command.query_async(connection).await.expect("the server answers")
}

pub(crate) async fn a_process_subscribes_once_while_it_holds_polls(backend: Backend) {
    const CROWD: usize = 40;
    let scene = Scene::open(backend.connect_line(None).await).await;
    let mut connections = backend.connections().await;
    let visitors = scene.enter_many(CROWD).await;
    assert_eq!(
        count_subscribers(&mut connections, &scene.queue).await,
        0,
        "no poll is held yet"
    );
    let lookup_gate = scene.faults.gate_after("check_in");
    for _ in 0..2 {
        let polls: Vec<_> = visitors.iter().map(|visitor| scene.poll(visitor)).collect();
        wait_until(BOUND, "the process is subscribed", async || {
            count_subscribers(&mut connections, &scene.queue).await > 0
        })
        .await;
        wait_until(BOUND, "all polls are held", async || {
            lookup_gate.arrivals().is_multiple_of(CROWD as u64)
        })
        .await;
        assert_eq!(
            count_subscribers(&mut connections, &scene.queue).await,
            1,
            "one subscription serves {CROWD} polls"
        );
        polls.iter().for_each(tokio::task::JoinHandle::abort);
        wait_until(BOUND, "the process is no longer subscribed", async || {
            count_subscribers(&mut connections, &scene.queue).await == 0
        })
        .await;
    }
}

/// The server closes the connection. The process reads what it missed meanwhile, and receives what comes after.
pub(crate) async fn a_broken_subscription_is_renewed(backend: Backend) {
    let user = format!("holds-{}", Uuid::new_v4().simple());
    let mut connections = backend.connections().await;
    for connection in &mut connections {
        let mut set = redis::cmd("ACL");
        set.arg(&["SETUSER", &user, "on", ">secret", "~*", "&*", "+@all"]);
        run_command::<()>(connection, &set).await;
    }
    let url = backend.url().replacen("://", &format!("://{user}:secret@"), 1);
    let line = Line::connect(&url).await.expect("logs in");
    let scene = Scene::open(line).await;
    let visitors = scene.enter_many(2).await;
    scene.freeze().await;
    let polls: Vec<_> = visitors.iter().map(|visitor| scene.poll(visitor)).collect();
    let lookups = || scene.faults.calls("status_many");
    wait_until(BOUND, "the process is subscribed", async || lookups() > 0).await;
    let (lookups_before, subscribes_before) = (lookups(), scene.faults.calls("subscribe"));

    // The server may take a moment to count the connection among those that are subscribed.
    let cut = async || {
        let mut cut = 0;
        for connection in &mut connections.clone() {
            let mut kill = redis::cmd("CLIENT");
            kill.arg(&["KILL", "USER", &user, "TYPE", "pubsub"]);
            cut += run_command::<u64>(connection, &kill).await;
        }
        assert!(cut <= 1, "the user has one subscribed connection");
        cut == 1
    };
    wait_until(BOUND, "the subscribed connection is cut", cut).await;
    wait_until(BOUND, "the process is subscribed again", async || {
        scene.faults.calls("subscribe") > subscribes_before && lookups() > lookups_before
    })
    .await;
    assert_eq!(count_subscribers(&mut connections, &scene.queue).await, 1);
    let promotion = scene.promote(2).await;
    for poll in polls {
        let answer = poll.await.expect("the poll is answered");
        assert_eq!(answer.expect_status(200).text("state"), "ready");
        assert_eq!(answer.number("promoted_at_ms"), promotion.now_ms);
    }
}
