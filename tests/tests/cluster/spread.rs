//! Queues lie on all primaries, each as a whole on one.

use std::{collections::HashMap, time::Duration};

use redis::{PushKind, Value};
use tokio::{sync::mpsc, time::timeout};
use vestibule_domain::{settings::Settings, state::EntryState};
use vestibule_line::LeaveReason;
use vestibule_tests::{
    cluster::Cluster,
    lines::{Backend, Subject, visitor},
};

/// As many by chance on two of three primaries alone: once in ten billion runs.
const QUEUES: usize = 60;
const BOUND: Duration = Duration::from_secs(10);

fn one_at_a_time() -> Settings {
    Settings {
        capacity: 1,
        batch: 1,
        interval_seconds: 1,
        ..Settings::default()
    }
}

/// A visitor inside, a visitor whose turn it is, a visitor in line: every kind of key.
async fn busy(subject: &Subject) {
    for number in 1..=3 {
        subject.enter(visitor(number)).await;
    }
    subject.leave(visitor(1), LeaveReason::Complete).await;
    subject.advance_seconds(1);
    assert_eq!(subject.tick().await.promoted, 1);
    subject.claim(visitor(2)).await;
    assert_eq!(subject.state(visitor(3)).await, EntryState::Waiting);
}

#[tokio::test]
async fn queues_lie_on_all_primaries_and_each_on_one() {
    let first = Subject::new(Backend::Cluster).await;
    let mut queues = Vec::new();
    for _ in 0..QUEUES {
        let subject = first.open_sibling(one_at_a_time()).await;
        busy(&subject).await;
        queues.push(subject.queue);
    }
    let cluster = Cluster::shared();
    let mut homes = HashMap::<_, Vec<_>>::new();
    for mut node in cluster.nodes().await {
        if node.follows.is_some() {
            continue;
        }
        let keys: Vec<String> = node.ask(&["KEYS", "vestibule:*"]).await;
        for queue in &queues {
            let own = format!("vestibule:{{{queue}}}:");
            if keys.iter().any(|key| key.starts_with(&own)) {
                homes.entry(queue).or_default().push(node.port);
            }
        }
    }
    assert_eq!(homes.len(), QUEUES);
    let mut ports = Vec::new();
    for (queue, on) in homes {
        assert_eq!(on, [cluster.owner(queue).await.port], "{queue}");
        ports.extend(on);
    }
    ports.sort_unstable();
    ports.dedup();
    assert_eq!(ports.len(), 3, "each primary has some of them");
}

#[tokio::test]
async fn a_tick_is_heard_wherever_the_queue_lies() {
    let (cluster, first) = (Cluster::shared(), Subject::new(Backend::Cluster).await);
    let (heard, mut messages) = mpsc::unbounded_channel();
    let mut listener = cluster.listener(heard).await;
    let mut homes = HashMap::new();
    while homes.len() < 3 {
        let subject = first.open_sibling(one_at_a_time()).await;
        homes.insert(cluster.owner(&subject.queue).await.port, subject);
    }
    for subject in homes.values() {
        let channel = format!("vestibule:{{{}}}:changes", subject.queue);
        listener.ssubscribe(&channel).await.expect("subscribed");
        busy(subject).await;
        let message = async {
            loop {
                let push = messages.recv().await.expect("the listener lives");
                if push.kind == PushKind::SMessage {
                    return push.data;
                }
            }
        };
        let message = timeout(BOUND, message).await.expect("a message");
        assert_eq!(message[0], Value::BulkString(channel.into_bytes()));
        let Value::BulkString(said) = &message[1] else {
            panic!("{message:?}")
        };
        let said = String::from_utf8_lossy(said);
        let (highest, _) = said.split_once(' ').expect("more than that");
        let highest: u64 = highest.parse().expect("a score");
        assert_eq!(
            highest,
            subject.view().await.promoted_through,
            "the highest score promoted"
        );
    }
}
