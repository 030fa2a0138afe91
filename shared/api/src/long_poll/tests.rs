use std::{sync::Arc, time::Duration};

use tokio::sync::watch;
use vestibule_backup_file::FileBackup;
use vestibule_domain::{
    configuration::Configuration,
    id::{QueueId, RootKey, Salt},
    kept_times::KeptTimes,
    score::WaitScore,
    settings::Settings,
};
use vestibule_line::Line;
use vestibule_telemetry::emf::Metrics;

use super::*;

#[tokio::test]
async fn dropped_subscriptions_leave_no_entry_behind() {
    let wakes = EntryNotifier::default();
    let id = "0f8fad5b-d9cb-869f-a165-70867728950e".parse().expect("a token");
    let (mut first, second) = (wakes.subscribe(id), wakes.subscribe(id));
    drop(second);
    wakes.wake(id);
    first.wait_for_change().await;
    assert_eq!(wakes.subscribed_entries(), 1);
    drop(first);
    assert_eq!(wakes.subscribed_entries(), 0);
    wakes.wake(id);
}

#[tokio::test]
async fn queue_is_watched_until_its_last_held_poll_ends() {
    let dir = tempfile::tempdir().expect("a folder");
    let backup = Arc::new(FileBackup::open(dir.path().join("store")).expect("a store"));
    let (line, root) = (
        Line::in_process(),
        RootKey::new(vec![7; 32]).expect("long enough"),
    );
    let queues = Arc::new(QueueCache::new(line.clone(), backup, root));
    let (_, shutdown) = watch::channel(false);
    let long_polls = LongPolls::new(
        line.clone(),
        queues.clone(),
        Arc::default(),
        &ApiConfig::default(),
        shutdown,
        Metrics::none(),
    );
    let queue: QueueId = "a".parse().expect("a queue id");
    let configuration = Configuration {
        settings: Settings::default(),
        revision: "1".to_owned(),
        settings_order: 0,
        epoch: 1,
        generation: 1,
        min_epoch: 1,
        salt: Salt::new([1; 32]),
        opened_at_ms: None,
        kept_times: KeptTimes::default(),
    };
    let created = line.configure(&queue, &configuration, true).await;
    assert!(created.is_ok(), "{created:?}");
    let snapshot = queues.get(&queue).await.expect("the queue exists");
    let poll = |id: &str| HeldPoll {
        snapshot: snapshot.clone(),
        id: id.parse().expect("a token"),
        score: WaitScore::next(0, 1_800_000_000_000),
        position: 1,
    };
    let watch = async |poll: HeldPoll| {
        let candidate = HoldCandidate {
            queue: &queue,
            id: poll.id,
            held_below: 10,
            unknown_speed_below: None,
            max_duration: Duration::from_secs(20),
        };
        let permit = long_polls
            .permits
            .acquire(candidate)
            .await
            .expect("there is room");
        long_polls.watchers.watch(&poll, permit)
    };
    let mut first = watch(poll("0f8fad5b-d9cb-869f-a165-70867728950e")).await;
    let second = watch(poll("1f8fad5b-d9cb-869f-a165-70867728950e")).await;
    drop(second);
    assert_eq!(long_polls.watchers.watched_queues(), 1);
    // The line does not have the entry, which is a change to report.
    assert!(matches!(first.wait_for_wakeup().await, Wakeup::Update(_)));
    drop(first);
    assert_eq!(long_polls.watchers.watched_queues(), 0);
}
