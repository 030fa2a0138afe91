//! The keys of a queue, by their types.

use redis::{Pipeline, aio::ConnectionLike};
use vestibule_domain::id::QueueId;
use vestibule_tests::lines::{RawLink, visitor};

use crate::operations::VISITORS;

pub(crate) const SORTED_SETS: [&str; 9] = [
    "waiting", "ready", "active", "held", "present", "seen", "closing", "settled", "deferred",
];
pub(crate) const HASHES: [&str; 8] = [
    "visits",
    "ended",
    "journaled",
    "config",
    "state",
    "lost",
    "tombstone",
    "tally",
];
pub(crate) const STREAMS: [&str; 2] = ["journal", "dead_letters"];
pub(crate) const VIEW: &str = "view";
/// Ids of records are times of the server. Behind a record of the year 2255, they are numbers in sequence.
const FUTURE_RECORD: &str = "9000000000000-0";

/// The names of all keys but those that count calls.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    SORTED_SETS.into_iter().chain(HASHES).chain(STREAMS).chain([VIEW])
}

pub(crate) fn key(queue: &QueueId, name: &str) -> String {
    format!("vestibule:{{{queue}}}:{name}")
}

/// The deployment whose held polls are in the hash slot of the queue.
pub(crate) fn deployment(queue: &QueueId) -> String {
    format!("{{{queue}}}")
}

/// Begins the streams of a queue that has none, so that the ids of their records are the same on each server.
pub(crate) async fn begin_streams(link: &mut RawLink, queue: &QueueId) {
    let mut streams = redis::pipe();
    for stream in STREAMS {
        let key = key(queue, stream);
        let record = [FUTURE_RECORD, "name", "value"];
        streams.cmd("XADD").arg(&key).arg(&record);
        streams.cmd("XDEL").arg(&key).arg(FUTURE_RECORD);
    }
    streams.exec_async(link).await.expect("the streams begin");
}

/// Removes the keys of the queue, as a server without a disk does when it restarts.
pub(crate) async fn remove_queue(link: &mut RawLink, queue: &QueueId) {
    let mut remove = redis::cmd("UNLINK");
    remove.arg(names().map(|name| key(queue, name)).collect::<Vec<_>>());
    remove.exec_async(link).await.expect("the keys are removed");
}

/// Removes all keys that the sequence of a test may have left.
pub(crate) async fn remove_all(link: &mut RawLink, queue: &QueueId) {
    remove_queue(link, queue).await;
    let calls = (1..=VISITORS).map(|number| key(queue, &format!("calls:{}", visitor(number).to_member())));
    let mut remove = redis::cmd("UNLINK");
    remove
        .arg(calls.collect::<Vec<_>>())
        .arg(format!("vestibule:holds:{}", deployment(queue)));
    remove.exec_async(link).await.expect("the keys are removed");
}

/// Which keys of the queue the server has.
pub(crate) async fn find_keys(link: &mut RawLink, queue: &QueueId) -> Vec<&'static str> {
    ask_each(link, queue, "EXISTS").await
}

/// Which keys of the queue had a time to live. They have none any more.
pub(crate) async fn persist_keys(link: &mut RawLink, queue: &QueueId) -> Vec<&'static str> {
    ask_each(link, queue, "PERSIST").await
}

/// The names of the keys for which the answer to the command is 1.
async fn ask_each(link: &mut RawLink, queue: &QueueId, command: &str) -> Vec<&'static str> {
    let mut asks = Pipeline::new();
    for name in names() {
        asks.cmd(command).arg(key(queue, name));
    }
    let answers = link.req_packed_commands(&asks, 0, asks.len()).await;
    let answers = answers.expect("the server answers").into_iter();
    names()
        .zip(answers)
        .filter(|(_, answer)| *answer == redis::Value::Int(1))
        .map(|(name, _)| name)
        .collect()
}
