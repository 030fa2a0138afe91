//! Watching a queue for all who are held on it: one watcher for each queue and process, from the first of them to the last.

mod watching;

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::{
    mpsc::{UnboundedSender, unbounded_channel},
    oneshot,
};
use vestibule_domain::id::QueueId;

use super::{
    Edge, budget,
    crowd::{Key, Waiter, Word},
};

/// The watchers of one process.
#[derive(Default)]
pub(super) struct Watchers(Mutex<Watched>);

#[derive(Default)]
struct Watched {
    queues: HashMap<QueueId, Watcher>,
    /// How many were ever held.
    count: u64,
}

struct Watcher {
    orders: UnboundedSender<Order>,
    held: usize,
}

enum Order {
    Hold(Key, Waiter, budget::Held, oneshot::Sender<Word>),
    /// Its hold is over, and it wants to look by itself.
    End(Key),
    /// Nobody listens any more.
    Release(Key),
}

impl Watchers {
    /// Watches for one more, until dropped.
    pub(super) fn watch<'a>(&'a self, edge: &Arc<Edge>, waiter: &Waiter, counted: budget::Held) -> Watch<'a> {
        let (tell, word) = oneshot::channel();
        let queue = &waiter.seen.queue;
        let mut watched = self.watched();
        watched.count += 1;
        let key = (waiter.score, watched.count);
        let watcher = watched.queues.entry(queue.clone()).or_insert_with(|| {
            let (order, orders) = unbounded_channel();
            tokio::spawn(watching::run(edge.clone(), waiter.seen.clone(), orders));
            Watcher {
                orders: order,
                held: 0,
            }
        });
        watcher.held += 1;
        // Where the watcher is gone, the word that never comes says so.
        let _ = watcher
            .orders
            .send(Order::Hold(key, waiter.clone(), counted, tell));
        Watch {
            watchers: self,
            queue: queue.clone(),
            key,
            word,
            is_told: false,
        }
    }

    /// How many queues are watched.
    #[cfg(test)]
    pub(super) fn kept(&self) -> usize {
        self.watched().queues.len()
    }

    fn watched(&self) -> MutexGuard<'_, Watched> {
        // Nothing in here panics half-way through, so a poisoned lock guards a map that is whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One for whom a queue is watched.
pub(super) struct Watch<'a> {
    watchers: &'a Watchers,
    queue: QueueId,
    key: Key,
    word: oneshot::Receiver<Word>,
    is_told: bool,
}

impl Watch<'_> {
    /// What there is to tell: not asked for again when it was told.
    pub(super) async fn word(&mut self) -> Word {
        // One who watched and is no more has let go of the count.
        let word = (&mut self.word).await.unwrap_or(Word::Look(None));
        self.is_told = true;
        word
    }

    /// Has the hold end now. Whoever is being answered hears that.
    pub(super) async fn end(&mut self) -> Word {
        self.order(Order::End(self.key));
        self.word().await
    }

    fn order(&self, order: Order) {
        if let Some(watcher) = self.watchers.watched().queues.get(&self.queue) {
            let _ = watcher.orders.send(order);
        }
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if !self.is_told {
            self.order(Order::Release(self.key));
        }
        if let Entry::Occupied(mut watcher) = self.watchers.watched().queues.entry(self.queue.clone()) {
            watcher.get_mut().held -= 1;
            if watcher.get().held == 0 {
                // And with it the watcher, which has nobody left to take orders from.
                watcher.remove();
            }
        }
    }
}
