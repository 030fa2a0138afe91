//! Hearing of promotions as they happen.

use std::{collections::HashMap, fmt, hash::Hash};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use vestibule_domain::{
    change::{Change, Event, Version},
    id::EntryId,
    score::WaitScore,
};

/// A tick that promoted somebody, as those hear of it who listen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tick {
    /// The highest place that went: whoever waited with this one or a lower one is ready.
    pub through: WaitScore,
    /// The version of the change.
    pub version: Version,
    /// When it was, in Unix milliseconds.
    pub at_ms: u64,
    /// Until when those who went must claim, in Unix milliseconds.
    pub claim_by_ms: u64,
}

impl Tick {
    /// What it made of an entry that waited there, if it did.
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

/// The ticks of one queue that promote somebody, until dropped.
///
/// Any of them may be lost on its way. Where nothing more can come, since the connection broke or the queue moved to another
/// server, it ends: whoever wants to hear on begins anew, and looks after that.
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

    /// The next tick; `None` where the subscription ended.
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

/// Who listens to what.
#[derive(Debug)]
pub struct Listeners<K>(HashMap<K, Vec<UnboundedSender<Tick>>>);

impl<K> Default for Listeners<K> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<K: Eq + Hash> Listeners<K> {
    /// One more listens, until the receiver is closed.
    pub fn add(&mut self, to: K) -> UnboundedReceiver<Tick> {
        let (tell, ticks) = unbounded_channel();
        self.0.entry(to).or_default().push(tell);
        ticks
    }

    /// Tells all who listen to this.
    pub fn tell(&self, of: &K, tick: Tick) {
        for listener in self.0.get(of).into_iter().flatten() {
            // Whoever does not listen any more is about to be dropped.
            let _ = listener.send(tick);
        }
    }

    /// Drops those who listen to this no more; says whether nobody is left.
    pub fn drop_closed(&mut self, of: &K) -> bool {
        if let Some(listeners) = self.0.get_mut(of) {
            listeners.retain(|listener| !listener.is_closed());
            if listeners.is_empty() {
                self.0.remove(of);
            }
        }
        !self.has(of)
    }

    /// Whether anybody listens to this.
    pub fn has(&self, to: &K) -> bool {
        self.0.contains_key(to)
    }

    /// Whether nobody listens to anything.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
