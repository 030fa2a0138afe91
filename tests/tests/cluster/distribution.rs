//! Queues are spread over all primaries, and all keys of a queue lie on one primary.

use std::{collections::HashMap, time::Duration};

use redis::{PushKind, Value};
use tokio::{sync::mpsc, time::timeout};
use vestibule_domain::{settings::Settings, state::EntryState};
use vestibule_line::LeaveReason;
use vestibule_tests::{
    cluster::Cluster,
    lines::{Backend, Subject, visitor},
};

/// With this many queues, all of them lie on two of the three primaries by chance once in ten billion runs.
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

/// Creates every kind of key: an active entry, a waiting one, an end and a journal.
async fn create_every_kind_of_key(subject: &Subject) {
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
async fn queues_spread_over_all_primaries_each_on_one() {
    let first = Subject::new(Backend::Cluster).await;
    let mut queues = Vec::new();
    for _ in 0..QUEUES {
        let subject = first.open_sibling(one_at_a_time()).await;
        create_every_kind_of_key(&subject).await;
        queues.push(subject.queue);
    }
    let cluster = Cluster::shared();
    let mut primaries = HashMap::<_, Vec<_>>::new();
    for mut node in cluster.live_nodes().await {
        if node.primary_id.is_some() {
            continue;
        }
        let keys: Vec<String> = node.query(&["KEYS", "vestibule:*"]).await;
        for queue in &queues {
            let own = format!("vestibule:{{{queue}}}:");
            if keys.iter().any(|key| key.starts_with(&own)) {
                primaries.entry(queue).or_default().push(node.port);
            }
        }
    }
    assert_eq!(primaries.len(), QUEUES);
    let mut ports = Vec::new();
    for (queue, on) in primaries {
        assert_eq!(on, [cluster.primary_of(queue).await.port], "{queue}");
        ports.extend(on);
    }
    ports.sort_unstable();
    ports.dedup();
    assert_eq!(ports.len(), 3, "each primary holds some queues");
}

#[tokio::test]
async fn subscribers_receive_ticks_from_every_primary() {
    let (cluster, first) = (Cluster::shared(), Subject::new(Backend::Cluster).await);
    let (sender, mut messages) = mpsc::unbounded_channel();
    let mut listener = cluster.connect_subscriber(sender).await;
    let mut primaries = HashMap::new();
    while primaries.len() < 3 {
        let subject = first.open_sibling(one_at_a_time()).await;
        primaries.insert(cluster.primary_of(&subject.queue).await.port, subject);
    }
    for subject in primaries.values() {
        let channel = format!("vestibule:{{{}}}:changes", subject.queue);
        listener.ssubscribe(&channel).await.expect("subscribe");
        create_every_kind_of_key(subject).await;
        let message = async {
            loop {
                let push = messages.recv().await.expect("the subscriber is connected");
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
        let (highest, _) = said.split_once(' ').expect("the message has several fields");
        let highest: u64 = highest.parse().expect("a score");
        assert_eq!(
            highest,
            subject.view().await.promoted_through,
            "the highest score promoted"
        );
    }
}
