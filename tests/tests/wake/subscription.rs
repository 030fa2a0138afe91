//! What a process is subscribed to.

use std::sync::{Arc, atomic::Ordering};

use redis::{FromRedisValue, aio::MultiplexedConnection};
use uuid::Uuid;
use vestibule_domain::id::QueueId;
use vestibule_line_redis::RedisLine;
use vestibule_tests::{edge::BOUND, lines::Backend, waiting::wait_until};

use crate::scene::Scene;

/// How many connections are subscribed to a queue, on any of the servers.
async fn subscribed(links: &mut [MultiplexedConnection], queue: &QueueId) -> u64 {
    let channel = format!("vestibule:{{{queue}}}:changes");
    let mut count = 0;
    for link in links {
        let mut ask = redis::cmd("PUBSUB");
        ask.arg("SHARDNUMSUB").arg(&channel);
        // The channel, and how many there are.
        let said: (String, u64) = order(link, &ask).await;
        count += said.1;
    }
    count
}

async fn order<T: FromRedisValue>(link: &mut MultiplexedConnection, command: &redis::Cmd) -> T {
    command.query_async(link).await.expect("the server answers")
}

pub(crate) async fn a_process_subscribes_once_for_all_and_only_while_it_holds(backend: Backend) {
    const CROWD: usize = 40;
    let scene = Scene::open(backend.connect_line(None).await).await;
    let mut links = backend.connections().await;
    let entries = scene.enter_many(CROWD).await;
    assert_eq!(subscribed(&mut links, &scene.queue).await, 0, "nobody holds");
    for _ in 0..2 {
        let polls: Vec<_> = entries.iter().map(|entry| scene.poll(entry)).collect();
        wait_until(BOUND, "it is subscribed", async || {
            subscribed(&mut links, &scene.queue).await > 0
        })
        .await;
        wait_until(BOUND, "all are held", async || {
            scene.switch.looking.passes().is_multiple_of(CROWD as u64)
        })
        .await;
        assert_eq!(subscribed(&mut links, &scene.queue).await, 1, "one for {CROWD}");
        polls.iter().for_each(tokio::task::JoinHandle::abort);
        wait_until(BOUND, "it is subscribed no more", async || {
            subscribed(&mut links, &scene.queue).await == 0
        })
        .await;
    }
}

/// The connection is cut by the server; what was missed meanwhile is seen, and what comes then is heard.
pub(crate) async fn a_subscription_that_breaks_begins_anew(backend: Backend) {
    let user = format!("holds-{}", Uuid::new_v4().simple());
    let mut links = backend.connections().await;
    for link in &mut links {
        let mut set = redis::cmd("ACL");
        set.arg(&["SETUSER", &user, "on", ">secret", "~*", "&*", "+@all"]);
        order::<()>(link, &set).await;
    }
    let url = backend.url().replacen("://", &format!("://{user}:secret@"), 1);
    let line = RedisLine::connect(&url).await.expect("logs in");
    let scene = Scene::open(Arc::new(line)).await;
    let entries = scene.enter_many(2).await;
    scene.freeze().await;
    let polls: Vec<_> = entries.iter().map(|entry| scene.poll(entry)).collect();
    let looks = || scene.switch.looks.load(Ordering::SeqCst);
    wait_until(BOUND, "it listens", async || looks() > 0).await;
    let (before, tried) = (looks(), scene.switch.listening.passes());

    let mut cut = 0;
    for link in &mut links {
        let mut kill = redis::cmd("CLIENT");
        kill.arg(&["KILL", "USER", &user, "TYPE", "pubsub"]);
        cut += order::<u64>(link, &kill).await;
    }
    assert_eq!(cut, 1, "its one subscribed connection");
    wait_until(BOUND, "it listens anew", async || {
        scene.switch.listening.passes() > tried && looks() > before
    })
    .await;
    assert_eq!(subscribed(&mut links, &scene.queue).await, 1);
    let promotion = scene.promote(2).await;
    for poll in polls {
        let answer = poll.await.expect("it is answered");
        assert_eq!(answer.is(200).text("state"), "ready");
        assert_eq!(answer.number("promoted_at_ms"), promotion.now_ms);
    }
}
