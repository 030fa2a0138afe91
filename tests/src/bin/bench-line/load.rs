//! Load: several callers at the same time, each with one call at a time.

use std::{
    future::Future,
    time::{Duration, Instant},
};

use vestibule_domain::{
    configuration::Configuration,
    id::{EntryId, IdKey, QueueId, RootKey, Salt, Visitor},
    kept_times::KeptTimes,
    settings::Settings,
};

/// The number of callers at the same time. Each has a connection of its own.
pub(crate) const CONNECTIONS: usize = 50;

/// Measures the calls per second. Each caller of `callers` makes `each` calls, one after the other.
pub(crate) async fn throughput<C, F, T>(callers: Vec<C>, each: usize, call: F) -> f64
where
    C: Send + 'static,
    F: Fn(C, usize) -> T + Copy + Send + 'static,
    T: Future<Output = C> + Send,
{
    let started = Instant::now();
    let calls = callers.len() * each;
    let tasks: Vec<_> = callers
        .into_iter()
        .enumerate()
        .map(|(number, mut caller)| {
            tokio::spawn(async move {
                for step in 0..each {
                    caller = call(caller, number * each + step).await;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("no caller panics");
    }
    rate(calls, started.elapsed())
}

/// Calls per second.
#[allow(clippy::cast_precision_loss)] // Counts of calls are small.
pub(crate) fn rate(calls: usize, took: Duration) -> f64 {
    calls as f64 / took.as_secs_f64()
}

/// The median. Of an even number of values it is the upper one of the two in the middle.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// A queue that no other measurement uses.
pub(crate) fn fresh_queue() -> QueueId {
    format!("bench:{}", uuid::Uuid::new_v4())
        .parse()
        .expect("the text is a valid queue id")
}

/// The entry ids of this many visitors.
pub(crate) fn entry_ids(count: usize) -> Vec<EntryId> {
    let root = RootKey::new(vec![1; 32]).expect("the key has 32 bytes");
    let key = IdKey::derive_for_queue(&root, &"bench".parse().expect("a queue id"), &Salt::new([2; 32]))
        .expect("the key of the salt");
    (0..count)
        .map(|n| key.entry_id(&Visitor::known(&n.to_string()).expect("a visitor id")))
        .collect()
}

/// A configuration with this capacity and this many promotions per second.
pub(crate) fn configuration(capacity: u32, batch: u32) -> Configuration {
    Configuration {
        settings: Settings {
            capacity,
            batch,
            interval_seconds: 1,
            ..Settings::default()
        },
        revision: "bench".to_owned(),
        settings_order: 0,
        epoch: 1,
        generation: 1,
        min_epoch: 1,
        salt: Salt::new([2; 32]),
        opened_at_ms: None,
        kept_times: KeptTimes::default(),
    }
}
