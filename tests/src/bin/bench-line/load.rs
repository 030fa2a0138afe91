//! Load: so many callers side by side, each one call at a time.

use std::{
    future::Future,
    time::{Duration, Instant},
};

use vestibule_domain::{
    configuration::Configuration,
    id::{EntryId, IdKey, QueueId, RootKey, Salt, Visitor},
    settings::Settings,
};

/// Callers side by side, each with a connection of its own.
pub(crate) const CONNECTIONS: usize = 50;

/// Calls a second: every caller of `callers` makes `each` calls, one after the other.
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
        task.await.expect("a caller that panicked measured nothing");
    }
    rate(calls, started.elapsed())
}

/// Calls a second.
#[allow(clippy::cast_precision_loss)] // Counts of calls are small.
pub(crate) fn rate(calls: usize, took: Duration) -> f64 {
    calls as f64 / took.as_secs_f64()
}

/// The middle one.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// A queue that nobody else has.
pub(crate) fn fresh_queue() -> QueueId {
    format!("bench:{}", uuid::Uuid::new_v4())
        .parse()
        .expect("a queue id")
}

/// Ids of so many different visitors.
pub(crate) fn entry_ids(count: usize) -> Vec<EntryId> {
    let root = RootKey::new(vec![1; 32]).expect("long enough");
    let key = IdKey::derive_for_queue(&root, &"bench".parse().expect("a queue id"), &Salt::new([2; 32]));
    (0..count)
        .map(|n| key.entry_id(&Visitor::known(&n.to_string()).expect("a visitor id")))
        .collect()
}

/// A configuration under which so many may be in, and so many go each second.
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
    }
}
