//! Subscriptions to the promotions of a queue.

use std::{collections::HashMap, fmt, hash::Hash};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use vestibule_domain::{
    change::{Change, Event, Version},
    id::EntryId,
    score::WaitScore,
};

/// A tick that promoted at least one entry, as subscribers receive it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tick {
    /// The highest place that this tick promoted. Each entry that waited at this place or a lower one is ready.
    pub through: WaitScore,
    /// The version of the change.
    pub version: Version,
    /// The time of the tick, in Unix milliseconds.
    pub at_ms: u64,
    /// The claim deadline of the promoted entries, in Unix milliseconds.
    pub claim_by_ms: u64,
}

impl Tick {
    /// Returns the change that this tick made to an entry that waited at `score`. Returns `None` if the tick did
    /// not reach that place.
    pub fn change(&self, id: EntryId, score: WaitScore) -> Option<Change> {
        let claim_by_ms = self.claim_by_ms;
        (score <= self.through).then_some(Change {
            id,
            version: self.version,
            at_ms: self.at_ms,
            event: Event::Promoted { score, claim_by_ms },
        })
    }
}

/// A subscription to the promoting ticks of one queue. Dropping it ends the subscription.
///
/// Delivery is at-most-once: any tick may be lost. The subscription ends if the connection breaks or if the queue
/// moves to another server. A caller that wants further ticks then subscribes again and reads the status of its
/// entries afterwards.
pub struct Changes {
    ticks: UnboundedReceiver<Tick>,
    leave: Option<Box<dyn FnOnce() + Send + Sync>>,
}

impl Changes {
    /// A subscription that `leave` ends.
    pub fn new(ticks: UnboundedReceiver<Tick>, leave: impl FnOnce() + Send + Sync + 'static) -> Self {
        Self {
            ticks,
            leave: Some(Box::new(leave)),
        }
    }

    /// Waits for the next tick. Returns `None` when the subscription has ended.
    pub async fn next(&mut self) -> Option<Tick> {
        self.ticks.recv().await
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        self.ticks.close();
        if let Some(leave) = self.leave.take() {
            leave();
        }
    }
}

impl fmt::Debug for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Changes")
    }
}

/// The open subscriptions, by what they subscribe to.
#[derive(Debug)]
pub struct Listeners<K>(HashMap<K, Vec<UnboundedSender<Tick>>>);

impl<K> Default for Listeners<K> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<K: Eq + Hash> Listeners<K> {
    /// Adds a subscription, which lasts until its receiver is closed.
    pub fn add(&mut self, to: K) -> UnboundedReceiver<Tick> {
        let (tell, ticks) = unbounded_channel();
        self.0.entry(to).or_default().push(tell);
        ticks
    }

    /// Sends a tick to every subscription of this key.
    pub fn tell(&self, of: &K, tick: Tick) {
        for listener in self.0.get(of).into_iter().flatten() {
            // The send fails only if the receiver is closed. `drop_closed` removes that subscription.
            let _ = listener.send(tick);
        }
    }

    /// Removes the closed subscriptions of this key. Returns whether the key has none left.
    pub fn drop_closed(&mut self, of: &K) -> bool {
        if let Some(listeners) = self.0.get_mut(of) {
            listeners.retain(|listener| !listener.is_closed());
            if listeners.is_empty() {
                self.0.remove(of);
            }
        }
        !self.has(of)
    }

    /// Whether this key has a subscription.
    pub fn has(&self, to: &K) -> bool {
        self.0.contains_key(to)
    }

    /// Whether there are no subscriptions at all.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
