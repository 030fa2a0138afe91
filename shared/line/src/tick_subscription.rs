//! Subscriptions to the promotions of a queue.

use std::{collections::HashMap, fmt, hash::Hash};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use vestibule_domain::{
    change::{Change, Event, Version},
    fact::Turn,
    id::EntryId,
    score::WaitScore,
};

/// A tick that promoted at least one entry, as subscribers receive it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tick {
    /// The highest place that this tick promoted. Each entry that waited at this place or a lower
    /// one is ready.
    pub through: WaitScore,
    /// The version of the change.
    pub version: Version,
    /// The time of the tick, in Unix milliseconds.
    pub at_ms: u64,
    /// The claim deadline of the promoted entries, in Unix milliseconds.
    pub claim_by_ms: u64,
}

impl Tick {
    /// Returns the change that this tick made to an entry that waited at `score`. Returns `None` if
    /// the tick did not reach that place. The message does not say whether it is the entry's first
    /// turn or the second, so the change says the first; its times are right.
    pub fn change_for_entry(&self, id: EntryId, score: WaitScore) -> Option<Change> {
        let claim_by_ms = self.claim_by_ms;
        (score <= self.through).then_some(Change {
            id,
            version: self.version,
            at_ms: self.at_ms,
            event: Event::Promoted {
                place: score,
                turn: Turn::First,
                claim_by_ms,
            },
            source: None,
        })
    }
}

/// A subscription to the promoting ticks of one queue. Dropping it ends the subscription.
///
/// Delivery is at-most-once: any tick may be lost. The subscription ends if the connection breaks
/// or if the queue moves to another server. A caller that wants further ticks then subscribes again
/// and reads the status of its entries afterwards.
pub struct TickSubscription {
    ticks: UnboundedReceiver<Tick>,
    unsubscribe: Option<Box<dyn FnOnce() + Send + Sync>>,
}

impl TickSubscription {
    /// A subscription that `leave` ends.
    pub fn new(ticks: UnboundedReceiver<Tick>, leave: impl FnOnce() + Send + Sync + 'static) -> Self {
        Self {
            ticks,
            unsubscribe: Some(Box::new(leave)),
        }
    }

    /// Waits for the next tick. Returns `None` when the subscription has ended.
    pub async fn next(&mut self) -> Option<Tick> {
        self.ticks.recv().await
    }
}

impl Drop for TickSubscription {
    fn drop(&mut self) {
        self.ticks.close();
        if let Some(leave) = self.unsubscribe.take() {
            leave();
        }
    }
}

impl fmt::Debug for TickSubscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Changes")
    }
}

/// The open subscriptions, by what they subscribe to.
#[derive(Debug)]
pub(crate) struct Subscribers<K>(HashMap<K, Vec<UnboundedSender<Tick>>>);

impl<K> Default for Subscribers<K> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<K: Eq + Hash> Subscribers<K> {
    /// Adds a subscription, which lasts until its receiver is closed.
    pub(crate) fn subscribe(&mut self, key: K) -> UnboundedReceiver<Tick> {
        let (sender, ticks) = unbounded_channel();
        self.0.entry(key).or_default().push(sender);
        ticks
    }

    /// Sends a tick to every subscription of this key.
    pub(crate) fn send_tick(&self, key: &K, tick: Tick) {
        for listener in self.0.get(key).into_iter().flatten() {
            // The send fails only if the receiver is closed. `drop_closed` removes that subscription.
            let _ = listener.send(tick);
        }
    }

    /// Removes the closed subscriptions of this key. Returns whether the key has none left.
    pub(crate) fn drop_closed(&mut self, key: &K) -> bool {
        if let Some(listeners) = self.0.get_mut(key) {
            listeners.retain(|listener| !listener.is_closed());
            if listeners.is_empty() {
                self.0.remove(key);
            }
        }
        !self.has_subscribers(key)
    }

    /// Whether this key has a subscription.
    pub(crate) fn has_subscribers(&self, key: &K) -> bool {
        self.0.contains_key(key)
    }

    /// Whether there are no subscriptions at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
